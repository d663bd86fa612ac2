"""Proposals: an action becomes candidate rows, near real ones and with their label.

Equations 11 and 12 of the paper: anchors say where to start, columns and masks what is
redrawn, and ``LineageProposer`` asks the backbones for it.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from tabtap.config import ProposalConfig
from tabtap.domain import Action, Candidates, Lineages, Template
from tabtap.errors import SmallerBatchWarning, UserInputError
from tabtap.table.computed import Formula, compute, is_computed, with_sources
from tabtap.table.schema import BoolArray, FloatArray, IntArray, Kind, Schema
from tabtap.table.table import NO_ROW, Table, ancestor_rows, concat
from tabtap.table.targets import bin_edges

__all__ = [
    "AnchorPool",
    "InpainterStack",
    "LineageProposer",
    "choose_anchors",
    "draw_masks",
    "free_columns",
    "important_by_lineage",
    "important_columns",
]


# ---- The proposal kernel: from actions to candidate rows, for every lineage at once.
#
# A lineage starts from rows it has seen or made and is redrawn by its own backbone.  Of
# its unseen fold only two things know: the hardness of anchors and the policy that all
# lineages share (DECISIONS.md, 26).


@dataclass(frozen=True, slots=True, eq=False)
class _Plan:
    """What one lineage is to draw for one action."""

    anchors: IntArray
    """Row numbers in the pool."""

    regenerate: BoolArray
    seeds: SeedArray

    targets: IntArray
    """Row numbers in the pool, whose targets the rows are drawn for: the anchors
    themselves, or others."""


class LineageProposer:
    """Draws each action's candidates from every lineage, in one batch.

    ``stack`` has one backbone for each lineage, in the order of ``lineages.members``;
    ``important`` the columns that the conservative template keeps, of each lineage.
    ``carried`` are identifiers that a row passes on to its descendants, such as whose
    row it is; the others are emptied.  ``cross_share`` is that of ``TeachingConfig``.
    """

    def __init__(
        self,
        stack: InpainterStack,
        lineages: Lineages,
        config: ProposalConfig,
        important: Mapping[int, BoolArray],
        carried: Collection[Hashable] = (),
        *,
        cross_share: float = 0.0,
    ) -> None:
        if tuple(stack.unseen_folds) != lineages.members:
            # A backbone that has seen the fold it is to be judged by proves nothing.
            raise UserInputError(
                f"The backbones have not seen folds {list(stack.unseen_folds)}, the "
                f"lineages need {list(lineages.members)}. Fit one backbone for each "
                "lineage, in that order; -1 is the one that has seen all rows."
            )
        self._batches = Batches(stack)
        self._lineages = lineages
        self._config = config
        self._important = important
        self._carried = carried
        self._cross_share = cross_share
        self._computed: tuple[Formula, ...] = ()

    def computing(self, formulas: Sequence[Formula]) -> LineageProposer:
        """Return one that computes some columns from the others instead of drawing."""
        other = copy(self)
        other._computed = tuple(formulas)
        return other

    def propose(
        self,
        real: Table,
        committed: Table,
        hardness: FloatArray,
        actions: Sequence[Action],
        rngs: Sequence[np.random.Generator],
    ) -> list[Candidates]:
        """Draw the candidates of each action, lineage after lineage.

        There are ``candidates_per_step`` rows of each lineage, or none if it knows no
        row of the target; ``step`` is the action's position in the list.  ``real`` is
        in their order, ``committed`` is of all lineages, and
        ``hardness`` of the real rows, NaN where it is not known.

        Equation 12, with anchors and masks drawn independently (equation 11).  What an
        action draws does not depend on the actions beside it, nor one lineage's rows on
        another's.
        """
        pool = AnchorPool.of(real, committed, hardness, self._lineages)
        plans = [
            self._plans(pool, action, rng)
            for action, rng in zip(actions, rngs, strict=True)
        ]
        return self._draw(pool, plans) if plans else []

    def _plans(
        self, pool: AnchorPool, action: Action, rng: np.random.Generator
    ) -> list[_Plan]:
        members = self._lineages.members
        seeds = rng.integers(2**63, size=len(members))
        return [
            self._plan(pool, action, member, np.random.default_rng(seed))
            for member, seed in zip(members, seeds, strict=True)
        ]

    def _plan(
        self, pool: AnchorPool, action: Action, member: int, rng: np.random.Generator
    ) -> _Plan:
        rows = pool.eligible(member, action.target)
        n_rows = self._config.candidates_per_step if len(rows) else 0
        if n_rows:
            share = self._config.hard_share
            rows = rows[choose_anchors(pool.hardness[rows], n_rows, share, rng)]
        schema, important = pool.rows.schema, self._important[member]
        chosen = ~is_computed(len(schema.features), self._computed)
        free = free_columns(schema, action.template, important) & chosen
        always = np.zeros_like(free)
        if self._config.explored == "numbers":
            always = free & ~numeric_columns(schema)
        masks = draw_masks(free & ~always, action.exploration, n_rows, rng) | always
        anchors = rows
        if n_crossed := int(self._cross_share * n_rows):
            # Of these a teacher says what they are: they lie between the targets.
            others = pool.known(member)
            anchors = rows.copy()
            anchors[:n_crossed] = others[
                choose_anchors(pool.hardness[others], n_crossed, 0.0, rng)
            ]
            able = learned_columns(schema) & chosen
            masks[:n_crossed] = draw_masks(able, CROSS_REDRAWN, n_crossed, rng)
        masks = with_sources(masks, self._computed)
        masks[:, self._columns_to_empty(schema)] = True
        seeds = rng.integers(2**64, size=n_rows, dtype=np.uint64)
        return _Plan(anchors, masks, seeds, rows)

    def _columns_to_empty(self, schema: Schema) -> IntArray:
        """Return the identifiers: nobody's name may pass from a parent to a child."""
        columns = [
            index
            for index, column in enumerate(schema.features)
            if column.kind is Kind.IDENTIFIER and column.name not in self._carried
        ]
        return np.asarray(columns, dtype=np.int64)

    def _draw(
        self, pool: AnchorPool, plans: Sequence[Sequence[_Plan]]
    ) -> list[Candidates]:
        """Draw all plans, one row of them per action, one column per lineage."""
        by_member = [*zip(*plans, strict=True)]
        redrawn = [_end_to_end(p.regenerate for p in own) for own in by_member]
        made = self._batches.draw(
            [
                pool.with_targets(
                    _end_to_end(p.anchors for p in own),
                    _end_to_end(p.targets for p in own),
                )
                for own in by_member
            ],
            redrawn,
            [_end_to_end(p.seeds for p in own) for own in by_member],
            redraw_target=self._config.redraw_target,
        )
        made = [
            compute(rows, self._computed, where)
            for rows, where in zip(made, redrawn, strict=True)
        ]
        members = self._lineages.members
        sizes = [[len(plan.anchors) for plan in own] for own in by_member]
        shares = [
            _cut(rows.with_origin(unseen_fold=member), own)
            for member, rows, own in zip(members, made, sizes, strict=True)
        ]
        return [
            Candidates.joined(
                [
                    Candidates(
                        rows[index],
                        plan.regenerate | pool.redrawn_before(plan.anchors),
                        _repeat(index, plan),
                    )
                    for rows, plan in zip(shares, row, strict=True)
                ]
            )
            for index, row in enumerate(plans)
        ]


