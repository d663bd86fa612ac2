"""One cell of the study: rows, folds and six backbones that every part shares.

Five backbones have each not seen one fold, the sixth has seen every real row.  All are
fitted in one batch; the crossfit runs use the five, everything else the sixth.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from usefulness import Cell

from tabtap.api.run import Request, lineages_of
from tabtap.config import PRESETS, DiffusionConfig, Preset
from tabtap.diffusion import BackboneStack, load_stack

# Its two public callers fit either the folds or the whole table, never both at once.
from tabtap.diffusion.backbone import _fit
from tabtap.domain import Lineages
from tabtap.domain.rows import WHOLE
from tabtap.rivals.ladder import request_for
from tabtap.study.protocol import Repetition, repetitions
from tabtap.table import Table

Settings = Mapping[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Ground:
    """What all parts of a cell stand on."""

    cell: Cell
    repetition: Repetition
    stack: BackboneStack
    """The fold members in the order of their folds, then the one that saw all rows."""

    fit_seconds: float
    """CPU seconds of fitting all six, now or when they were kept."""

    @property
    def real(self) -> Table:
        """The real training rows."""
        return self.repetition.real

    def request(self, preset: Preset) -> Request:
        """Return a run on this cell's rows, as TabularAugmenter would ask for it."""
        return request_of(self.cell, self.real, preset)

    def members(self, lineages: Lineages) -> BackboneStack:
        """Return the backbones of some lineages, in their order."""
        places = [self.stack.unseen_folds.index(k) for k in lineages.members]
        return replace(
            self.stack,
            encodings=tuple(self.stack.encodings[place] for place in places),
            weights=self.stack.weights[places],
            unseen_folds=lineages.members,
        )


def repetition_of(cell: Cell, table: Table) -> Repetition:
    """Return the rows of a cell; real rows are numbered from 0, as a user's are."""
    every = repetitions(table, cell.n_real, cell.split + 1, seed=cell.seed)
    found = next(islice(every, cell.split, None))
    origin = np.arange(len(found.real), dtype=np.int64)
    return replace(found, real=replace(found.real, origin=origin))


def request_of(cell: Cell, real: Table, preset: Preset) -> Request:
    """Return a run on some rows; the folds are the same for every preset."""
    return request_for(real, preset, int(cell.stream("run").integers(2**31)))


def prepare(
    cell: Cell, repetition: Repetition, settings: Settings, kept: Path | None = None
) -> Ground:
    """Fit the backbones of a cell, or bring back those of a run that was stopped.

    Parameters
    ----------
    cell : Cell
        Which repetition.
    repetition : Repetition
        Its rows, as ``repetition_of`` gives them.
    settings : mapping
        Settings of the backbones that differ from the default.
    kept : Path, optional
        Where the backbones are kept, and looked for first.
    """
    seconds = None if kept is None else kept.with_suffix(".seconds")
    if kept is not None and seconds is not None and seconds.is_file():
        spent = float(seconds.read_text(encoding="utf-8"))
        return Ground(cell, repetition, load_stack(kept), spent)
    real = repetition.real
    lineages = lineages_of(request_of(cell, real, PRESETS["fast"]))
    members = (*lineages.members, WHOLE)
    started = time.process_time()
    stack = _fit(
        [real.take(lineages.seen(member)) for member in members],
        members,
        cell.stream("backbone"),
        DiffusionConfig(**settings),
        None,
    )
    spent = time.process_time() - started
    if kept is not None and seconds is not None:
        kept.parent.mkdir(parents=True, exist_ok=True)
        stack.save(kept)
        # Last: it says that the other file is whole.
        seconds.write_text(str(spent), encoding="utf-8")
    return Ground(cell, repetition, stack, spent)


def forget(kept: Path) -> None:
    """Remove the backbones of a cell that is done."""
    for file in (kept.with_suffix(".seconds"), kept):
        file.unlink(missing_ok=True)
