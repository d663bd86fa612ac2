"""A table as the network sees it, numbers and tokens, and back.

Numbers are the numeric columns and, in regression, the target as the last one.  It is
given clean, as a class is (DECISIONS.md 41), except where kept cells are overwritten:
there its bin is given.
Tokens are the groups (below).  The *code matrix* behind them has the
categorical columns first, then the state of every numeric column: a common number,
a hole, or one of the values it piles up on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tabtap.config import DiffusionConfig
from tabtap.diffusion.scaling import HOLE, Scaling, bandwidth_of, fold_into
from tabtap.table.schema import BoolArray, CodeArray, FloatArray, IntArray, Kind, Schema
from tabtap.table.table import Table
from tabtap.table.vocabulary import MISSING, Vocabulary

_MOST_TARGETS = 1000
"""So many of the training rows' targets tell how they are spread."""


class Cells(NamedTuple):
    """Rows as the network sees them."""

    numbers: NDArray[np.float32]
    """Shape (n_rows, n_numbers); 0 where missing."""

    observed: BoolArray
    """Whether there is a number at all."""

    tokens: IntArray
    """Shape (n_rows, n_groups)."""

    condition: IntArray
    """What is given beside the cells: a class, a target bin, or nothing (0)."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The sizes the network is built for; the same for all members of a stack."""

    n_numbers: int

    group_sizes: tuple[int, ...]
    """Tokens of each group."""

    n_states: int
    """How many of the groups, the last ones, are states of numbers."""

    n_conditions: int

    target_is_given: bool = False
    """Whether the last number is a target, known clean at every step."""


@dataclass(frozen=True, slots=True, eq=False)
class Encoding:
    """Everything fitted on one training table; nothing of it has seen other rows."""

    schema: Schema
    scaling: Scaling
    groups: tuple[TokenGroup, ...]

    target_low: FloatArray
    target_high: FloatArray
    """Smallest and largest real target of each bin; empty unless in regression."""

    weights: FloatArray
    """Share of the training rows that each class or target bin has."""

    target_bandwidth: FloatArray
    """One number: how far a target is moved when it is drawn anew.  Empty unless a
    regression target is given as it is."""

    targets: FloatArray
    """Regression targets of the training rows, ascending; of many rows only some."""

    @property
    def has_target_number(self) -> bool:
        """Whether the target is a number, the last of the row's."""
        return (
            self.schema.target is not None and self.schema.target.task == "regression"
        )

    @property
    def target_is_given(self) -> bool:
        """Whether a regression target is known to the network as it is."""
        return len(self.target_bandwidth) > 0

    def cells(self, table: Table) -> Cells:
        """Return a table's rows as the network sees them."""
        numbers = self.scaling.encode(numbers_of(table))
        observed = ~np.isnan(numbers)
        codes = _codes(table, self.scaling)
        tokens = [group.tokens(codes) for group in self.groups]
        return Cells(
            np.where(observed, numbers, 0.0).astype(np.float32),
            observed,
            np.stack(tokens, axis=1)
            if tokens
            else np.zeros((len(table), 0), dtype=np.int64),
            np.zeros_like(table.condition) if self.target_is_given else table.condition,
        )

    def free(
        self, regenerate: BoolArray, *, target: bool
    ) -> tuple[BoolArray, BoolArray]:
        """Return which numbers and which tokens a mask over the features sets free.

        A token is free as soon as one of its columns is; ``allowed`` then leaves it the
        values that agree with the columns that stay.
        """
        numbers = regenerate[:, self.schema.numeric]
        codes = _code_mask(regenerate, self.schema)
        if self.has_target_number:
            extra = np.full((len(regenerate), 1), target)
            numbers = np.concatenate([numbers, extra], axis=1)
        tokens = [codes[:, group.columns].any(axis=1) for group in self.groups]
        shape = (len(regenerate), len(self.groups))
        return numbers, np.array(tokens, dtype=np.bool_).T.reshape(shape)

    def allowed(
        self, table: Table, regenerate: BoolArray, *, holes: bool, width: int
    ) -> BoolArray:
        """Return, padded to ``width``, which tokens each group of each row may get."""
        codes, chosen = _codes(table, self.scaling), _code_mask(regenerate, self.schema)
        allowed = np.zeros((len(table), len(self.groups), width), dtype=np.bool_)
        for group_index, group in enumerate(self.groups):
            fits = group.allowed(codes, chosen, holes=holes)
            allowed[:, group_index, : group.n_tokens] = fits
        return allowed

    def decode(
        self,
        anchors: Table,
        regenerate: BoolArray,
        drawn: tuple[FloatArray, IntArray],
        uniforms: FloatArray,
    ) -> Table:
        """Return the anchors with drawn cells in place of the regenerated ones."""
        codes = _codes(anchors, self.scaling)
        chosen = _code_mask(regenerate, self.schema)
        n_categorical = len(self.schema.categorical)
        # A number of a column that has no states is a common one, whatever it was.
        codes[:, n_categorical:][chosen[:, n_categorical:]] = 0
        for group_index, group in enumerate(self.groups):
            rows = np.flatnonzero(chosen[:, group.columns].any(axis=1))
            codes[np.ix_(rows, group.columns)] = group.codes(
                drawn[1][rows, group_index], uniforms[rows, group_index]
            )
        states = np.zeros(drawn[0].shape, dtype=np.int32)
        states[:, : len(self.schema.numeric)] = codes[:, n_categorical:]
        numbers = self.scaling.at_states(self.scaling.decode(drawn[0]), states)
        numbers = numbers[:, : len(self.schema.numeric)]
        return anchors.redrawn(regenerate, numbers, codes[:, :n_categorical])

    def decode_target(self, table: Table, drawn: FloatArray) -> Table:
        """Return the table with its regression target drawn inside each row's bin."""
        values = self.scaling.decode(drawn)[:, -1]
        bins = table.condition
        return table.with_target(
            fold_into(values, self.target_low[bins], self.target_high[bins])
        )


