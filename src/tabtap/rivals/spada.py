"""SPADA: columns drawn one after the other, each given only what it depends on.

Yang, Zhang, Prenkaj and Kasneci, "Doubling your data in minutes: ultra-fast tabular
data generation via LLM-induced dependency graphs", 2025.  Written from the paper.  The
graph comes from the rows or from the user, where the original asks a language model.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np
from scipy.special import ndtri
from scipy.stats import rankdata

from tabtap.errors import UserInputError, bad_setting
from tabtap.rivals.matrices import join_target, split_target, whole_rows
from tabtap.rivals.spada_flow import Flows, FlowSettings, fit_flows
from tabtap.stopwatch import Stopwatch
from tabtap.table.schema import BoolArray, FloatArray, IntArray, Schema
from tabtap.table.table import NumberScale, Table

_MOST_FLOW_LEVELS = 16
"""Levels of a parent that a flow tells apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SPADA:
    """Walk a sparse graph of columns; draw each one given its parents.

    Numbers come from a conditional normalising flow, or from real numbers of like
    parents with noise; categories, and whether a number is missing, from real rows of
    like parents.  Numbers stay within the real range.  The target is one more column.

    The authors' release starts from a real row and redraws one root of the graph with
    all that follows from it; here every column is drawn.  Its flow is affine, trained
    for up to 5,000 steps of all rows at rate 5e-4; ours also bends, and held-out rows
    say when it has learned enough.  Where a column has a single parent the release
    predicts its mean without noise; ours is a flow as any other.
    """

    graph: Mapping[Hashable, Sequence[Hashable]] | None = None
    """Names of the columns that a column depends on, by its name; None: found in the
    rows.  A column that is not named depends on none."""

    numbers: Literal["flow", "kde"] = "flow"
    """What numbers are drawn from: a flow or a kernel density estimate."""

    max_parents: int = 3
    """Most parents of a column where the graph is found in the rows."""

    flow: FlowSettings = field(default_factory=FlowSettings)
    """How flows are built and trained."""

    name: ClassVar[str] = "SPADA"

    def __post_init__(self) -> None:
        if self.numbers not in ("flow", "kde"):
            must = "be 'flow' or 'kde'"
            raise bad_setting("numbers", self.numbers, must, "Try 'flow'.")
        if self.max_parents < 0:
            must = "not be negative"
            raise bad_setting("max_parents", self.max_parents, must, "Try 3.")

    def make(
        self, train: Table, n: int, rng: np.random.Generator, watch: Stopwatch
    ) -> Table:
        """Return ``n`` rows, the target drawn where the graph has it."""
        joint = join_target(train)
        with watch.running("fit"):
            names = [column.name for column in joint.schema.features]
            parents = self._parents(joint, train.schema, names)
            order = generation_order(parents, names)
            scale = NumberScale.of(joint.numeric)
            real = _Cells.of(joint, scale)
            flows = self._flows(real, parents, rng) if self.numbers == "flow" else None
        with watch.running("sample"):
            drawn = np.zeros((n, len(names)))
            for position in order:
                drawn[:, position] = _draw(
                    real, parents[position], position, drawn, flows, rng
                )
            numbers = _inside(
                scale.restore(drawn[:, joint.schema.numeric]), joint.numeric
            )
            codes = drawn[:, joint.schema.categorical].astype(np.int32)
            return split_target(whole_rows(joint.schema, numbers, codes), train)

    def _parents(
        self, joint: Table, schema: Schema, names: Sequence[Hashable]
    ) -> Parents:
        if self.graph is not None:
            return given_parents(names, self.graph)
        first = None if schema.target is None else len(schema.features)
        return find_parents(joint, first, self.max_parents)

    def _flows(
        self, real: _Cells, parents: Parents, rng: np.random.Generator
    ) -> Flows | None:
        numeric = np.flatnonzero(real.is_number)
        if not len(numeric):
            return None
        numbers = real.cells[:, numeric]
        contexts = [real.context(real.cells, parents[one]) for one in numeric]
        return fit_flows(numbers, ~np.isnan(numbers), contexts, self.flow, rng)


