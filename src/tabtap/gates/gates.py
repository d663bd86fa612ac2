"""The standard gates, and admission: each asked of every candidate, refusals counted.

A refusal is counted under the first gate that refuses, so the counts add up to the
candidates that were not admitted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from tabtap.config import GateConfig
from tabtap.domain import (
    Admission,
    Candidates,
    ClassPrediction,
    GateContext,
    Prediction,
)
from tabtap.errors import TapError, UserInputError
from tabtap.gates.rules import Rules
from tabtap.stages import Gate
from tabtap.table.distance import DistanceScale, nearest, typical_gap
from tabtap.table.schema import BoolArray, Column, FloatArray, Kind
from tabtap.table.table import NO_ROW, Table, ancestor_rows

Answer = TypeVar("Answer")


@runtime_checkable
class ScoringGate(Gate, Protocol):
    """A gate that can say how well a row did."""

    def scores(self, candidates: Table, context: GateContext) -> dict[str, FloatArray]:
        """Return named figures, one per row."""


@runtime_checkable
class BatchGate(Gate, Protocol):
    """A gate that also compares the rows of a batch with each other."""

    def firsts(self, candidates: Table, context: GateContext) -> BoolArray:
        """Return which rows stay beside those before them."""


@dataclass(frozen=True, slots=True)
class Gates:
    """Every gate in turn; what the loop asks.

    Parameters
    ----------
    gates : tuple of Gate
        Asked about all candidates alike; their order decides who counts a refusal.
    """

    gates: tuple[Gate, ...]

    @property
    def needs_prediction(self) -> bool:
        """Whether a gate reads ``GateContext.prediction``; it may say so itself."""
        return any(getattr(gate, "needs_prediction", False) for gate in self.gates)

    def admit(self, candidates: Candidates, context: GateContext) -> Admission:
        """Return the candidates of one lineage that pass, and who refused the rest."""
        return admit(candidates, context, self.gates)


def standard_gates(
    config: GateConfig, rules: Rules | None = None, every: Table | None = None
) -> tuple[Gate, ...]:
    """Return the paper's gates in its order, with the user's rules among them.

    ``every`` are all real rows, where the gates are shown a sample of them.
    """
    gates: list[Gate] = [ValidTypes(), InRange(config.range_quantiles)]
    if rules is not None and len(rules):
        gates.append(rules)
    if config.plausibility:
        gates.append(
            Plausible(
                min_probability=config.min_probability,
                min_margin=config.min_margin,
                residual_percentile=config.residual_percentile,
            )
        )
    if every is not None:
        gates.append(NoCopy.of(every))
    return (*gates, NewRow(config.min_distance))


def admit(
    candidates: Candidates, context: GateContext, gates: Sequence[Gate]
) -> Admission:
    """Ask every gate about the candidates of one lineage.

    Parameters
    ----------
    candidates : Candidates
        Rows of one lineage, in the order in which they were proposed.
    context : GateContext
        What the lineage knows; its prediction has one entry per candidate.
    gates : sequence of Gate
        Asked about all candidates alike; their order decides who counts a refusal.

    Returns
    -------
    Admission
        The rows admitted, with what the gates measured of them.  Of candidates that
        are near copies of each other the first is admitted.

    Raises
    ------
    UserInputError
        If a gate raises, or gives anything but one bool per row.

    Notes
    -----
    The admitted set is S_t of the paper (appendix C.2.4).
    """
    rows = candidates.rows
    passed = np.ones(len(candidates), dtype=np.bool_)
    refused: dict[str, int] = {}
    for gate in gates:
        before = passed
        passed = passed & verdict_of(gate, rows, context)
        refused[gate.name] = refused.get(gate.name, 0) + _fewer(before, passed)
    # Last: a row that is refused anyway must not take its near copy with it.
    for gate in gates:
        if isinstance(gate, BatchGate):
            before = passed
            passed = _keep_firsts(gate, rows, context, passed)
            refused[gate.name] += _fewer(before, passed)
    measured = dict(candidates.scores)
    for gate in gates:
        if isinstance(gate, ScoringGate):
            measured |= _scores(gate, rows, context)
    return Admission(replace(candidates, scores=measured).take(passed), refused)


def verdict_of(gate: Gate, rows: Table, context: GateContext) -> BoolArray:
    """Return a gate's verdicts, or say what it gave in their place."""
    verdict = np.asarray(_ask_gate(gate, gate.passes, rows, context))
    if verdict.shape != (len(rows),) or verdict.dtype != np.bool_:
        raise _not_one_per_row(gate, verdict, len(rows), "bool")
    return verdict