def _end_to_end(arrays: Iterable[NDArray[Any]]) -> NDArray[Any]:
    return np.concatenate(list(arrays))


def _repeat(index: int, plan: _Plan) -> IntArray:
    return np.full(len(plan.anchors), index, dtype=np.int64)


def _cut(rows: Table, sizes: Sequence[int]) -> list[Table]:
    """Return consecutive parts of a table, of the sizes given."""
    parts = np.split(np.arange(len(rows)), np.cumsum(sizes)[:-1])
    return [rows.take(part) for part in parts]


# ---- Drawing in one batch, or in as few as fit into memory.


SeedArray = NDArray[np.uint64]

_SIGNS = ("out of memory", "not enough memory", "can't allocate memory")
"""How torch says that an allocation failed, depending on the device and system."""


class InpainterStack(Protocol):
    """Backbones of several lineages, asked together; ``diffusion`` has one."""

    @property
    def unseen_folds(self) -> tuple[int, ...]:
        """The fold that each member has never seen; -1 if it saw all rows."""

    def inpaint_seeded(
        self,
        anchors: Sequence[Table],
        regenerate: Sequence[BoolArray],
        seeds: Sequence[SeedArray],
        *,
        redraw_target: bool = False,
    ) -> list[Table]:
        """Redraw chosen cells, one table for each member and one seed for each row."""


