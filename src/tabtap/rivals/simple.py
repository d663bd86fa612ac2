"""Methods that learn nothing: no rows, copies, jitter, and SMOTE."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier

from tabtap.errors import UserInputError, bad_setting, require
from tabtap.evaluate.learners import coded_numbers, codes_of, levels_of, numbers_of
from tabtap.stopwatch import Stopwatch
from tabtap.table.schema import CodeArray, FloatArray, IntArray
from tabtap.table.split import allot
from tabtap.table.table import NO_ROW, NumberScale, Table, concat


@dataclass(frozen=True, slots=True, kw_only=True)
class Real:
    """Add nothing."""

    name: ClassVar[str] = "Real"

    def make(
        self,
        train: Table,
        n: int,  # noqa: ARG002
        rng: np.random.Generator,  # noqa: ARG002
        watch: Stopwatch,  # noqa: ARG002
    ) -> Table:
        """Return no rows."""
        return train.empty()


@dataclass(frozen=True, slots=True, kw_only=True)
class Copies:
    """Repeat real rows, classes or target bins evenly."""

    name: ClassVar[str] = "Copies"

    def make(
        self, train: Table, n: int, rng: np.random.Generator, watch: Stopwatch
    ) -> Table:
        """Return ``n`` real rows; each knows which one it is."""
        with watch.running("sample"):
            return copies(train, n, rng)


@dataclass(frozen=True, slots=True, kw_only=True)
class Jitter:
    """Repeat real rows, classes or target bins evenly, with noise on their numbers."""

    scale: float = 0.3
    """Standard deviation of the noise, in those of the column."""

    name: ClassVar[str] = "Jitter"

    def __post_init__(self) -> None:
        if not self.scale >= 0:
            raise bad_setting("scale", self.scale, "not be negative", "Try 0.3.")

    def make(
        self, train: Table, n: int, rng: np.random.Generator, watch: Stopwatch
    ) -> Table:
        """Return ``n`` rows that each know the real row they were made from."""
        with watch.running("sample"):
            return jitter(train, n, rng, self.scale)


@dataclass(frozen=True, slots=True, kw_only=True)
class SMOTE:
    """Interpolate between neighbours of one class, classes or target bins evenly.

    Chawla et al. 2002, by imbalanced-learn; numbers and categories together, few rows
    and regression as in appendix D.3 of the paper.  A missing number is interpolated
    as its column's mean, so that new rows have no holes among their numbers.
    """

    name: ClassVar[str] = "SMOTE"

    def make(
        self, train: Table, n: int, rng: np.random.Generator, watch: Stopwatch
    ) -> Table:
        """Return ``n`` rows; the only row of a class is repeated as it is."""
        with watch.running("sample"):
            return smote(train, n, rng)


# ---- Rows that no generator made: what any generator has to beat.
#
# Copies and jitter are rivals in usefulness: repeating rows alone revives learners that
# need a minimum of rows per leaf. Bootstrap and independent columns are the two ends of
# fidelity: the most faithful rows that teach nothing, and marginals without relations.


def even_rows(train: Table, n: int, rng: np.random.Generator) -> IntArray:
    """Draw row numbers so that conditions, and rows within each, are used evenly.

    Counts of the classes or target bins present differ by at most one, and so do the
    counts of rows of one class.
    """
    if len(train) == 0:
        raise UserInputError("There are no rows to draw from. Give at least one.")
    present, condition = np.unique(train.condition, return_inverse=True)
    quota = allot(np.ones(len(present)), n, rng.random(len(present)))
    drawn = [
        _in_turn(np.flatnonzero(condition == index), size, rng)
        for index, size in enumerate(quota)
    ]
    return rng.permutation(np.concatenate(drawn))


def copies(train: Table, n: int, rng: np.random.Generator) -> Table:
    """Repeat real rows, classes evenly."""
    return train.take(even_rows(train, n, rng))


def jitter(train: Table, n: int, rng: np.random.Generator, scale: float = 0.3) -> Table:
    """Repeat real rows, classes evenly, with Gaussian noise on their numbers.

    ``scale`` is the standard deviation of the noise, in those of the column.
    Categories, holes and targets are the repeated row's.
    """
    rows = copies(train, n, rng)
    deviation = NumberScale.of(train.numeric).deviation
    noise = rng.normal(size=(n, len(deviation))) * deviation * scale
    regenerate = np.zeros(rows.missing.shape, dtype=np.bool_)
    regenerate[:, train.schema.numeric] = True
    regenerate &= rows.missing == 0
    return rows.redrawn(regenerate, rows.numeric + noise, rows.categorical)


def bootstrap(real: Table, n: int, rng: np.random.Generator) -> Table:
    """Draw real rows with replacement, each equally likely."""
    return real.take(rng.integers(len(real), size=n))


def independent_columns(real: Table, n: int, rng: np.random.Generator) -> Table:
    """Draw every column, and the target, from its own marginal; rows have no origin."""
    n_columns = len(real.cells)
    rows = rng.integers(len(real), size=(n_columns + 1, n))
    missing = np.take_along_axis(real.missing, rows[:n_columns].T, axis=0)
    return replace(
        real,
        cells=tuple(cell[row] for cell, row in zip(real.cells, rows, strict=False)),
        missing=missing,
        target=real.target[rows[-1]],
        origin=np.full(n, NO_ROW, dtype=np.int64),
        unseen_fold=np.full(n, NO_ROW, dtype=np.int64),
    )


def _in_turn(rows: IntArray, size: int, rng: np.random.Generator) -> IntArray:
    n_rounds = -(-int(size) // len(rows))
    rounds = [rng.permutation(rows) for _ in range(n_rounds)]
    return np.concatenate([*rounds, rows[:0]])[:size]


# ---- SMOTE as the paper's rival uses it: any columns, few rows, and regression.
#
# Appendix D.3. Neighbours are found among standardised numbers. A missing number is
# interpolated as its column's mean, a missing category is a level of its own. A 0/1
# flag is interpolated like any number and then moved to the nearer level. So a row
# takes all its flags from one of its two parents; a vote among neighbours, SMOTE's way
# with categories, would blur them to a pattern that no row of the class has.


N_NEIGHBORS = 5
"""Neighbours SMOTE interpolates towards, where a class has so many."""

N_CANDIDATES = 3
"""Regression rows made per row wanted, before the unlike ones are dropped."""


def smote(train: Table, n: int, rng: np.random.Generator) -> Table:
    """Interpolate between real rows and their neighbours, by imbalanced-learn.

    Classes, or target bins, are as even as possible.  A regression target is
    interpolated with its row.  A class of a single row is repeated, and so is
    everything if no class has two rows.

    The paper takes as many neighbours as its smallest class allows and gives SMOTE up
    when that class has a single row.  Here such a class is set aside and repeated, so
    that it does not cost the others their neighbours: a stronger rival.
    """
    target = train.schema.target
    if target is not None and target.task == "regression":
        return _interpolate_jointly(train, n, rng)
    label = train.condition
    size = np.bincount(label)
    plan = even_rows(train, n, rng)
    wanted = np.bincount(label[plan], minlength=len(size))
    alone = size[label[plan]] == 1
    crowd = train.take(size[label] > 1)
    made = [train.take(plan[alone])]
    if not alone.all() and (numbers_of(crowd).shape[1] or codes_of(crowd).shape[1]):
        made.append(_interpolate_classes(crowd, np.where(size > 1, wanted, 0), rng))
    else:
        made.append(train.take(plan[~alone]))
    return concat(made).take(rng.permutation(n))


@dataclass(frozen=True, slots=True, eq=False)
class _Space:
    """Where rows are interpolated: standardised numbers, then codes."""

    scale: NumberScale

    @classmethod
    def of(cls, numbers: FloatArray) -> _Space:
        return cls(NumberScale.of(numbers))

    @property
    def n_numbers(self) -> int:
        return len(self.scale.center)

    def enter(self, numbers: FloatArray, codes: CodeArray) -> FloatArray:
        filled = np.nan_to_num(self.scale.standardise(numbers), nan=0.0)
        return np.hstack([filled, codes])

    def leave(self, points: FloatArray) -> tuple[FloatArray, CodeArray]:
        near_one = points[:, : self.n_numbers] * self.scale.spread + self.scale.center
        numbers = np.ldexp(near_one, self.scale.exponent)
        return numbers, np.rint(points[:, self.n_numbers :]).astype(np.int32)


def _interpolate_classes(
    crowd: Table, wanted: IntArray, rng: np.random.Generator
) -> Table:
    """Make ``wanted`` rows of each class; every class has at least two rows."""
    label = crowd.condition
    size = np.bincount(label, minlength=len(wanted))
    smallest = int(size[size > 0].min())
    space = _Space.of(numbers_of(crowd))
    points = space.enter(numbers_of(crowd), codes_of(crowd))
    total = size + wanted
    if (size > 0).sum() == 1:  # SMOTE wants a second class, and makes none of it
        points = np.vstack([points, points[:1]])
        label, total = np.append(label, len(size)), np.append(total, 1)
    sampler = _sampler(points, space, min(N_NEIGHBORS, smallest - 1), rng)
    made, made_label = _oversample(sampler, points, label, total)
    # A row of the same class lends what is not generated: constants and the target.
    lender = [np.flatnonzero(label == code)[0] for code in made_label]
    return _as_rows(crowd, np.array(lender, dtype=np.int64), *space.leave(made))


def _interpolate_jointly(train: Table, n: int, rng: np.random.Generator) -> Table:
    """Interpolate rows with their targets; drop those a forest tells from real."""
    if len(train) < 2:
        return copies(train, n, rng)
    joint = np.column_stack([numbers_of(train), train.target_values])
    space = _Space.of(joint)
    real = space.enter(joint, codes_of(train))
    points = np.vstack([real, _noise(real, space.n_numbers, rng)])
    label = np.repeat([0, 1], len(real))
    sampler = _sampler(points, space, min(N_NEIGHBORS, len(real) - 1), rng)
    total = np.array([len(real) + N_CANDIDATES * n, len(real)])
    made, _ = _oversample(sampler, points, label, total)
    forest = RandomForestClassifier(100, random_state=_seed(rng), n_jobs=1)
    likeness = forest.fit(points, label).predict_proba(made)[:, 0]

    numbers, codes = space.leave(made)
    lender = rng.integers(len(train), size=len(made))
    rows = _as_rows(train, lender, numbers[:, :-1], codes)
    rows = replace(rows, target=_stored_target(train, numbers[:, -1]))
    return rows.take(_even_and_likely(rows.condition, likeness, n, rng))


def _even_and_likely(
    condition: IntArray, likeness: FloatArray, n: int, rng: np.random.Generator
) -> IntArray:
    """Pick rows taken for real, bins evenly; the likest others only if too few are."""
    accepted = likeness >= 0.5
    eligible = accepted if accepted.sum() >= n else np.ones(len(condition), np.bool_)
    present, bin_index = np.unique(condition, return_inverse=True)
    available = np.bincount(bin_index[eligible], minlength=len(present))
    luck = rng.random(len(present))
    quota = allot(available > 0, n, luck, available)
    likest_first = np.argsort(-np.where(accepted, 1.0, likeness), kind="stable")
    picked = [
        likest_first[bin_index[likest_first] == which][:size]
        for which, size in enumerate(quota)
    ]
    return rng.permutation(np.concatenate(picked))


def _noise(real: FloatArray, n_numbers: int, rng: np.random.Generator) -> FloatArray:
    """Return as many rows of Gaussian numbers and of codes drawn one by one."""
    numbers = rng.normal(size=(len(real), n_numbers))
    codes = rng.permuted(real[:, n_numbers:], axis=0)
    return np.hstack([numbers, codes])


def _sampler(
    points: FloatArray, space: _Space, n_neighbors: int, rng: np.random.Generator
) -> Any:  # noqa: ANN401  imbalanced-learn has no types
    over_sampling = require("imblearn.over_sampling")
    settings = {"k_neighbors": n_neighbors, "random_state": _seed(rng)}
    if points.shape[1] == space.n_numbers:
        return over_sampling.SMOTE(**settings)
    if space.n_numbers == 0:
        return over_sampling.SMOTEN(**settings)
    codes = list(range(space.n_numbers, points.shape[1]))
    return over_sampling.SMOTENC(codes, **settings)


def _oversample(
    sampler: Any,  # noqa: ANN401  imbalanced-learn has no types
    points: FloatArray,
    label: IntArray,
    total: IntArray,
) -> tuple[FloatArray, IntArray]:
    """Return the added points and labels; ``total`` counts a class's rows after."""
    strategy = {int(code): int(total[code]) for code in np.unique(label)}
    with warnings.catch_warnings():
        # More rows than the largest class is what is asked for here.
        warnings.filterwarnings("ignore", message="After over-sampling")
        # imbalanced-learn 0.14 calls what SciPy 1.18 deprecates; nothing for a user.
        warnings.filterwarnings("ignore", message=".*as of SciPy 1.18")
        sampler.set_params(sampling_strategy=strategy)
        made, made_label = sampler.fit_resample(points, label)
    return made[len(points) :], made_label[len(points) :]