def _scores(
    gate: ScoringGate, rows: Table, context: GateContext
) -> dict[str, FloatArray]:
    answer = _ask_gate(gate, gate.scores, rows, context)
    figures = {name: np.asarray(figure) for name, figure in answer.items()}
    for figure in figures.values():
        if figure.shape != (len(rows),) or figure.dtype.kind not in "fiu":
            raise _not_one_per_row(gate, figure, len(rows), "number")
    return {name: figure.astype(np.float64) for name, figure in figures.items()}


def _ask_gate(
    gate: Gate,
    question: Callable[[Table, GateContext], Answer],
    rows: Table,
    context: GateContext,
) -> Answer:
    try:
        return question(rows, context)
    except TapError:
        raise
    except Exception as error:
        raise UserInputError(
            f"The gate {gate.name!r} raised {type(error).__name__}: {error}. A gate "
            "returns False for a bad row and raises nothing."
        ) from error


def _not_one_per_row(
    gate: Gate, got: NDArray[Any], n_rows: int, wanted: str
) -> UserInputError:
    return UserInputError(
        f"The gate {gate.name!r} returned an array of shape {got.shape} and dtype "
        f"{got.dtype} for {n_rows} rows. It must return one {wanted} per row."
    )


def _keep_firsts(
    gate: BatchGate, rows: Table, context: GateContext, passed: BoolArray
) -> BoolArray:
    chosen = np.flatnonzero(passed)
    stays = _ask_gate(gate, gate.firsts, rows.take(chosen), context)
    kept = np.zeros(len(passed), dtype=np.bool_)
    kept[chosen[stays]] = True
    return kept


def _fewer(before: BoolArray, after: BoolArray) -> int:
    return int(before.sum() - after.sum())


# ---- Two hard gates: cells that could stand in the real table, and numbers in its
# range.
#
# Both judge the decoded, rounded row.  Cells that no one redraws are excused: an
# identifier is empty in a new row, and a number that a row has from the real row it
# descends from is real, however extreme (the paper clips what it draws, no more).


Ends = tuple[NDArray[Any], NDArray[Any]]

MAX_TABLES = 16
"""Tables whose figures are remembered: one for each lineage of a run, and spare."""


@dataclass(frozen=True, slots=True)
class ValidTypes:
    """Levels and targets that real rows have, finite numbers, holes where they do."""

    name: ClassVar[str] = "types"

    def passes(self, candidates: Table, context: GateContext) -> BoolArray:
        """Return whether every cell and the target could stand in a real row."""
        fine = _valid_target(candidates, context.real)
        for index, column in enumerate(candidates.schema.features):
            if column.kind is not Kind.IDENTIFIER:
                fine &= _valid_cells(candidates, context.real, index)
        return fine


@dataclass(frozen=True, slots=True)
class InRange:
    """Numbers between two quantiles of the real column, both ends included.

    Parameters
    ----------
    quantiles : tuple of two floats
        The paper's q_min and q_max.  The ends are rounded as the column is, so that
        a number drawn at an end and rounded is inside.

    Notes
    -----
    Holes pass: whether a cell may be empty is a matter of types.  Targets are not
    judged.  A number equal to that of the row's origin was kept, not drawn.
    """

    quantiles: tuple[float, float]

    name: ClassVar[str] = "range"

    def passes(self, candidates: Table, context: GateContext) -> BoolArray:
        """Return whether every number that was drawn lies in the real range."""
        fine = np.ones(len(candidates), dtype=np.bool_)
        ends = _real_ends(context.real, self.quantiles)
        kept = _kept_cells(candidates, context.real)
        for index, pair in zip(candidates.schema.numeric, ends, strict=True):
            inside = candidates.missing[:, index] > 0
            if pair is not None:
                cells = candidates.cells[index]
                inside = inside | ((cells >= pair[0]) & (cells <= pair[1]))
            fine &= inside | kept[:, index]
        return fine


