"""Tables of many rows: which rows are learned, which judge, and what is told of it.

Generators, teacher, gates and steps work on a sample.  Pools are judged on the whole
table: by learners that are trained on all rows beside the new ones and asked about all
rows.  So a promise is about the table that the user has, with its own shares of
classes; a table too large for that gets no rows, because nothing could be promised.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from tabtap.config import Preset
from tabtap.domain import Lineages
from tabtap.errors import LargeTableWarning
from tabtap.rng import stream
from tabtap.table.schema import IntArray
from tabtap.table.split import even_sample
from tabtap.table.table import Table
from tabtap.wording import listed

LARGE_PANEL = ("linear", "boosting")
"""Those of the panel whose time grows with the rows and no faster."""

_SECONDS_PER_CELL = 5e-6
"""CPU seconds of a check by them: three times five fits; docs/results/scale.md."""

_SHOWN_CLASSES = 4
_CALLER = 6  # whoever called the augmenter


@dataclass(frozen=True, slots=True, eq=False)
class Whole:
    """All rows of a table of which a run learns some."""

    real: Table
    groups: IntArray | None
    """Rows that count as one, as codes from 0."""

    learned: IntArray
    """Numbers of the rows that are learned, ascending."""

    max_cells: int
    """Most rows times columns that are judged."""

    @classmethod
    def of(
        cls, real: Table, groups: IntArray | None, preset: Preset, seed: int
    ) -> Whole | None:
        """Sample a table of many rows; None for one that is learned as it is.

        The paper's protocol has no referee who could judge on other rows.
        """
        most, max_cells = preset.sizes.max_learned_rows, preset.sizes.max_judged_cells
        if len(real) <= most or preset.augment.commit.protocol == "paper":
            return None
        rng = stream(seed, "learned rows")
        learned = even_sample(real.condition, most, rng)
        return cls(real, groups, learned, max_cells)

    @property
    def sample(self) -> Table:
        """The rows that are learned."""
        return self.real.take(self.learned)

    @property
    def sample_groups(self) -> IntArray | None:
        """Groups of the rows that are learned, as codes from 0."""
        if self.groups is None:
            return None
        return np.unique(self.groups[self.learned], return_inverse=True)[1]

    @property
    def n_cells(self) -> int:
        """Rows times columns."""
        return len(self.real) * len(self.real.schema.features)

    def lineages(self, of_sample: Lineages, seed: int) -> Lineages:
        """Return the folds of all rows: those of the sample, and the others by chance.

        No generator has seen any of the others.  Rows of one group stay together.
        """
        rng = stream(seed, "folds of the other rows")
        unit = np.arange(len(self.real)) if self.groups is None else self.groups
        partitions = []
        for fold in np.atleast_2d(of_sample.fold):
            of_unit = rng.integers(of_sample.n_folds_each, size=unit.max() + 1)
            of_unit[unit[self.learned]] = fold
            partitions.append(of_unit[unit])
        return Lineages(np.stack(partitions), of_sample.crossfit)

    @property
    def is_too_large(self) -> bool:
        """Whether judging would cost more than a run may."""
        return self.n_cells > self.max_cells

    def tell(self, *, is_panel: bool) -> None:
        """Warn of what will be done or not be done."""
        said = self._refusal() if self.is_too_large else self._plan(is_panel=is_panel)
        warnings.warn(said, LargeTableWarning, stacklevel=_CALLER)

    def _plan(self, *, is_panel: bool) -> str:
        judges = "the learner that you named"
        if is_panel:
            seconds = max(1, round(self.n_cells * _SECONDS_PER_CELL))
            judges = f"{listed(list(LARGE_PANEL))}, the panel's quickest"
            judges += f" (about {seconds} CPU seconds for a check)"
        return (
            f"Of {len(self.real)} rows {len(self.learned)} are learned"
            f"{self._classes()}; 'real' as a mixture means their shares. Pools are "
            f"judged by {judges}, trained on all rows and asked about all rows, so "
            "what is promised is promised of the whole table."
        )

    def _refusal(self) -> str:
        n_columns = len(self.real.schema.features)
        most = self.max_cells // n_columns
        return (
            f"With {len(self.real)} rows of {n_columns} columns no rows are added: a "
            f"promise needs learners that are trained on all of them time and again, "
            f"and that is done for at most {most} rows. So many rows seldom need more; "
            "for a rare class weigh the classes or move the threshold first. Else pass "
            f"at most {most} rows, all of the rare classes among them, and train on "
            "these; or raise max_judged_cells of the preset's sizes."
        )

    def _classes(self) -> str:
        """Return how many rows of each class are learned, the rarest first."""
        target = self.real.schema.target
        if target is None or target.task != "classification":
            return ""
        levels = target.column.levels
        there, kept = (
            np.bincount(codes, minlength=len(levels))
            for codes in (self.real.condition, self.real.condition[self.learned])
        )
        shown = [
            f"{'all ' if kept[i] == there[i] else ''}{kept[i]} of {levels[i]!r}"
            for i in np.argsort(there, kind="stable")[:_SHOWN_CLASSES]
        ]
        more = ", ..." if len(levels) > _SHOWN_CLASSES else ""
        return f" ({', '.join(shown)}{more})"