class Batches:
    """Asks a stack for rows, fewer at a time once they do not fit into memory.

    A row's result depends on its own seed only, so the same rows come out either way.
    """

    def __init__(self, stack: InpainterStack) -> None:
        self._stack = stack
        self._limit: int | None = None

    def draw(
        self,
        anchors: Sequence[Table],
        regenerate: Sequence[BoolArray],
        seeds: Sequence[SeedArray],
        *,
        redraw_target: bool,
    ) -> list[Table]:
        """Redraw chosen cells, one table for each member."""
        longest = max(len(rows) for rows in anchors)
        drawn = [[rows.empty()] for rows in anchors]
        start = 0
        while start < longest:
            size = min(self._limit or longest, longest - start)
            rows = slice(start, start + size)
            try:
                made = self._stack.inpaint_seeded(
                    [part.take(np.arange(len(part))[rows]) for part in anchors],
                    [part[rows] for part in regenerate],
                    [part[rows] for part in seeds],
                    redraw_target=redraw_target,
                )
            except (MemoryError, RuntimeError) as error:
                if size == 1 or not _is_out_of_memory(error):
                    raise
                made = None
            # Tried again out here, where nothing holds on to the failed batch.
            if made is None:
                self._shrink(size)
                continue
            for member, part in enumerate(made):
                drawn[member].append(part)
            start += size
        return [concat(parts) for parts in drawn]

    def _shrink(self, size: int) -> None:
        if self._limit is None:
            warnings.warn(
                f"Drawing {size} rows from each backbone at a time needs more memory "
                "than there is; fewer are drawn at a time, with the same result. For "
                "more speed free some memory, or lower actions_per_batch or "
                "candidates_per_step.",
                SmallerBatchWarning,
                stacklevel=2,
            )
        self._limit = (size + 1) // 2


def _is_out_of_memory(error: Exception) -> bool:
    if isinstance(error, MemoryError):
        return True
    return any(sign in str(error).lower() for sign in _SIGNS)


# ---- Which cells of each candidate are redrawn.


CROSS_REDRAWN = 0.5
"""Share of the cells of a crossed row that are redrawn for the other row's target."""


def free_columns(schema: Schema, template: Template, important: BoolArray) -> BoolArray:
    """Tell which features a template may redraw; constants and identifiers never."""
    able = learned_columns(schema)
    return able if template is Template.EXPLORE else able & ~important


def draw_masks(
    free: BoolArray, exploration: float, n_rows: int, rng: np.random.Generator
) -> BoolArray:
    """Draw the cells that are redrawn, anew for every candidate.

    Shape (n_rows, n_features), True where a cell is redrawn.  ``exploration`` is the
    share of the ``free`` columns that is.  The number in a row is that share to within
    one, and exactly so on average, but at least 1 if any column is free.  p_mask in
    equation 11, as decided in DECISIONS.md, entry 3.

    Examples
    --------
    >>> free = np.array([True, True, False, True, True])
    >>> draw_masks(free, 0.5, 3, np.random.default_rng(0)).sum(axis=1)
    array([2, 2, 2])
    """
    columns = np.flatnonzero(free)
    # Rounded, so that a share of a tenth of ten columns is one, not a bit less.
    wanted = np.round(exploration * len(columns), 9)
    count = np.floor(wanted + rng.random(n_rows)).clip(1, len(columns))
    luck = rng.random((n_rows, len(columns))).argsort(axis=1).argsort(axis=1)
    masks = np.zeros((n_rows, len(free)), dtype=np.bool_)
    masks[:, columns] = luck < count[:, None]
    return masks