def _valid_target(candidates: Table, real: Table) -> BoolArray:
    finite = np.isfinite(candidates.target_values)
    # In regression the bin must have been seen; the exact value may be new.
    seen = np.isin(candidates.condition, real.condition)
    return np.asarray(finite & seen)


def _valid_cells(candidates: Table, real: Table, index: int) -> BoolArray:
    column = candidates.schema.features[index]
    cells, marker = candidates.cells[index], candidates.missing[:, index]
    real_hole = real.missing[:, index] > 0
    hole_allowed = (marker <= len(column.markers)) & bool(real_hole.any())
    if column.kind.is_numeric:
        value_allowed = np.isfinite(cells)
    else:
        value_allowed = np.isin(cells, real.cells[index][~real_hole])
    return np.where(marker > 0, hole_allowed, value_allowed)


# Tables never change and are hashed by identity; a run asks about the same few ones
# at every step.
@lru_cache(maxsize=MAX_TABLES)
def _real_ends(real: Table, quantiles: tuple[float, float]) -> tuple[Ends | None, ...]:
    """Return the ends of each numeric column; None without a single number."""
    lows, highs = _quantiles(real.numeric, quantiles)
    ends: list[Ends | None] = []
    for index, low, high in zip(real.schema.numeric, lows, highs, strict=True):
        seen = real.cells[index][real.missing[:, index] == 0]
        if not len(seen):
            ends.append(None)
            continue
        column = real.schema.features[index]
        # Exact at the very ends: large integers and nanoseconds outgrow a float.
        least = seen.min() if quantiles[0] == 0 else _store(column, low)
        most = seen.max() if quantiles[1] == 1 else _store(column, high)
        ends.append((least, most))
    return tuple(ends)


def _quantiles(numbers: FloatArray, quantiles: tuple[float, float]) -> FloatArray:
    """Return the quantiles of each column, of its numbers alone; 0 without any."""
    ends = np.zeros((2, numbers.shape[1]))
    hole = np.isnan(numbers)
    whole = ~hole.any(axis=0)
    # All at once: one by one they would be the slowest part of a gate.
    if len(numbers):
        ends[:, whole] = np.quantile(numbers[:, whole], quantiles, axis=0)
    for index in np.flatnonzero(~whole & ~hole.all(axis=0)):
        ends[:, index] = np.quantile(numbers[~hole[:, index], index], quantiles)
    return ends


def _store(column: Column, number: float) -> NDArray[Any]:
    return np.asarray(column.store(np.array([number]))[0])


def _kept_cells(candidates: Table, real: Table) -> BoolArray:
    """Return where a candidate has exactly what the real row it descends from has."""
    kept = np.zeros(candidates.missing.shape, dtype=np.bool_)
    if not len(real):
        return kept
    parent = ancestor_rows(real, candidates)
    known = parent != NO_ROW
    for index in candidates.schema.numeric:
        same = candidates.cells[index] == real.cells[index][parent]
        kept[:, index] = known & same & (real.missing[parent, index] == 0)
    return kept


# ---- The gate against copies: a row must be new to the real rows and to those kept.
#
# Distances are counted in typical gaps, the median distance from a real row to its
# nearest real neighbour, so the threshold does not depend on how columns were measured.
#
# Where real rows repeat each other a repeat proves nothing, and to refuse it could mean
# to refuse everything: a table of two yes/no columns has four rows to offer. So nothing
# is refused when the typical gap is 0, nor in a table of categories alone of whose rows
# a tenth have a twin.


NATURAL_REPEATS = 0.1
"""Share of real rows with a twin from which on repeats of categories are natural."""


