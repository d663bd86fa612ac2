"""What the policy is told before it decides: where rows are short, unsure, new.

Every part of the state is free of units and of the number of rows, so that one policy
network suits every table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tabtap.domain import TEMPLATES, LearnerState, Template
from tabtap.errors import UserInputError, bad_setting
from tabtap.table.distance import DistanceScale, nearest, typical_gap
from tabtap.table.schema import FloatArray, IntArray
from tabtap.table.table import Table

Wish = str | Mapping[int, float] | Sequence[float] | FloatArray
"""``balanced``, ``real``, or the share of each target."""

NEUTRAL = 0.5
"""What a part of the state in [0, 1] is when nothing can be measured."""


def read_state(
    real_counts: IntArray,
    synthetic_counts: IntArray,
    wanted: FloatArray,
    uncertainty: FloatArray,
    pass_rates: PassRates,
    novelty: float,
) -> LearnerState:
    """Put together the learner's state (equations 16 and 35).

    Arrays have one number per class or target bin; ``synthetic_counts`` are of
    committed and pooled rows.  See ``wanted_mixture``, ``uncertainty_by_target`` and
    ``novelty_of``.  A target is available when it has a real row and a share of it is
    wanted.
    """
    return LearnerState(
        deficit=deficit(wanted, np.asarray(real_counts) + synthetic_counts),
        uncertainty=np.asarray(uncertainty, np.float64),
        pass_rate=pass_rates.shares(),
        novelty=novelty,
        available=(np.asarray(real_counts) > 0) & (np.asarray(wanted) > 0),
    )


def wanted_mixture(wish: Wish, real_counts: IntArray) -> FloatArray:
    """Return the share of the rows that each target should have; they add up to 1.

    ``balanced``: the same for every target that has a real row; ``real``: as in the
    real rows; otherwise the share of each target, by its number or in order.  Shares
    need not add up to 1; a target that a mapping leaves out gets nothing.  A target
    without a real row cannot be asked for.

    Examples
    --------
    >>> wanted_mixture("balanced", [30, 0, 10])
    array([0.5, 0. , 0.5])
    >>> wanted_mixture({2: 3, 0: 1}, [30, 0, 10])
    array([0.25, 0.  , 0.75])
    """
    counts = np.asarray(real_counts, np.float64)
    if isinstance(wish, str):
        shares = _named_mixture(wish, counts)
    else:
        shares = _given_mixture(wish, len(counts))
    if (missing := np.flatnonzero((shares > 0) & (counts == 0))).size:
        raise UserInputError(
            f"Rows of target {missing[0]} are wanted, but no real row has it, so none "
            "can be made. Want a share of 0 of it, or add real rows."
        )
    if not np.isfinite(shares).all() or shares.min() < 0 or shares.sum() <= 0:
        must = "be shares of at least 0, not all of them 0"
        raise bad_setting("mixture", wish, must, "Try 'balanced'.")
    return np.asarray(shares / shares.sum())


def deficit(wanted: FloatArray, held_counts: IntArray) -> FloatArray:
    """Return the share wanted minus the share held of each target; delta in the paper.

    Positive where rows are short.  Ten times as many rows give the same deficit.
    """
    held = np.asarray(held_counts, np.float64)
    return np.asarray(wanted - held / max(held.sum(), 1.0))


def uncertainty_by_target(
    uncertainty: FloatArray,
    targets: IntArray,
    n_targets: int,
    *,
    n_classes: int | None = None,
) -> FloatArray:
    """Return how unsure the evaluator is of each target's rows, in [0, 1]; paper: u.

    ``uncertainty`` is the evaluator's, of real rows whose class codes or target bins
    are ``targets``: entropy in nats over ``n_classes``, counted as a share of the
    largest possible; in regression, without ``n_classes``, standard deviations x in
    those of the real targets, counted as x / (1 + x).  Rows whose uncertainty is NaN do
    not count.  A target without rows gets the mean of the others.
    """
    level = np.asarray(uncertainty, np.float64)
    if n_classes is None:
        level = level / (1.0 + level)
    else:
        level = level / np.log(max(n_classes, 2))
    known = np.isfinite(level)
    codes, level = np.asarray(targets)[known], np.clip(level[known], 0.0, 1.0)
    n_rows = np.bincount(codes, minlength=n_targets)
    total = np.bincount(codes, weights=level, minlength=n_targets)
    means = total / np.maximum(n_rows, 1)
    has_rows = n_rows > 0
    spare = float(means[has_rows].mean()) if has_rows.any() else NEUTRAL
    return np.where(has_rows, means, spare)


def novelty_of(
    pool: Table, committed: Table, real: Table, scale: DistanceScale, gap: float
) -> float:
    """Return how far the pool is from the rows held, in [0, 1); d in the paper.

    The mean distance from a pooled row to the nearest committed one, or to the nearest
    real one as long as nothing is committed, counted in typical gaps x between real
    rows and squashed to x / (1 + x): 0 for copies, a half at the usual distance, near 1
    far away.  An empty pool is neither near nor far: a half.

    Where real rows have no gap to count in (they all coincide, or there is only one)
    the distance is counted in standard deviations, as it is.
    """
    held = committed if len(committed) else real
    if len(pool) == 0 or len(held) == 0:
        return NEUTRAL
    distance, _ = nearest(pool, held, scale)
    unit = gap if np.isfinite(gap) and gap > 0 else 1.0
    steps = float(distance.mean()) / unit
    return steps / (1.0 + steps)


def _named_mixture(wish: str, counts: FloatArray) -> FloatArray:
    if wish == "balanced":
        return (counts > 0).astype(np.float64)
    if wish == "real":
        return counts
    must = "be 'balanced', 'real' or the share of each target"
    raise bad_setting("mixture", wish, must, "Try 'balanced'.")


def _given_mixture(
    wish: Mapping[int, float] | Sequence[float] | FloatArray, n_targets: int
) -> FloatArray:
    if not isinstance(wish, Mapping):
        shares = np.asarray(wish, np.float64)
        if shares.shape != (n_targets,):
            must = f"have one share for each of the {n_targets} targets"
            raise bad_setting("mixture", wish, must, "Try 'balanced'.")
        return shares
    shares = np.zeros(n_targets)
    for target, share in wish.items():
        if target not in range(n_targets):
            must = f"name targets by their numbers, 0 to {n_targets - 1}"
            raise bad_setting("mixture", wish, must, f"Leave out {target!r}.")
        shares[target] = share
    return shares


# ---- The sensor of a run: reads the state of one table, step after step.


@dataclass(frozen=True, slots=True, eq=False)
class TableSensor:
    """What is fixed for a table, and the pass rates so far."""

    wanted: FloatArray
    scale: DistanceScale
    gap: float
    pass_rates: PassRates

    @classmethod
    def of(cls, real: Table, wish: Wish) -> TableSensor:
        """Return the sensor of a table at the start of a run."""
        scale = DistanceScale.of(real)
        counts = _counts(real)
        return cls(
            wanted_mixture(wish, counts), scale, typical_gap(real, scale), PassRates()
        )

    def read(
        self, real: Table, committed: Table, pool: Table, uncertainty: FloatArray
    ) -> LearnerState:
        """Return the state before an action; ``uncertainty`` is per real row."""
        n_targets = len(self.wanted)
        target = real.schema.target
        labels = target is not None and target.task == "classification"
        return read_state(
            _counts(real),
            _counts(committed) + _counts(pool),
            self.wanted,
            uncertainty_by_target(
                uncertainty,
                real.condition,
                n_targets,
                n_classes=n_targets if labels else None,
            ),
            self.pass_rates,
            novelty_of(pool, committed, real, self.scale, self.gap),
        )

    def noted(self, template: Template, n_passed: int, n_proposed: int) -> TableSensor:
        """Return the sensor after rows of a template were judged."""
        rates = self.pass_rates.updated(template, n_passed, n_proposed)
        return self.with_rates(rates)

    def with_rates(self, pass_rates: PassRates) -> TableSensor:
        """Return the sensor with other pass rates, such as those of a saved run."""
        return replace(self, pass_rates=pass_rates)


def _counts(table: Table) -> IntArray:
    return np.bincount(table.condition, minlength=table.schema.n_conditions)


# ---- How many rows of each template came through the gates lately.


WINDOW = 10
"""Actions of a template that count as recent: older ones say little of the gates now,
because the rows held have changed."""

Counts = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class PassRates:
    """Rows passed and proposed by the latest actions of each template; g in the paper.

    One row that passed and one that did not are counted beforehand.  So a template that
    was never tried has a rate of a half, and none is ever quite 0 or 1.
    """

    recent: tuple[Counts, ...] = field(default=((),) * len(TEMPLATES))
    """For each template, oldest first: rows passed, rows proposed."""

    def updated(self, template: Template, n_passed: int, n_proposed: int) -> PassRates:
        """Return the rates after one more action; this value stays as it is."""
        if not 0 <= n_passed <= n_proposed:
            raise UserInputError(
                f"{n_passed} of {n_proposed} rows cannot have passed the gates. "
                "Pass the admitted rows first, then the proposed ones."
            )
        index = TEMPLATES.index(template)
        latest = (*self.recent[index], (int(n_passed), int(n_proposed)))[-WINDOW:]
        before, after = self.recent[:index], self.recent[index + 1 :]
        return replace(self, recent=(*before, latest, *after))

    def shares(self) -> FloatArray:
        """Return the recent share of rows that passed, shape (n_templates,).

        Examples
        --------
        >>> PassRates().updated(Template.EXPLORE, 5, 8).shares()
        array([0.6, 0.5])
        """
        sums = [np.sum([(0, 0), *counts], axis=0) for counts in self.recent]
        return np.array([(passed + 1) / (tried + 2) for passed, tried in sums])

    def to_lists(self) -> dict[str, list[list[int]]]:
        """Return plain lists from which ``from_lists`` makes the same value."""
        return {
            template.value: [list(pair) for pair in counts]
            for template, counts in zip(TEMPLATES, self.recent, strict=True)
        }

    @classmethod
    def from_lists(cls, lists: Mapping[str, Sequence[Sequence[int]]]) -> PassRates:
        """Return the value that ``to_lists`` wrote down."""
        return cls(
            tuple(
                tuple((int(passed), int(tried)) for passed, tried in lists[name.value])
                for name in TEMPLATES
            )
        )