def fit_encodings(
    tables: Sequence[Table], config: DiffusionConfig
) -> tuple[list[Encoding], Layout]:
    """Fit one encoding per training table, with one layout for all of them.

    Scales, spikes, vocabularies and patterns come from each table alone; only *which*
    columns form a group is decided on all of them together.
    """
    schema = tables[0].schema
    scalings = [Scaling.of(numbers_of(table), config) for table in tables]
    codes = [
        _codes(table, scaling) for table, scaling in zip(tables, scalings, strict=True)
    ]
    together = np.concatenate(codes)
    n_categorical = len(schema.categorical)
    flags = flag_groups(together, _is_flag(together, schema))
    states = [n_categorical + g for g in state_groups(together[:, n_categorical:])]
    encodings = [
        _fit(table, own, scaling, (flags, states), config)
        for table, own, scaling in zip(tables, codes, scalings, strict=True)
    ]
    return encodings, layout_of(encodings)


def layout_of(encodings: Sequence[Encoding]) -> Layout:
    """Return the sizes that one network for several encodings is built for."""
    first = encodings[0]
    schema, sizes = first.schema, [[g.n_tokens for g in e.groups] for e in encodings]
    states = [isinstance(g, PatternGroup) and g.are_states for g in first.groups]
    return Layout(
        n_numbers=len(schema.numeric) + first.has_target_number,
        group_sizes=tuple(max(size) for size in zip(*sizes, strict=True)),
        n_states=sum(states),
        n_conditions=1 if first.target_is_given else schema.n_conditions,
        target_is_given=first.target_is_given,
    )


def _fit(
    table: Table,
    codes: CodeArray,
    scaling: Scaling,
    joint: tuple[Sequence[IntArray], Sequence[IntArray]],
    config: DiffusionConfig,
) -> Encoding:
    schema, (flags, states) = table.schema, joint
    grouped = {int(j) for group in flags for j in group}
    groups: list[TokenGroup] = []
    for j, position in enumerate(schema.categorical):
        if j not in grouped:
            n_levels = len(schema.features[position].levels)
            words = Vocabulary.of(codes[:, j], n_levels, config.max_levels)
            groups.append(SingleGroup(np.array([j]), words))
    groups += [PatternGroup.of(codes, g, are_states=False) for g in flags]
    groups += [PatternGroup.of(codes, g, are_states=True) for g in states]
    counts = np.bincount(table.condition, minlength=schema.n_conditions)
    low = high = bandwidth = targets = np.zeros(0)
    if schema.target is not None and schema.target.task == "regression":
        low, high = _bin_ranges(table)
        if config.conditioning == "clean":
            bandwidth = np.array([bandwidth_of(len(table), len(scaling.low), config)])
            targets = _at_even_ranks(table.target_values, _MOST_TARGETS)
    return Encoding(
        schema,
        scaling,
        tuple(groups),
        low,
        high,
        counts / counts.sum(),
        bandwidth,
        targets,
    )