@dataclass(frozen=True, slots=True)
class NewRow:
    """Far enough from every real row and every row kept so far.

    Parameters
    ----------
    min_distance : float
        Nearer than this to another row is a copy; in typical gaps of real rows.
    """

    min_distance: float

    name: ClassVar[str] = "diversity"

    def passes(self, candidates: Table, context: GateContext) -> BoolArray:
        """Return whether each row is new to the real and the kept ones."""
        least = self.min_distance * _ruler(context.real).gap
        return np.asarray(_distance(candidates, context) >= least)

    def firsts(self, candidates: Table, context: GateContext) -> BoolArray:
        """Return which rows are new to the rows before them.

        Of a pair that is too near the later one goes.  A row that goes takes no other
        with it.
        """
        ruler = _ruler(context.real)
        least = self.min_distance * ruler.gap
        gap, _ = nearest(candidates, candidates, ruler.scale, exclude_self=True)
        stays = gap >= least
        # Few are left to be looked at in turn: those that are near to any other.
        for row in np.flatnonzero(~stays):
            before = candidates.take(np.flatnonzero(stays[:row]))
            alone = candidates.take(np.array([row]))
            stays[row] = nearest(alone, before, ruler.scale)[0][0] >= least
        return stays

    def scores(self, candidates: Table, context: GateContext) -> dict[str, FloatArray]:
        """Return each row's distance to the nearest other, in typical gaps.

        Where the typical gap is no unit (see above), in the distance's own.
        """
        unit = _ruler(context.real).gap or 1.0
        return {"distance": _distance(candidates, context) / unit}


@dataclass(frozen=True, slots=True, eq=False)
class _Ruler:
    """What distances of one table are measured with."""

    scale: DistanceScale

    gap: float
    """The typical gap; 0 where no distance says that a row is a copy."""


# Tables never change and are hashed by identity; a run asks about the same few ones
# at every step.
@lru_cache(maxsize=MAX_TABLES)
def _ruler(real: Table) -> _Ruler:
    scale = DistanceScale.of(real)
    gap = typical_gap(real, scale)
    if not np.isfinite(gap) or _repeats_are_natural(real):
        gap = 0.0
    return _Ruler(scale, gap)


def _repeats_are_natural(real: Table) -> bool:
    if len(real.schema.numeric):
        return False
    _, group, size = np.unique(
        real.categorical, axis=0, return_inverse=True, return_counts=True
    )
    has_twin = size[group.ravel()] > 1
    return bool(has_twin.mean() >= NATURAL_REPEATS)


def _distance(candidates: Table, context: GateContext) -> FloatArray:
    scale = _ruler(context.real).scale
    # An infinite number is near nothing; to refuse it is the types gate's business.
    with np.errstate(invalid="ignore", over="ignore"):
        to_real, _ = nearest(candidates, context.real, scale)
        to_kept, _ = nearest(candidates, context.kept, scale)
    return np.nan_to_num(np.minimum(to_real, to_kept), nan=np.inf, posinf=np.inf)


# ---- The same of a table of which a sample is learned: distances to all of its rows
# would take too long, and what is exactly one of them is found by a number of 64 bits.


@dataclass(frozen=True, slots=True, eq=False)
class NoCopy:
    """Equal to no real row, whether it was learned or not; targets take no part."""

    keys: NDArray[np.uint64]
    """Of all real rows, ascending; none where repeats are natural."""

    name: ClassVar[str] = "diversity"

    @classmethod
    def of(cls, real: Table) -> NoCopy:
        """Remember every row of a table, 8 bytes of each."""
        keys, size = np.unique(row_keys(real), return_counts=True)
        n_twins = int(size[size > 1].sum())
        return cls(keys[:0] if n_twins >= NATURAL_REPEATS * len(real) else keys)

    def passes(self, candidates: Table, context: GateContext) -> BoolArray:
        """Return whether each row differs from all real ones."""
        del context  # knows of a sample
        keys = row_keys(candidates)
        place = np.searchsorted(self.keys, keys)
        known = np.append(self.keys, np.uint64(0))[place] == keys
        return np.asarray(~(known & (place < len(self.keys))))


