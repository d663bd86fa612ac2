"""SPADA: columns drawn one after the other, each given only what it depends on.

Yang, Zhang, Prenkaj and Kasneci, "Doubling your data in minutes: ultra-fast tabular
data generation via LLM-induced dependency graphs", 2025.  Written from the paper.  The
graph comes from the rows or from the user, where the original asks a language model.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from tabtap.compare.methods.joint import joined, parted, whole_rows
from tabtap.compare.methods.spada_flow import Flows, FlowSettings, fit_flows
from tabtap.compare.methods.spada_graph import (
    Parents,
    find_parents,
    generation_order,
    given_parents,
)
from tabtap.compare.methods.spada_kernel import Kernel
from tabtap.errors import bad_setting
from tabtap.stopwatch import Stopwatch
from tabtap.table.schema import BoolArray, FloatArray, Schema
from tabtap.table.table import NumberScale, Table

_MOST_LEVELS = 16
"""Levels of a parent that a flow tells apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SPADA:
    """Walk a sparse graph of columns; draw each one given its parents.

    Numbers come from a conditional normalising flow, or from real numbers of like
    parents with noise; categories, and whether a number is missing, from real rows of
    like parents.  Numbers stay within the real range.  The target is one more column.

    Notes
    -----
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

    def __post_init__(self) -> None:
        if self.numbers not in ("flow", "kde"):
            must = "be 'flow' or 'kde'"
            raise bad_setting("numbers", self.numbers, must, "Try 'flow'.")
        if self.max_parents < 0:
            must = "not be negative"
            raise bad_setting("max_parents", self.max_parents, must, "Try 3.")

    @property
    def name(self) -> str:
        """The name it goes by in tables."""
        return "SPADA"

    def make(
        self, train: Table, n: int, rng: np.random.Generator, watch: Stopwatch
    ) -> Table:
        """Return ``n`` rows, the target drawn where the graph has it."""
        joint = joined(train)
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
            return parted(whole_rows(joint.schema, numbers, codes), train)

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
                often = levels[np.argsort(-counts, kind="stable")][:_MOST_LEVELS]
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
        place = int(real.is_number[:position].sum())
        numbers = flows.sample(place, real.context(drawn, parents), rng)
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