# ---- Which rows candidates start from: some by hardness, the others evenly.
#
# Anchors come from the current training table, real and committed rows alike, of which
# a lineage is offered only what it has seen or made itself.


@dataclass(frozen=True, slots=True, eq=False)
class AnchorPool:
    """The training table with the hardness of its rows and who may start from them."""

    rows: Table
    """Real rows, then committed ones."""

    hardness: FloatArray
    """Shape (n_rows,): a committed row has its real ancestor's."""

    condition: IntArray
    """Shape (n_rows,): class code or target bin."""

    ancestor: IntArray
    """Shape (n_rows,): number of the real row each descends from, -1 for none."""

    lineages: Lineages

    @classmethod
    def of(
        cls, real: Table, committed: Table, hardness: FloatArray, lineages: Lineages
    ) -> AnchorPool:
        """Build the pool from ``hardness`` of the real rows."""
        rows = concat([real, committed])
        ancestor = ancestor_rows(real, rows)
        passed_on = _inherit(committed, ancestor[len(real) :], hardness, lineages)
        harder = np.concatenate([hardness, passed_on])
        return cls(rows, harder, rows.condition, ancestor, lineages)

    def eligible(self, member: int, target: int) -> IntArray:
        """Return the numbers of a target's rows that a lineage may start from."""
        known = self.known(member)
        return np.asarray(known[self.condition[known] == target])

    def known(self, member: int) -> IntArray:
        """Return the numbers of all rows that a lineage may start from."""
        n_real = self.lineages.n_real
        made = np.flatnonzero(self.rows.unseen_fold[n_real:] == member) + n_real
        return np.concatenate([self.lineages.seen(member), made])

    def with_targets(self, rows: IntArray, targets: IntArray) -> Table:
        """Return some rows with the targets of others, by their numbers."""
        return replace(self.rows.take(rows), target=self.rows.target[targets])

    def redrawn_before(self, anchors: IntArray) -> BoolArray:
        """Tell which cells of some anchors are not their real ancestor's any more.

        Shape (n_anchors, n_features).  All false for a real row; true all along for a
        committed one without an ancestor.
        """
        ancestor = self.ancestor[anchors]
        now, then = self.rows.take(anchors), self.rows.take(ancestor)
        differs = now.missing != then.missing
        for index, (new, old) in enumerate(zip(now.cells, then.cells, strict=True)):
            differs[:, index] |= (now.missing[:, index] == 0) & (new != old)
        return np.asarray(differs | (ancestor == NO_ROW)[:, None])


def choose_anchors(
    hardness: FloatArray, n_anchors: int, hard_share: float, rng: np.random.Generator
) -> IntArray:
    """Choose rows to start from: a mixture of hard rows and all rows.

    A ``hard_share`` of them is drawn by hardness (larger is harder; NaN where it is not
    known), the others evenly: there no row is used twice before every row was used
    once.  Row numbers come in random order, and repeat when there are fewer rows.

    p_anc in equation 11.  A row's chance in the hard part is proportional to the rank
    of its hardness: ranks have no unit, and one outlier cannot take all anchors.  A row
    of unknown hardness has the mean chance.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> np.bincount(choose_anchors(np.array([0.1, 0.9, 0.5]), 6, 0.0, rng))
    array([2, 2, 2])
    >>> np.bincount(choose_anchors(np.array([0.1, 0.9, 0.5]), 6, 1.0, rng))
    array([1, 3, 2])
    """
    n_hard = int(hard_share * n_anchors + rng.random())
    hard = _spread(_chance(hardness), n_hard, rng)
    even = _spread(np.ones(len(hardness)), n_anchors - n_hard, rng)
    return rng.permutation(np.concatenate([hard, even]))


def _chance(hardness: FloatArray) -> FloatArray:
    known = ~np.isnan(hardness)
    chance = np.full(len(hardness), (known.sum() + 1) / 2)
    chance[known] = rankdata(hardness[known])
    return chance