def _as_rows(
    train: Table, lender: IntArray, numbers: FloatArray, codes: CodeArray
) -> Table:
    """Return rows of drawn values, the columns laid out as they were taken apart."""
    coded = coded_numbers(train.schema)
    n_numeric = len(train.schema.numeric)
    categorical = np.empty((len(lender), len(coded)), dtype=np.int32)
    categorical[:, ~coded] = codes
    for column, values in zip(
        np.flatnonzero(coded), numbers[:, n_numeric:].T, strict=True
    ):
        gap = np.abs(values[:, None] - levels_of(train.schema, int(column)))
        categorical[:, column] = gap.argmin(axis=1)
    regenerate = np.ones((len(lender), len(train.cells)), dtype=np.bool_)
    rows = train.take(lender).redrawn(regenerate, numbers[:, :n_numeric], categorical)
    none = np.full(len(lender), NO_ROW, dtype=np.int64)
    return replace(rows, origin=none, unseen_fold=none)


def _stored_target(train: Table, values: FloatArray) -> NDArray[Any]:
    target = train.schema.target
    column = target.column if target is not None else None
    stored = values if column is None else column.store(values)
    return stored.astype(train.target.dtype)


def _seed(rng: np.random.Generator) -> int:
    return int(rng.integers(2**31))