def _at_even_ranks(values: FloatArray, most: int) -> FloatArray:
    ranks = np.linspace(0, len(values) - 1, min(len(values), most)).round()
    return np.sort(values)[ranks.astype(np.int64)]


def numbers_of(table: Table) -> FloatArray:
    """Return the numeric columns and, in regression, the target as the last one."""
    target = table.schema.target
    if target is None or target.task == "classification":
        return table.numeric
    return np.column_stack([table.numeric, table.target_values])


def _codes(table: Table, scaling: Scaling) -> CodeArray:
    # The target is asked for: it has no state of its own.
    states = scaling.states(numbers_of(table))[:, : len(table.schema.numeric)]
    return np.concatenate([table.categorical, states], axis=1)


def _code_mask(regenerate: BoolArray, schema: Schema) -> BoolArray:
    positions = np.concatenate([schema.categorical, schema.numeric])
    return np.asarray(regenerate[:, positions])


def _is_flag(codes: CodeArray, schema: Schema) -> BoolArray:
    is_flag = np.zeros(codes.shape[1], dtype=np.bool_)
    for j, position in enumerate(schema.categorical):
        column = schema.features[position]
        truth = column.kind is Kind.BOOLEAN and len(column.levels) == 2
        is_flag[j] = truth or column.levels == (0, 1)
    return is_flag


def _bin_ranges(table: Table) -> tuple[FloatArray, FloatArray]:
    n_bins, values = table.schema.n_conditions, table.target_values
    low, high = np.full(n_bins, np.inf), np.full(n_bins, -np.inf)
    np.minimum.at(low, table.condition, values)
    np.maximum.at(high, table.condition, values)
    return low, high


# ---- Which cells are drawn as one token: single categories, flag groups, shared
# states.
#
# Three kinds of group, one interface. A category is a token by itself. Flags of which
# no two are ever on together (a one-hot group) are one token, whose values are the
# patterns seen: flags drawn one by one break the pattern in some rows, and with it the
# link to the label. Numeric columns that are missing, or at a value they pile up on, in
# the same rows share one token that says so.


class TokenGroup(Protocol):
    """One or more columns of the code matrix, drawn as one token."""

    @property
    def columns(self) -> IntArray:
        """Columns of the code matrix."""

    @property
    def n_tokens(self) -> int:
        """Number of tokens, those that are never generated included."""

    def tokens(self, codes: CodeArray) -> IntArray:
        """Return the token of each row of the code matrix."""

    def codes(self, tokens: IntArray, uniforms: FloatArray) -> CodeArray:
        """Return codes of shape (n_rows, n_columns) for generated tokens."""

    def allowed(
        self, codes: CodeArray, regenerate: BoolArray, *, holes: bool
    ) -> BoolArray:
        """Return which tokens each row may get, given the cells that stay."""


@dataclass(frozen=True, slots=True, eq=False)
class SingleGroup:
    """One category, with its capped vocabulary."""

    columns: IntArray
    vocabulary: Vocabulary

    @property
    def n_tokens(self) -> int:
        """Number of tokens, the unknown one included."""
        return self.vocabulary.n_tokens

    def tokens(self, codes: CodeArray) -> IntArray:
        """Return the token of each row."""
        return self.vocabulary.tokens(codes[:, self.columns[0]])

    def codes(self, tokens: IntArray, uniforms: FloatArray) -> CodeArray:
        """Return codes; a rare token becomes a real rare level."""
        return self.vocabulary.levels(tokens, uniforms)[:, None]

    def allowed(
        self, codes: CodeArray, regenerate: BoolArray, *, holes: bool
    ) -> BoolArray:
        """Allow every token seen in training, and a hole only if holes are wanted."""
        del regenerate
        allowed = self.vocabulary.can_generate.copy()
        if not holes and self.vocabulary.missing_token is not None:
            allowed[self.vocabulary.missing_token] = False
        return np.broadcast_to(allowed, (len(codes), self.n_tokens))


