"""Tables of many rows: which rows are learned, which judge, and what is told of it.

Generators, teacher, gates and steps work on a sample.  Pools are judged on the whole
table: by learners that are trained on all rows beside the new ones and asked about all
rows.  So a promise is about the table that the user has, with its own shares of
classes; a table too large for that, or for a learner in the time that there is, gets no
rows, because nothing could be promised.
"""

from __future__ import annotations

import math
import time
import warnings
from dataclasses import dataclass, replace

import numpy as np

from tabtap.config import AugmentConfig, Preset
from tabtap.domain import Lineages
from tabtap.errors import LargeTableWarning
from tabtap.evaluate.judging import ask
from tabtap.rng import stream
from tabtap.stages import Evaluator
from tabtap.table.schema import IntArray
from tabtap.table.split import even_sample
from tabtap.table.table import Table
from tabtap.wording import listed

LARGE_PANEL = ("linear", "boosting")
"""Those of the panel whose time grows with the rows and no faster."""

_FITS_PER_FOLD = 3
"""Fits of a check: on real rows, on what was let in, and with the pool."""

_STEEPEST = 3.0
"""Most that a learner's time is taken to grow by: with the third power of the rows."""

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

    n_checks: int
    """Most pools that are judged."""

    check_seconds: float = 0.0
    """About what a check of a pool takes, with the learner that judges."""

    time_budget: float | None = None
    """Seconds that the run may take."""

    @classmethod
    def of(
        cls, real: Table, groups: IntArray | None, preset: Preset, seed: int
    ) -> Whole | None:
        """Sample a table of many rows; None for one that is learned as it is.

        The paper's protocol has no referee who could judge on other rows.
        """
        sizes, config = preset.sizes, preset.augment
        if not _is_sampled(real, preset):
            return None
        rng = stream(seed, "learned rows")
        learned = even_sample(real.condition, sizes.max_learned_rows, rng)
        n_cells = _n_cells(real)
        n_windows = config.n_steps // config.commit.window_length
        n_checks = min(n_windows, max(1, sizes.max_checked_cells // n_cells))
        return cls(real, groups, learned, sizes.max_judged_cells, n_checks)

    def shortened(self, config: AugmentConfig) -> AugmentConfig:
        """Return the settings of a run that ends after its last check."""
        return replace(config, n_steps=self.n_checks * config.commit.window_length)

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
        return _n_cells(self.real)

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

    def timed(self, judge: Evaluator, n_folds: int, time_budget: float | None) -> Whole:
        """Return the same, with what a check takes: reckoned from two small fits.

        A third of the learned rows, and all of them, say how time grows with rows.
        """
        if self.n_cells > self.max_cells:
            return self
        sample, sizes = self.sample, (len(self.learned) // 3, len(self.learned))
        rows = stream(0, "rows by which a learner is timed").permutation(sizes[1])
        _seconds(judge, sample.take(rows[: sizes[0]]), n_folds)  # the first is slower
        few, many = (_seconds(judge, sample.take(rows[:n]), n_folds) for n in sizes)
        power = math.log(max(many / max(few, 1e-9), 1e-9)) / math.log(
            sizes[1] / sizes[0]
        )
        times = (len(self.real) / sizes[1]) ** min(max(power, 1.0), _STEEPEST)
        seconds = _FITS_PER_FOLD * n_folds * many * times
        return replace(self, check_seconds=seconds, time_budget=time_budget)

    @property
    def is_too_large(self) -> bool:
        """Whether judging would cost more than a run may."""
        return self.n_cells > self.max_cells or self.is_too_slow

    @property
    def is_too_slow(self) -> bool:
        """Whether a single check would take longer than the run may."""
        return self.time_budget is not None and self.check_seconds > self.time_budget

    @property
    def seconds_to_begin(self) -> float | None:
        """After how long no check is begun, because it would not end in time."""
        if self.time_budget is None:
            return None
        return self.time_budget - self.check_seconds

    def tell(self, judge: str) -> None:
        """Warn of what will be done or not be done."""
        said = self._plan(judge)
        if self.is_too_slow:
            said = self._lack_of_time(judge)
        elif self.is_too_large:
            said = self._refusal()
        warnings.warn(said, LargeTableWarning, stacklevel=_CALLER)

    def _plan(self, judge: str) -> str:
        if judge == "panel":
            judge = f"{listed(list(LARGE_PANEL))}, the panel's quickest"
        return (
            f"Of {len(self.real)} rows {len(self.learned)} are learned"
            f"{self._classes()}; 'real' as a mixture means their shares. At most "
            f"{self.n_checks} pools are judged by {judge} (about "
            f"{_in_words(self.check_seconds)} for each), trained on all rows and asked "
            "about all rows, so what is promised is promised of the whole table."
        )

    def _lack_of_time(self, judge: str) -> str:
        return (
            f"With {len(self.real)} rows no rows are added: to judge one pool by "
            f"{judge} takes about {_in_words(self.check_seconds)}, reckoned from its "
            f"time on {len(self.learned)} rows, and time_budget is "
            f"{_in_words(self.time_budget or 0.0)}. Raise it, name a quicker learner "
            f"such as 'linear', or pass fewer rows and train on these."
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


def is_beyond_judging(real: Table, preset: Preset) -> bool:
    """Whether a table has more cells than are judged, so that no row is added to it.

    What only matters for new rows need not be looked for in such a table.
    """
    return _is_sampled(real, preset) and _n_cells(real) > preset.sizes.max_judged_cells


def _is_sampled(real: Table, preset: Preset) -> bool:
    """Whether only some rows are learned."""
    if preset.augment.commit.protocol == "paper":
        return False
    return len(real) > preset.sizes.max_learned_rows


def _n_cells(real: Table) -> int:
    return len(real) * len(real.schema.features)


def _seconds(judge: Evaluator, rows: Table, n_folds: int) -> float:
    """Return how long a judge takes to answer one fold of some rows by the others."""
    n_asked = max(1, len(rows) // n_folds)
    asked, others = np.split(np.arange(len(rows)), [n_asked])
    begun = time.perf_counter()
    ask(judge, [rows.take(others)], [rows.take(asked)], rows, "referee")
    return time.perf_counter() - begun


def _in_words(seconds: float) -> str:
    if seconds < 120:
        return f"{max(1, round(seconds))} seconds"
    if seconds < 7200:
        return f"{round(seconds / 60)} minutes"
    return f"{round(seconds / 3600)} hours"