def _spread(chance: FloatArray, n_draws: int, rng: np.random.Generator) -> IntArray:
    """Draw rows so that each comes as often as its chance says, to within one."""
    order = rng.permutation(len(chance))
    upto = np.cumsum(chance[order])
    ticks = (rng.random() + np.arange(n_draws)) * upto[-1] / max(n_draws, 1)
    index = np.searchsorted(upto, ticks, side="right")
    return np.asarray(order[np.minimum(index, len(chance) - 1)])


def _inherit(
    committed: Table, ancestor: IntArray, hardness: FloatArray, lineages: Lineages
) -> FloatArray:
    """Return the hardness of committed rows: their ancestor's, or the usual one."""
    orphan = ancestor == NO_ROW
    passed_on = np.where(orphan, np.nan, hardness[ancestor])
    for member in lineages.members:
        known = hardness[lineages.seen(member)]
        known = known[np.isfinite(known)]
        if len(known):
            passed_on[orphan & (committed.unseen_fold == member)] = known.mean()
    return passed_on


# ---- Which columns matter most for the target: the conservative template keeps them.
#
# Everything is counted on tables of levels against targets, numbers being cut at their
# quantiles: scikit-learn's neighbour-based estimates take 2 to 3 seconds for 300
# columns and are mostly noise on the few rows that this is for. A column is looked at
# by itself and ties are broken by name, so the order of the columns means nothing.


_MOST_BINS = 8
"""A number is cut into about the cube root of the rows, at most this many bins."""


class _Levels(NamedTuple):
    """The rows as levels, numbered through all columns."""

    codes: IntArray
    """Shape (n_rows, n_columns)."""

    starts: IntArray
    """Shape (n_columns,): the first level of each column."""

    n_levels: int

    def against(self, target: IntArray, n_targets: int) -> FloatArray:
        """Count the rows of each level and target, shape (n_levels, n_targets)."""
        cell = self.codes * n_targets + target[:, None]
        counts = np.bincount(cell.ravel(), minlength=self.n_levels * n_targets)
        return counts.reshape(self.n_levels, n_targets).astype(np.float64)

    def summed(self, values: FloatArray) -> FloatArray:
        """Add up one value per level and target within each column."""
        return np.add.reduceat(values.sum(axis=1), self.starts)


def learned_columns(schema: Schema) -> BoolArray:
    """Tell which features a backbone can redraw: not constants, not identifiers."""
    kinds = [column.kind for column in schema.features]
    return np.array([k.is_numeric or k.is_categorical for k in kinds], dtype=np.bool_)


def numeric_columns(schema: Schema) -> BoolArray:
    """Tell which features are drawn on a scale."""
    kinds = [column.kind for column in schema.features]
    return np.array([kind.is_numeric for kind in kinds], dtype=np.bool_)


def important_by_lineage(
    real: Table, lineages: Lineages, config: ProposalConfig, rng: np.random.Generator
) -> Mapping[int, BoolArray]:
    """Return each lineage's important columns, from the real rows it has seen."""
    members = lineages.members
    seeds = rng.integers(2**63, size=len(members))
    return {
        member: important_columns(
            real.take(lineages.seen(member)), config, np.random.default_rng(seed)
        )
        for member, seed in zip(members, seeds, strict=True)
    }


def important_columns(
    seen: Table, config: ProposalConfig, rng: np.random.Generator
) -> BoolArray:
    """Tell which features the conservative template keeps, judged by the rows ``seen``.

    ``important_share`` of the columns that can be redrawn are important, but never all
    of them; ``n_bootstraps`` is the number of resamples and of shuffles.

    Appendix C.2.3: mutual information with the target and bootstrap stability of
    feature statistics.  The paper does not say how they are combined; here it is the
    mean of the information, relative to the best column's, and the stability.
    """
    able = np.flatnonzero(learned_columns(seen.schema))
    wanted = int(np.floor(config.important_share * len(able) + 0.5))
    wanted = min(wanted, len(able) - 1)
    important = np.zeros(len(seen.schema.features), dtype=np.bool_)
    if wanted < 1:
        return important
    worth = _worth(seen, able, config.n_bootstraps, rng)
    names = np.array([repr(seen.schema.features[position].name) for position in able])
    # Rounded, so that equal columns tie for their names and not for the last bit.
    best_first = np.lexsort((names, -np.round(worth, 9)))
    important[able[best_first[:wanted]]] = True
    return important


