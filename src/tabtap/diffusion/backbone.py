"""The inpainter: draw rows of a learned table, or redraw chosen cells.

A ``BackboneStack`` is several networks of one shape, each with rows of its own to learn
from, trained and sampled together; a ``Backbone`` is one of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike
from torch import Tensor

from tabtap.config import DiffusionConfig
from tabtap.diffusion.checks import (
    check_anchors,
    check_rng,
    check_targets,
    wanted_targets,
)
from tabtap.diffusion.denoiser import Denoiser
from tabtap.diffusion.draw import Request, draw
from tabtap.diffusion.encoding import Encoding, Layout
from tabtap.diffusion.files import save_stack
from tabtap.diffusion.given_targets import first_targets
from tabtap.diffusion.noise import SeedArray
from tabtap.diffusion.train import TrainingRecord
from tabtap.table.schema import BoolArray, FloatArray, IntArray, Schema
from tabtap.table.table import Table, blank
from tabtap.torch_device import one_thread


@dataclass(frozen=True, slots=True, eq=False)
class BackboneStack:
    """Networks that learned different rows of one table, sampled in one batch."""

    config: DiffusionConfig
    layout: Layout
    encodings: tuple[Encoding, ...]

    weights: Tensor
    """Shape (n_members, n_weights)."""

    training: TrainingRecord

    unseen_folds: tuple[int, ...]
    """Fold that each member has never seen; -1 if it saw all rows."""

    def __len__(self) -> int:
        return len(self.encodings)

    def __getitem__(self, member: int) -> Backbone:
        """Return one member as a backbone of its own."""
        return Backbone(
            replace(
                self,
                encodings=(self.encodings[member],),
                weights=self.weights[[member]],
                unseen_folds=(self.unseen_folds[member],),
            )
        )

    @property
    def schema(self) -> Schema:
        """What the rows are made of."""
        return self.encodings[0].schema

    def sample(
        self,
        targets: Sequence[IntArray],
        rng: np.random.Generator,
        *,
        holes: bool = True,
    ) -> list[Table]:
        """Draw whole rows from every member, one array of targets for each."""
        seeds = [draw_seeds(len(wanted), rng) for wanted in targets]
        anchors = [
            replace(
                _blank_rows(encoding, wanted, own),
                unseen_fold=np.full(len(wanted), fold, dtype=np.int64),
            )
            for encoding, wanted, own, fold in zip(
                self.encodings, targets, seeds, self.unseen_folds, strict=True
            )
        ]
        everything = [np.ones(rows.missing.shape, dtype=np.bool_) for rows in anchors]
        return self._draw(anchors, everything, seeds, holes=holes, target=True)

    def inpaint(
        self,
        anchors: Sequence[Table],
        regenerate: Sequence[BoolArray],
        rng: np.random.Generator,
        *,
        holes: bool = True,
        redraw_target: bool = False,
    ) -> list[Table]:
        """Redraw chosen cells with every member, one table of anchors for each."""
        check_rng(rng)
        seeds = [draw_seeds(len(rows), rng) for rows in anchors]
        how = {"holes": holes, "redraw_target": redraw_target}
        return self.inpaint_seeded(anchors, regenerate, seeds, **how)

    def inpaint_seeded(
        self,
        anchors: Sequence[Table],
        regenerate: Sequence[BoolArray],
        seeds: Sequence[SeedArray],
        *,
        holes: bool = True,
        redraw_target: bool = False,
    ) -> list[Table]:
        """Redraw chosen cells, with a seed given for every row."""
        for rows, mask, encoding in zip(
            anchors, regenerate, self.encodings, strict=True
        ):
            check_anchors(rows, mask, encoding)
        how = {"holes": holes, "target": redraw_target}
        return self._draw(anchors, regenerate, seeds, **how)

    def save(self, path: str | Path) -> None:
        """Write all members to one file: arrays as safetensors, the rest as JSON."""
        save_stack(self, path)

    def _draw(
        self,
        anchors: Sequence[Table],
        regenerate: Sequence[BoolArray],
        seeds: Sequence[SeedArray],
        *,
        holes: bool,
        target: bool,
    ) -> list[Table]:
        rows = zip(self.encodings, anchors, regenerate, seeds, strict=True)
        requests = [Request(*row, holes=holes, target=target) for row in rows]
        denoiser = Denoiser(self.layout, self.config)
        with one_thread(self.weights.device):
            return draw(denoiser, self.weights, self.config, requests)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Backbone:
    """A model of one table's rows given their label; frozen once it is fitted.

    Made by ``fit_backbone`` or ``load_backbone``, or taken from a ``BackboneStack``.
    """

    stack: BackboneStack

    def __repr__(self) -> str:
        layout = self.stack.layout
        return (
            f"Backbone({layout.n_numbers} numbers, {len(layout.group_sizes)} tokens, "
            f"{self.schema.n_conditions} targets)"
        )

    @property
    def schema(self) -> Schema:
        """What the rows are made of."""
        return self.stack.schema

    @property
    def training(self) -> TrainingRecord:
        """How the training went, and why it ended."""
        return self.stack.training

    def sample(
        self,
        n_rows: int,
        rng: np.random.Generator,
        *,
        targets: ArrayLike | None = None,
        holes: bool = True,
    ) -> Table:
        """Draw whole new rows.

        Parameters
        ----------
        n_rows : int
            How many.
        rng : numpy.random.Generator
            Source of the draw.
        targets : int or array of shape (n_rows,), optional
            Class code, or target bin in regression, of each row; as frequent as in
            the training rows by default.
        holes : bool, default=True
            Whether rows may have missing values where the real ones do.

        Returns
        -------
        Table
            Rows that descend from no real row.  Identifiers are empty.  In regression
            the exact target is drawn first, inside its bin, and the row given it.

        Raises
        ------
        UserInputError
            If a target has no training row.
        """
        encoding = self.stack.encodings[0]
        check_rng(rng)
        wanted = wanted_targets(encoding, n_rows, targets, rng)
        return self.stack.sample([wanted], rng, holes=holes)[0]

    def inpaint(
        self,
        anchors: Table,
        regenerate: BoolArray,
        rng: np.random.Generator,
        *,
        holes: bool = True,
        redraw_target: bool = False,
    ) -> Table:
        """Redraw chosen cells of some rows, given the cells that stay and the label.

        Parameters
        ----------
        anchors : Table
            Rows to start from, of the schema that was learned.
        regenerate : bool array of shape (n_rows, n_features)
            True where a cell is redrawn.
        rng : numpy.random.Generator
            Gives every row a seed; a row's result depends on nothing else of it.
        holes : bool, default=True
            Whether redrawn cells may be missing where real ones are.
        redraw_target : bool, default=False
            Whether a regression target is drawn anew in every row, near the anchor's
            own and inside its bin, before the cells.  A class label never is.

        Returns
        -------
        Table
            Kept cells, targets and origins are the anchors', bit for bit; with
            ``redraw_target`` a regression target only its bin.

        Notes
        -----
        Equation 8 of the paper.  With ``conditioning="overwrite"`` kept cells are put
        back with noise at every reverse step, equation 9.
        """
        how = {"holes": holes, "redraw_target": redraw_target}
        return self.stack.inpaint([anchors], [regenerate], rng, **how)[0]

    def inpaint_seeded(
        self,
        anchors: Table,
        regenerate: BoolArray,
        seeds: SeedArray,
        *,
        holes: bool = True,
        redraw_target: bool = False,
    ) -> Table:
        """Redraw chosen cells, with a seed given for every row."""
        how = {"holes": holes, "redraw_target": redraw_target}
        return self.stack.inpaint_seeded([anchors], [regenerate], [seeds], **how)[0]

    def save(self, path: str | Path) -> None:
        """Write the backbone to one file: weights as safetensors, the rest as JSON."""
        self.stack.save(path)


def draw_seeds(n_rows: int, rng: np.random.Generator) -> SeedArray:
    """Return one seed per row; the first rows get the same ones whatever follows."""
    return rng.integers(2**64, size=n_rows, dtype=np.uint64)


def _from_0_to_1(seeds: SeedArray) -> FloatArray:
    """Return seeds as numbers below 1; a double has 53 bits."""
    return (seeds >> np.uint64(11)) / 2.0**53


def _blank_rows(encoding: Encoding, wanted: IntArray, seeds: SeedArray) -> Table:
    check_targets(encoding, wanted)
    if encoding.has_target_number:
        values = encoding.target_low[wanted]
        if encoding.target_is_given:
            values = first_targets(encoding, wanted, _from_0_to_1(seeds))
        return blank(encoding.schema, values).with_target(values)
    return blank(encoding.schema, np.asarray(wanted, dtype=np.int64))