@dataclass(frozen=True, slots=True, eq=False)
class _Cells:
    """Real rows, one column for each feature: standardised numbers and codes."""

    cells: FloatArray
    """NaN is a missing number, -1 a missing category."""

    is_number: BoolArray
    is_code: BoolArray

    @classmethod
    def of(cls, joint: Table, scale: NumberScale) -> _Cells:
        schema = joint.schema
        cells = np.zeros((len(joint), len(schema.features)))
        cells[:, schema.numeric] = scale.standardise(joint.numeric)
        cells[:, schema.categorical] = joint.categorical
        kinds = [column.kind for column in schema.features]
        return cls(
            cells,
            np.array([kind.is_numeric for kind in kinds], dtype=np.bool_),
            np.array([kind.is_categorical for kind in kinds], dtype=np.bool_),
        )

    def context(self, cells: FloatArray, parents: Sequence[int]) -> FloatArray:
        """Return what a flow is told of the parents of some rows."""
        blocks = [np.zeros((len(cells), 0))]
        for parent in parents:
            values, real = cells[:, parent], self.cells[:, parent]
            if self.is_number[parent]:
                blocks.append(np.nan_to_num(values)[:, None])
                if np.isnan(real).any():
                    blocks.append(np.isnan(values)[:, None].astype(np.float64))
            else:
                levels, counts = np.unique(real, return_counts=True)
                often = levels[np.argsort(-counts, kind="stable")][:_MOST_FLOW_LEVELS]
                blocks.append((values[:, None] == often).astype(np.float64))
        return np.hstack(blocks)


def _draw(
    real: _Cells,
    parents: Sequence[int],
    position: int,
    drawn: FloatArray,
    flows: Flows | None,
    rng: np.random.Generator,
) -> FloatArray:
    """Draw one column, given those of its parents that were drawn before."""
    values, chosen = real.cells[:, position], list(parents)
    kernel = Kernel(real.cells[:, chosen], real.is_number[chosen])
    wanted, everyone = drawn[:, chosen], np.ones(len(values), dtype=np.bool_)
    if real.is_code[position]:
        return values[kernel.draw(wanted, everyone, rng)]
    present = ~np.isnan(values)
    if not real.is_number[position] or not present.any():
        return np.full(len(drawn), values[0] if len(values) else 0.0)
    if flows is None:
        numbers = kernel.around(values, wanted, present, rng)
    else:
        flow_index = int(real.is_number[:position].sum())
        numbers = flows.sample(flow_index, real.context(drawn, parents), rng)
    numbers = np.clip(numbers, values[present].min(), values[present].max())
    if present.all():
        return numbers
    hole = ~present[kernel.draw(wanted, everyone, rng)]
    return np.where(hole, np.nan, numbers)


def _inside(numbers: FloatArray, real: FloatArray) -> FloatArray:
    """Return numbers within the real range; scaling them back may round them out."""
    low = np.fmin.reduce(real, axis=0, initial=np.inf)
    high = np.fmax.reduce(real, axis=0, initial=-np.inf)
    return np.asarray(np.minimum(np.maximum(numbers, low), high))


# ---- Which columns a column depends on: a sparse graph without cycles.
#
# SPADA asks a language model for the graph. Here it is found in the rows, or given by
# the user. Columns are put in order, the target first and then whatever depends most on
# one already placed; a column's parents are those before it that improve the BIC of a
# linear model of it. Numbers enter as normal scores of their ranks, categories as
# indicators of their levels.


Parents = tuple[tuple[int, ...], ...]
"""For every column the columns it depends on, by their positions."""

_MOST_PARENT_LEVELS = 8
"""Levels of a category that the search for parents tells apart."""

_MOST_CANDIDATES = 12
"""Columns that are tried as parents of one, those first that fit best alone."""

_RIDGE = 1e-3
"""Share of its variance that no column can have explained."""


def find_parents(joint: Table, first: int | None, most: int) -> Parents:
    """Find at most ``most`` parents of every column of ``join_target(train)``.

    ``first`` is the position of the column that has no parents, the target's; None: the
    one that most depends on the others.
    """
    blocks = [_block(joint, position) for position in range(len(joint.cells))]
    fit = _Fit(blocks, len(joint))
    gains = fit.pairwise()
    start = int(np.argmax(gains.sum(axis=1))) if first is None else first
    order = _strongest_first(gains, start)
    parents: list[tuple[int, ...]] = [()] * len(blocks)
    for n_before, child in enumerate(order):
        before = order[:n_before]
        likely = sorted(before, key=lambda one: -gains[child, one])
        parents[child] = fit.parents(child, likely[:_MOST_CANDIDATES], most)
    return tuple(parents)


def given_parents(
    names: Sequence[Hashable], graph: Mapping[Hashable, Sequence[Hashable]]
) -> Parents:
    """Return the user's graph by positions, or raise what is wrong with it."""
    position_of = {name: position for position, name in enumerate(names)}
    mentioned = [*graph, *(parent for some in graph.values() for parent in some)]
    if unknown := [name for name in mentioned if name not in position_of]:
        raise UserInputError(
            f"The graph names a column {unknown[0]!r} that the table does not have. "
            f"Use names of columns: {', '.join(map(repr, names[:6]))}"
            f"{', ...' if len(names) > 6 else '.'}"
        )
    return tuple(
        tuple(position_of[parent] for parent in dict.fromkeys(graph.get(name, ())))
        for name in names
    )