def row_keys(table: Table) -> NDArray[np.uint64]:
    """Return a number for each row that rows of equal cells and holes share.

    Identifiers are left out, as they are of copies.  That two other rows share one of
    2**64 numbers is next to impossible.
    """
    keys = np.zeros(len(table), dtype=np.uint64)
    for index, column in enumerate(table.schema.features):
        if column.kind is Kind.IDENTIFIER:
            continue
        hole = table.missing[:, index]
        cells = table.cells[index]
        wide = np.float64 if cells.dtype.kind == "f" else np.int64
        # Added to 0, so that -0.0 is 0.0; what lies under a hole is no part of a row.
        bits = np.where(hole > 0, 0, cells).astype(wide) + wide(0)
        keys = _mixed(keys ^ _mixed(bits.view(np.uint64))) + hole.astype(np.uint64)
    return _mixed(keys)


def _mixed(number: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return numbers of which every bit depends on every bit (splitmix64)."""
    number = number + np.uint64(0x9E3779B97F4A7C15)
    number = (number ^ (number >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    number = (number ^ (number >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return number ^ (number >> np.uint64(31))


# ---- The gate that asks whether someone who has not seen its anchor believes a row.
#
# The prediction is the caller's: it must come from an evaluator that has seen neither
# the anchor of a row nor the row.  In-sample, every real label looks plausible.


_ROUNDING = 1e-9
"""So that 0.6 against 0.5 is a margin of 0.1, which floats deny."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plausible:
    """A label that is likely and ahead of the others; a residual as real rows have.

    Parameters
    ----------
    min_probability : float
        Least probability of a row's own label; the paper's p_min.
    min_margin : float
        How far its own label must be ahead of the likeliest other.
    residual_percentile : float
        Regression: percentile of the real rows' out-of-fold residual magnitudes that
        a row's own may not exceed.
    """

    min_probability: float
    min_margin: float
    residual_percentile: float

    name: ClassVar[str] = "plausibility"
    needs_prediction: ClassVar[bool] = True

    def passes(self, candidates: Table, context: GateContext) -> BoolArray:
        """Return whether the evaluator finds each row plausible; NaN is not."""
        if candidates.schema.target is None:
            return np.ones(len(candidates), dtype=np.bool_)
        prediction = _prediction(context)
        classes = _classes(prediction)
        if classes is None:
            limit = _largest_residual(context, self.residual_percentile)
            return np.asarray(_residuals(prediction, candidates, context) <= limit)
        likely = classes.of_label(candidates)
        ahead = likely - _next_best(classes, candidates)
        fine = likely >= self.min_probability - _ROUNDING
        return np.asarray(fine & (ahead >= self.min_margin - _ROUNDING))

    def scores(self, candidates: Table, context: GateContext) -> dict[str, FloatArray]:
        """Return the probability of each row's label, or its residual magnitude."""
        if candidates.schema.target is None:
            return {}
        prediction = _prediction(context)
        classes = _classes(prediction)
        if classes is None:
            return {"residual": _residuals(prediction, candidates, context)}
        return {"plausibility": classes.of_label(candidates)}


def _prediction(context: GateContext) -> Prediction:
    if context.prediction is None:
        raise UserInputError(
            "The plausibility gate was given no prediction. Pass one to GateContext, "
            "by an evaluator that has not seen the candidates' anchors, or leave the "
            "gate out with GateConfig(plausibility=False)."
        )
    return context.prediction


def _classes(prediction: Prediction) -> ClassPrediction | None:
    """Return the probabilities, of a panel the averaged ones; None for values."""
    mixture = getattr(prediction, "mixture", prediction)
    return mixture if isinstance(mixture, ClassPrediction) else None


def _next_best(classes: ClassPrediction, candidates: Table) -> FloatArray:
    others = classes.probabilities.copy()
    others[np.arange(len(others)), candidates.target.astype(np.int64)] = 0.0
    return np.asarray(others.max(axis=1, initial=0.0))


def _residuals(
    prediction: Prediction, candidates: Table, context: GateContext
) -> FloatArray:
    return prediction.in_unit_of(context.real).hardness(candidates)


def _largest_residual(context: GateContext, percentile: float) -> float:
    if context.residuals is None or not np.isfinite(context.residuals).any():
        raise UserInputError(
            "The plausibility gate of a regression target was given no residuals of "
            "real rows. Pass their out-of-fold magnitudes, standardised, as "
            "GateContext(residuals=...)."
        )
    known = context.residuals[np.isfinite(context.residuals)]
    return float(np.percentile(known, percentile))