def _worth(
    seen: Table, able: IntArray, n_draws: int, rng: np.random.Generator
) -> FloatArray:
    levels = _levels(seen, able)
    target = np.unique(seen.condition, return_inverse=True)[1].astype(np.int64)
    known = information(levels, target)
    # Many levels seem to know much of any target: what they know of a shuffled one.
    chance = [information(levels, rng.permutation(target)) for _ in range(n_draws)]
    known = np.maximum(known - np.mean(chance, axis=0), 0.0)
    if known.max() > 0:
        known = known / known.max()
    return np.asarray(known + stability(levels, target, n_draws, rng)) / 2


def information(levels: _Levels, target: IntArray) -> FloatArray:
    """Return the mutual information of each column and the target, in nats."""
    n_rows, sizes = len(target), np.bincount(target)
    joint = levels.against(target, len(sizes)) / n_rows
    apart = joint.sum(axis=1, keepdims=True) * (sizes / n_rows)
    ratio = np.divide(joint, apart, out=np.ones_like(joint), where=joint > 0)
    # Logarithms of sums of rounded shares can be a hair below the true 0.
    return np.maximum(levels.summed(joint * np.log(ratio)), 0.0)


def stability(
    levels: _Levels, target: IntArray, n_draws: int, rng: np.random.Generator
) -> FloatArray:
    """Return how well each column's differences between targets survive resampling.

    The statistic is the frequency of every level under every target; its deviation
    from the mean over targets is correlated with that of resamples within targets.  0
    is no better than chance, 1 is always the same.  A target with one row cannot be
    resampled and is left out.
    """
    sizes = np.bincount(target)
    several = np.flatnonzero(sizes > 1)
    if len(several) < 2:
        return np.zeros(len(levels.starts))
    by_target = np.argsort(target, kind="stable")
    first, size = (np.cumsum(sizes) - sizes)[target], sizes[target]

    def differences(codes: IntArray) -> FloatArray:
        counts = levels._replace(codes=codes).against(target, len(sizes))
        shares = counts[:, several] / sizes[several]
        return np.asarray(shares - shares.mean(axis=1, keepdims=True))

    seen = differences(levels.codes)
    agreement = np.zeros(len(levels.starts))
    for _ in range(n_draws):
        rows = by_target[first + (rng.random(len(target)) * size).astype(np.int64)]
        again = differences(levels.codes[rows])
        length = np.sqrt(levels.summed(seen**2) * levels.summed(again**2))
        shared = levels.summed(seen * again)
        agreement += np.divide(shared, length, out=0 * length, where=length > 1e-12)
    return np.maximum(agreement / n_draws, 0.0)


def _levels(table: Table, able: IntArray) -> _Levels:
    n_bins = int(np.clip(np.cbrt(len(table)) + 1e-9, 2, _MOST_BINS))
    numeric = {int(p): i for i, p in enumerate(table.schema.numeric)}
    numbers = table.numeric
    columns, starts, n_levels = [], [], 0
    for position in able:
        hole = table.missing[:, position] > 0
        if int(position) in numeric:
            code = _bin(numbers[:, numeric[int(position)]], hole, n_bins)
        else:
            code = table.cells[position].astype(np.int64)
        # A hole is a level like any other: that nobody measured may say much.
        distinct, code = np.unique(np.where(hole, -1, code), return_inverse=True)
        columns.append(code + n_levels)
        starts.append(n_levels)
        n_levels += len(distinct)
    return _Levels(np.column_stack(columns), np.array(starts), n_levels)


def _bin(values: FloatArray, hole: BoolArray, n_bins: int) -> IntArray:
    edges = bin_edges(values[~hole], n_bins)
    return np.searchsorted(np.array(edges), np.where(hole, 0.0, values), side="left")