def generation_order(parents: Parents, names: Sequence[Hashable]) -> list[int]:
    """Return the columns, each after its parents; raise if the graph has a cycle."""
    order: list[int] = []
    placed: set[int] = set()
    left = list(range(len(parents)))
    while left:
        ready = [child for child in left if placed.issuperset(parents[child])]
        if not ready:
            named = ", ".join(repr(names[child]) for child in left[:4])
            raise UserInputError(
                f"The graph has a cycle among or above {named}. "
                "Remove one of its dependencies."
            )
        order += ready
        placed.update(ready)
        left = [child for child in left if child not in placed]
    return order


def _strongest_first(gains: FloatArray, start: int) -> list[int]:
    """Put columns in order, each time the one that most depends on one placed."""
    best = gains[start].copy()
    best[start] = -np.inf
    order = [start]
    for _ in range(len(gains) - 1):
        child = int(np.argmax(best))
        order.append(child)
        best = np.where(np.isneginf(best), best, np.maximum(best, gains[child]))
        best[child] = -np.inf
    return order


class _Fit:
    """Linear models of columns given others, from one matrix of correlations."""

    def __init__(self, blocks: Sequence[FloatArray], n_rows: int) -> None:
        joint = np.hstack([*blocks, np.zeros((n_rows, 0))])
        ends = np.cumsum([block.shape[1] for block in blocks])
        self._n_rows = n_rows
        self._columns: list[IntArray] = [
            np.arange(end - block.shape[1], end)
            for block, end in zip(blocks, ends, strict=True)
        ]
        self._covariance = joint.T @ joint / n_rows
        self._covariance[np.diag_indices_from(self._covariance)] += _RIDGE

    def gain(self, child: int, parents: Sequence[int], known: Sequence[int]) -> float:
        """Return how much log-likelihood, less its price, parents bring."""
        own = self._columns[child]
        more = sum(len(self._columns[one]) for one in parents)
        if len(own) == 0 or more == 0:
            return 0.0
        price = 0.5 * math.log(self._n_rows) * len(own) * more
        unexplained = self._log_variance(child, (*known, *parents))
        fall = self._log_variance(child, known) - unexplained
        return 0.5 * self._n_rows * fall - price

    def pairwise(self) -> FloatArray:
        """Return what every column brings for every other one; both ways the same."""
        n_columns = len(self._columns)
        gains = np.zeros((n_columns, n_columns))
        sizes = np.array([len(columns) for columns in self._columns])
        for child in range(n_columns):
            for parent in range(child):
                if sizes[child] > 1 or sizes[parent] > 1:
                    gain = self.gain(child, (parent,), ())
                    gains[child, parent] = gains[parent, child] = gain
        # Single numbers, of which there may be hundreds, all at once.
        single = np.flatnonzero(sizes == 1)
        chosen = np.array([self._columns[one][0] for one in single], dtype=np.int64)
        common = self._covariance[np.ix_(chosen, chosen)]
        own = np.diag(common)
        left = own[:, None] - common**2 / own + _RIDGE
        np.fill_diagonal(left, 1.0)
        fall = np.log(own + _RIDGE)[:, None] - np.log(left)
        price = 0.5 * math.log(self._n_rows)
        gains[np.ix_(single, single)] = 0.5 * self._n_rows * fall - price
        np.fill_diagonal(gains, 0.0)
        return gains

    def parents(
        self, child: int, candidates: Sequence[int], most: int
    ) -> tuple[int, ...]:
        """Add the best candidate again and again, as long as the BIC gains."""
        chosen: tuple[int, ...] = ()
        left = list(candidates)
        while left and len(chosen) < most:
            gains = [self.gain(child, (one,), chosen) for one in left]
            best = int(np.argmax(gains))
            if gains[best] <= 0:
                break
            chosen = (*chosen, left.pop(best))
        return chosen

    def _log_variance(self, child: int, given: Sequence[int]) -> float:
        own, all_of = self._columns[child], self._covariance
        rest = all_of[np.ix_(own, own)]
        if given:
            used = np.concatenate([self._columns[one] for one in given])
            cross = all_of[np.ix_(used, own)]
            rest = rest - cross.T @ np.linalg.solve(all_of[np.ix_(used, used)], cross)
        floor = _RIDGE * np.eye(len(own))
        return float(np.linalg.slogdet(rest + floor)[1])


