"""The inpainter: draw rows of a learned table, or redraw chosen cells.

A ``BackboneStack`` is several networks of one shape, each with rows of its own to learn
from, trained and sampled together; a ``Backbone`` is one of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from tabtap.config import DiffusionConfig
from tabtap.diffusion.encoding import Encoding, Layout, fit_encodings
from tabtap.diffusion.files import read_stack, save_stack
from tabtap.diffusion.network import Denoiser
from tabtap.diffusion.sample import Request, SeedArray, draw, first_targets
from tabtap.diffusion.train import TrainingObserver, TrainingRecord, train
from tabtap.errors import UserInputError, bad_setting
from tabtap.table.schema import (
    BoolArray,
    Column,
    FloatArray,
    IntArray,
    Kind,
    Schema,
    Target,
)
from tabtap.table.table import NO_ROW, Table, blank
from tabtap.torch_device import choose_device, one_thread


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

    def of_folds(self, unseen_folds: tuple[int, ...]) -> BackboneStack:
        """Return the members that have not seen these folds, in this order."""
        places = [self.unseen_folds.index(fold) for fold in unseen_folds]
        return replace(
            self,
            encodings=tuple(self.encodings[place] for place in places),
            weights=self.weights[places],
            unseen_folds=unseen_folds,
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


# ---- Learn a table, or the same table once for each fold.


_LEAST_ROWS = 2


def fit_backbone(
    table: Table,
    *,
    rng: np.random.Generator,
    config: DiffusionConfig | None = None,
    observer: TrainingObserver | None = None,
) -> Backbone:
    """Learn a table.

    Parameters
    ----------
    table : Table
        The rows to learn.
    rng : numpy.random.Generator
        Source of first weights and training noise.
    config : DiffusionConfig, optional
        Settings; ``DiffusionConfig.paper()`` is TabDiff as published.
    observer : TrainingObserver, optional
        Told of progress.

    Returns
    -------
    Backbone
        Ready to draw rows; ``backbone.training.reason`` says why training ended.

    Examples
    --------
    >>> from tabtap.datasets import load_penguins
    >>> from tabtap.table import read_frame
    >>> birds = read_frame(load_penguins(), target="species")
    >>> backbone = fit_backbone(
    ...     birds, rng=np.random.default_rng(0), config=DiffusionConfig(n_steps=20)
    ... )
    >>> len(backbone.sample(5, np.random.default_rng(1)))
    5
    """
    check_table(table)
    return _fit([table], (NO_ROW,), rng, config, observer)[0]


def fit_fold_backbones(
    table: Table,
    fold: IntArray,
    *,
    rng: np.random.Generator,
    config: DiffusionConfig | None = None,
    observer: TrainingObserver | None = None,
    and_whole: bool = False,
) -> BackboneStack:
    """Learn a table once for each fold, without the rows of that fold.

    Parameters
    ----------
    table : Table
        All rows.
    fold : array of shape (n_rows,) or (n_partitions, n_rows)
        Fold number of each row, from 0; those of a further partition are counted on.
    rng, config, observer
        As for ``fit_backbone``.
    and_whole : bool, default False
        Whether there is one more member, the last, that has seen all rows.

    Returns
    -------
    BackboneStack
        Member k has never seen fold k.  All are trained in one batched run.
    """
    check_table(table)
    fold = np.asarray(fold)
    check_folds(fold, len(table))
    unseen = [(part, int(k)) for part in np.atleast_2d(fold) for k in np.unique(part)]
    tables = [table.take(np.flatnonzero(part != k)) for part, k in unseen]
    members = tuple(k for _, k in unseen)
    if and_whole:
        tables, members = [*tables, table], (*members, NO_ROW)
    return _fit(tables, members, rng, config, observer)


def _fit(
    tables: Sequence[Table],
    unseen_folds: tuple[int, ...],
    rng: np.random.Generator,
    config: DiffusionConfig | None,
    observer: TrainingObserver | None,
) -> BackboneStack:
    check_rng(rng)
    config = config or DiffusionConfig()
    if not isinstance(config, DiffusionConfig):
        must = "be a DiffusionConfig"
        raise bad_setting("config", config, must, "Pass DiffusionConfig(n_steps=500).")
    fewest = min(len(table) for table in tables)
    if fewest < _LEAST_ROWS:
        raise UserInputError(
            f"A backbone was given {fewest} row(s) to learn from; it needs at least "
            f"{_LEAST_ROWS}. Use fewer folds or more rows."
        )
    encodings, layout = fit_encodings(tables, config)
    denoiser = Denoiser(layout, config)
    device = choose_device(config.device)
    generator = torch.Generator(device)
    generator.manual_seed(int(rng.integers(2**63)))
    pairs = zip(encodings, tables, strict=True)
    cells = [encoding.cells(rows) for encoding, rows in pairs]
    with one_thread(device):
        weights, record = train(denoiser, cells, config, generator, observer)
    return BackboneStack(
        config, layout, tuple(encodings), weights, record, unseen_folds
    )


# ---- What a caller may get wrong when fitting or drawing, each with the way out.


_SHOWN_LABELS = 6


def check_table(table: object) -> None:
    """Raise unless this is a ``Table``: a frame is the usual mistake."""
    if not isinstance(table, Table):
        raise UserInputError(
            f"Got {type(table).__name__} where a Table is needed. Read it first: "
            "tabtap.table.read_frame(frame, target=...)."
        )


def check_rng(rng: object) -> None:
    """Raise unless this is a numpy generator: a seed is the usual mistake."""
    if not isinstance(rng, np.random.Generator):
        raise bad_setting(
            "rng",
            rng,
            "be a numpy random generator",
            "Pass np.random.default_rng(0).",
        )


def check_folds(fold: NDArray[Any], n_rows: int) -> None:
    """Raise unless every row has a fold number, from 0, and there are two or more."""
    whole = fold.ndim in (1, 2) and fold.shape[-1] == n_rows
    if not whole or fold.dtype.kind not in "iu":
        raise UserInputError(
            f"fold has shape {fold.shape} and dtype {fold.dtype}; it must hold one "
            f"integer for each of the {n_rows} rows. Use tabtap.table.split.folds."
        )
    if fold.min() < 0 or len(np.unique(fold)) < 2:
        raise UserInputError(
            f"fold has the numbers {np.unique(fold)[:5].tolist()}; there must be at "
            "least two folds, numbered from 0. Use tabtap.table.split.folds."
        )


def wanted_targets(
    encoding: Encoding, n_rows: int, targets: ArrayLike | None, rng: np.random.Generator
) -> IntArray:
    """Return one condition per row: as asked for, or as frequent as in training."""
    if isinstance(n_rows, bool) or not isinstance(n_rows, (int, np.integer)):
        raise bad_setting("n_rows", n_rows, "be a whole number", "Try 100.")
    if n_rows < 0:
        raise bad_setting("n_rows", n_rows, "not be negative", "Try 100.")
    shares = encoding.weights
    if targets is None:
        return rng.choice(len(shares), size=n_rows, p=shares)
    wanted = np.asarray(targets)
    if wanted.dtype.kind not in "iu" or wanted.shape not in ((), (n_rows,)):
        raise UserInputError(
            f"targets has shape {wanted.shape} and dtype {wanted.dtype}; it must be "
            f"one integer or {n_rows} of them. {_codes_of(encoding.schema.target)}"
        )
    return np.broadcast_to(wanted, (n_rows,)).astype(np.int64)


def check_targets(encoding: Encoding, wanted: IntArray) -> None:
    """Raise if a condition does not exist, or has no training row."""
    n_conditions, target = len(encoding.weights), encoding.schema.target
    outside = (wanted < 0) | (wanted >= n_conditions)
    if outside.any():
        got = int(wanted[outside][0])
        must = f"lie between 0 and {n_conditions - 1}"
        raise bad_setting("targets", got, must, _codes_of(target))
    unknown = encoding.weights[wanted] == 0
    if unknown.any():
        raise UserInputError(
            f"Target {int(wanted[unknown][0])} has no training row, so nothing is "
            "known of it. Ask for targets that the training rows have."
        )


def check_anchors(anchors: Table, regenerate: BoolArray, encoding: Encoding) -> None:
    """Raise unless the anchors are of the learned sort and the mask fits them."""
    check_table(anchors)
    _check_schema(anchors, encoding)
    check_targets(encoding, anchors.condition)
    expected = anchors.missing.shape
    shape = getattr(regenerate, "shape", None)
    if shape != expected or getattr(regenerate, "dtype", None) != np.bool_:
        raise UserInputError(
            f"regenerate is a {type(regenerate).__name__} of shape {shape}; it must be "
            f"a boolean array of shape {expected}: a row per anchor, a column per "
            "feature. Build it from anchors.missing.shape."
        )


def _check_schema(anchors: Table, encoding: Encoding) -> None:
    learned, got = encoding.schema, anchors.schema
    pairs = [*zip_longest(learned.features, got.features)]
    for mine, theirs in pairs:
        if _known(mine) != _known(theirs):
            named = (mine or theirs).name
            raise UserInputError(
                f"The anchors' column {named!r} is not what this backbone learned: "
                "name, kind, dtype or levels differ. Read all rows with one call of "
                "read_frame and take the anchors from it."
            )
    if _condition_of(learned.target) != _condition_of(got.target):
        raise UserInputError(
            "The anchors' target is not the one this backbone learned: its labels, or "
            "the edges of its bins, differ. Read all rows with one call of read_frame "
            "and take the anchors from it."
        )


def _known(column: Column | None) -> object:
    """Return what must agree; identifiers may differ, they are never modelled."""
    if column is None or column.kind is Kind.IDENTIFIER:
        return column and (column.name, column.kind)
    return column.name, column.kind, column.dtype, column.levels


def _condition_of(target: Target | None) -> object:
    return target and (target.task, target.column.levels, target.edges)


def _codes_of(target: Target | None) -> str:
    if target is None:
        return "Without a target there is only 0."
    if target.task == "regression":
        return f"Pass target bins, 0 to {target.n_conditions - 1}."
    labels = target.column.levels
    listed = ", ".join(f"{i} for {x!r}" for i, x in enumerate(labels[:_SHOWN_LABELS]))
    more = ", ..." if len(labels) > _SHOWN_LABELS else ""
    return f"Pass class codes: {listed}{more}."


# ---- Saved backbones brought back, on this machine's device.


def load_backbone(path: str | Path, *, device: str = "auto") -> Backbone:
    """Bring back one saved backbone.

    Parameters
    ----------
    path : str or Path
        A file written by ``Backbone.save``.
    device : str, default="auto"
        Where it is to run, whatever device it was trained on.

    Returns
    -------
    Backbone
        On the same kind of device it draws the same rows, bit for bit.

    Raises
    ------
    FileFormatError
        If the file is damaged, of another program, or of a newer version.
    UserInputError
        If the file holds several backbones.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from tabtap.datasets import load_penguins
    >>> from tabtap.diffusion import DiffusionConfig, fit_backbone
    >>> from tabtap.table import read_frame
    >>> birds = read_frame(load_penguins(), target="species")
    >>> backbone = fit_backbone(
    ...     birds, rng=np.random.default_rng(0), config=DiffusionConfig(n_steps=5)
    ... )
    >>> with TemporaryDirectory() as folder:
    ...     backbone.save(f"{folder}/birds.safetensors")
    ...     loaded = load_backbone(f"{folder}/birds.safetensors")
    >>> loaded.training.reason
    'All 5 planned steps were taken.'
    """
    stack = load_stack(path, device=device)
    if len(stack) != 1:
        raise UserInputError(
            f"{str(path)!r} holds {len(stack)} backbones. Use load_stack, and pick one "
            "of them by its number: load_stack(path)[0]."
        )
    return stack[0]


def load_stack(path: str | Path, *, device: str = "auto") -> BackboneStack:
    """Bring back all backbones of one saved file.

    Parameters
    ----------
    path : str or Path
        A file written by ``BackboneStack.save`` or ``Backbone.save``.
    device : str, default="auto"
        Where they are to run, whatever device they were trained on.

    Returns
    -------
    BackboneStack
        On the same kind of device it draws the same rows, bit for bit.

    Raises
    ------
    FileFormatError
        If the file is damaged, of another program, or of a newer version.
    """
    saved = read_stack(path, choose_device(device))
    config = replace(saved.config, device=device)
    return BackboneStack(*saved._replace(config=config))