@dataclass(frozen=True, slots=True, eq=False)
class PatternGroup:
    """Several columns whose joint patterns are few; token k is pattern k."""

    columns: IntArray

    patterns: CodeArray
    """Patterns seen in training, shape (n_patterns, n_columns)."""

    are_states: bool
    """Whether these are states of numbers, so that a 1 is a hole."""

    @classmethod
    def of(
        cls, codes: CodeArray, columns: IntArray, *, are_states: bool
    ) -> PatternGroup:
        """Return the group of the training rows."""
        return cls(columns, np.unique(codes[:, columns], axis=0), are_states)

    @property
    def n_tokens(self) -> int:
        """Number of tokens: the patterns, and one for what was never seen."""
        return len(self.patterns) + 1

    def tokens(self, codes: CodeArray) -> IntArray:
        """Return the pattern of each row; the last token if it was never seen."""
        rows = codes[:, self.columns]
        token = np.full(len(rows), len(self.patterns), dtype=np.int64)
        for k, pattern in enumerate(self.patterns):
            token[(rows == pattern).all(axis=1)] = k
        return token

    def codes(self, tokens: IntArray, uniforms: FloatArray) -> CodeArray:
        """Return the pattern of each token."""
        del uniforms
        return np.asarray(self.patterns[tokens])

    def allowed(
        self, codes: CodeArray, regenerate: BoolArray, *, holes: bool
    ) -> BoolArray:
        """Allow the patterns that agree with the cells that stay.

        Where none agrees, every pattern is allowed that makes no unwanted hole, or
        every pattern if all do: kept cells stay in any case.
        """
        rows, chosen = codes[:, self.columns], regenerate[:, self.columns]
        fits = np.stack(
            [(chosen | (rows == pattern)).all(axis=1) for pattern in self.patterns], 1
        )
        if self.are_states and not holes:
            full = ~(chosen[:, None] & (self.patterns == HOLE)).any(axis=2)
            fits = _first_possible(fits & full, full)
        fits = _first_possible(fits, np.ones_like(fits))
        return np.column_stack([fits, np.zeros(len(rows), dtype=np.bool_)])


def _first_possible(wanted: BoolArray, otherwise: BoolArray) -> BoolArray:
    """Return each row of the first that allows anything, else that of the second."""
    return np.where(wanted.any(axis=1, keepdims=True), wanted, otherwise)


def flag_groups(codes: CodeArray, is_flag: BoolArray) -> list[IntArray]:
    """Find sets of flags, codes that are 0 or 1, of which at most one is ever on.

    Returns the columns of each set.  They are taken in order, each joining the first
    set whose members it never meets.  A set of one is left out, and so is a flag that
    is missing anywhere or never changes.

    Examples
    --------
    >>> codes = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1]], dtype=np.int32)
    >>> flag_groups(codes, np.array([True, True, True]))
    [array([0, 1, 2])]
    """
    groups: list[tuple[list[int], BoolArray]] = []
    for j in np.flatnonzero(is_flag):
        column = codes[:, j]
        if (column == MISSING).any() or np.ptp(column) == 0:
            continue
        for members, any_on in groups:
            if not (any_on & (column == 1)).any():
                members.append(int(j))
                any_on |= column == 1
                break
        else:
            groups.append(([int(j)], column == 1))
    return [np.array(members) for members, _ in groups if len(members) > 1]


def state_groups(states: CodeArray) -> list[IntArray]:
    """Group the columns whose states agree in all rows; skip those without states."""
    by_rows: dict[bytes, list[int]] = {}
    for j in np.flatnonzero(states.any(axis=0)):
        by_rows.setdefault(states[:, j].tobytes(), []).append(int(j))
    return [np.array(members) for members in by_rows.values()]