def _block(joint: Table, position: int) -> FloatArray:
    """Return a column as standardised numbers, a few for a category; holes are 0."""
    cells, hole = joint.cells[position], joint.missing[:, position] > 0
    kind = joint.schema.features[position].kind
    if kind.is_numeric:
        marks = hole[:, None].astype(np.float64)
        return _standard(np.hstack([_scores(cells, hole)[:, None], marks]))
    if not kind.is_categorical:
        return np.zeros((len(cells), 0))
    codes = np.where(hole, -1, cells)
    levels, counts = np.unique(codes, return_counts=True)
    # One level less than there are: the last follows from the others.
    kept = levels[np.argsort(-counts, kind="stable")][: len(levels) - 1]
    return _standard((codes[:, None] == kept[:_MOST_PARENT_LEVELS]).astype(np.float64))


def _scores(cells: FloatArray, hole: BoolArray) -> FloatArray:
    scores = np.zeros(len(cells))
    if len(seen := cells[~hole]):
        scores[~hole] = ndtri((rankdata(seen) - 0.5) / len(seen))
    return scores


def _standard(block: FloatArray) -> FloatArray:
    block = block - block.mean(axis=0)
    spread = block.std(axis=0)
    return np.asarray((block / np.where(spread > 0, spread, 1.0))[:, spread > 0])


# ---- Draw the row of a table that a new row's cell is taken from, or drawn around.
#
# A real row counts the more, the nearer its parents are to the new row's: by a Gaussian
# kernel in their numbers, and by whether their categories are the same.


_MISMATCH = 0.02
"""What a row counts for each category in which it differs."""

_AT_ONCE = 512
"""New rows that are compared with all real ones at once."""


@dataclass(frozen=True, slots=True, eq=False)
class Kernel:
    """Real rows as one column's parents see them."""

    parents: FloatArray
    """Shape (n_rows, n_parents): standardised numbers, NaN where missing, and codes."""

    is_number: BoolArray
    """Which of the parents are numbers."""

    @property
    def bandwidth(self) -> float:
        """Silverman's, for so many numbers in units of their deviation."""
        n_numbers = int(self.is_number.sum())
        scale = (4 / (n_numbers + 2)) ** (1 / (n_numbers + 4))
        return float(scale * len(self.parents) ** (-1 / (n_numbers + 4)))

    def draw(
        self, wanted: FloatArray, usable: BoolArray, rng: np.random.Generator
    ) -> IntArray:
        """Draw one of the usable real rows for each new row, by the parents of both.

        ``wanted``, of shape (n_new, n_parents), holds the parents of the new rows; at
        least one real row must be usable.
        """
        luck = rng.random(len(wanted))
        drawn = [
            _pick(self.weights(wanted[part], usable), luck[part])
            for part in _parts(len(wanted))
        ]
        return np.concatenate([np.zeros(0, dtype=np.int64), *drawn])

    def around(
        self,
        values: FloatArray,
        wanted: FloatArray,
        usable: BoolArray,
        rng: np.random.Generator,
    ) -> FloatArray:
        """Draw a number for each new row: a real one of its like, and noise.

        The noise is Silverman's bandwidth of the numbers that count.
        """
        row = self.draw(wanted, usable, rng)
        filled = np.where(usable, values, 0.0)
        width = [np.zeros(0)]
        for part in _parts(len(wanted)):
            weights = self.weights(wanted[part], usable)
            n_like = 1 / (weights**2).sum(axis=1)
            mean = weights @ filled
            spread = np.sqrt(np.maximum(weights @ filled**2 - mean**2, 0.0))
            width.append(1.06 * spread * n_like**-0.2)
        return filled[row] + np.concatenate(width) * rng.normal(size=len(wanted))

    def weights(self, wanted: FloatArray, usable: BoolArray) -> FloatArray:
        """Return how much each real row counts for each new one; sums are 1."""
        logs = np.where(usable, 0.0, -np.inf)[None, :].repeat(len(wanted), axis=0)
        for column, is_number in enumerate(self.is_number):
            new, real = wanted[:, column][:, None], self.parents[:, column][None, :]
            if is_number:
                distance = (new - real) / self.bandwidth
                # A hole is like a hole, and like nothing else.
                one, both = (
                    np.isnan(new) ^ np.isnan(real),
                    np.isnan(new) & np.isnan(real),
                )
                term = np.where(one, np.log(_MISMATCH), -0.5 * distance**2)
                logs += np.where(both, 0.0, term)
            else:
                logs += np.where(new == real, 0.0, np.log(_MISMATCH))
        logs -= logs.max(axis=1, keepdims=True)
        weights = np.exp(logs)
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _pick(weights: FloatArray, luck: FloatArray) -> IntArray:
    upto = np.cumsum(weights, axis=1)
    # Never beyond the last row that counts, whatever the sum was rounded to.
    threshold = luck[:, None] * upto[:, -1:]
    return np.asarray((upto <= threshold).sum(axis=1))


def _parts(n_rows: int) -> list[slice]:
    starts = range(0, n_rows, _AT_ONCE)
    return [slice(start, start + _AT_ONCE) for start in starts]
