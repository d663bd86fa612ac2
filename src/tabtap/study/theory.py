"""Appendix B of the paper, checked on runs and by simulation.

The identities hold by algebra; what is measured is how much they say.  Losses telescope
to the last digit; a bound of twice the largest error of a loss is wide; a theorem about
calibrated bars says nothing of bars that are not; and one row's influence on a logistic
model is known to first order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import expit, stdtrit

from tabtap.table.schema import BoolArray, FloatArray, IntArray
from tabtap.table.table import Table, concat

# ---- Equations 23 to 26: utilities of committed pools add up.


def committed_pools(pools: Sequence[Table], accepted: Sequence[bool]) -> list[Table]:
    """Return each pool if it was let in, and none of its rows if not (equation 23)."""
    return [
        pool if let_in else pool.empty()
        for pool, let_in in zip(pools, accepted, strict=True)
    ]


def training_sets(real: Table, committed: Sequence[Table]) -> list[Table]:
    """Return D_0 and what each committed pool makes of it (equation 24)."""
    sets = [real]
    for pool in committed:
        sets.append(concat([sets[-1], pool]))
    return sets


class Telescope(NamedTuple):
    """Both sides of equation 26."""

    gains: FloatArray
    """What each pool takes off the loss (equation 25)."""

    whole: float
    """What the run takes off it."""

    @property
    def gap(self) -> float:
        """How far the sum of the parts is from the whole; rounding, if anything."""
        return float(abs(self.gains.sum() - self.whole))


def telescope(sets: Sequence[Table], loss: Callable[[Table], float]) -> Telescope:
    """Return what pools gain one by one, and what they gain together.

    ``loss`` trains on a table and says what its learner loses on the real queries; it
    is asked anew on both sides of every pool.
    """
    pairs = zip(sets[:-1], sets[1:], strict=True)
    gains = np.array([loss(before) - loss(after) for before, after in pairs])
    return Telescope(gains, loss(sets[0]) - loss(sets[-1]))


# ---- Equations 27 to 29: a plug-in utility errs by at most twice its losses' error.


class PlugInError(NamedTuple):
    """How far a plug-in loss is from the loss it stands for, and what follows."""

    largest: float
    """epsilon_L: the largest error of a loss, over the tables reached (equation 27)."""

    errors: FloatArray
    """Of each utility (equation 29)."""

    @property
    def bound(self) -> float:
        """What equation 28 says of the utilities' errors."""
        return 2.0 * self.largest

    @property
    def holds(self) -> bool:
        """Whether the bound holds, up to rounding."""
        return bool((np.abs(self.errors) <= self.bound * (1 + 1e-9) + 1e-12).all())


def plug_in_error(
    plugged: FloatArray, true: FloatArray, pairs: Sequence[tuple[int, int]]
) -> PlugInError:
    """Compare plug-in losses of some tables with true ones, and utilities of pairs.

    Examples
    --------
    >>> found = plug_in_error(np.array([0.7, 0.4]), np.array([0.6, 0.5]), [(0, 1)])
    >>> found.errors.round(3), round(found.bound, 3), found.holds
    (array([0.2]), 0.2, True)
    """
    off = plugged - true
    errors = np.array([off[before] - off[after] for before, after in pairs])
    return PlugInError(float(np.abs(off).max()), errors)


# ---- Theorem 3.1, and equation 30, by simulation.


@dataclass(frozen=True, slots=True, kw_only=True)
class Pools:
    """Pools whose true gain is known, and the folds that estimate it."""

    true_gain: FloatArray
    """Shape (n_pools,), in deviations of a fold's error."""

    correlation: float = 0.0
    """Of the errors of two folds of one pool; folds share training rows."""

    bias: float = 0.0
    """What every fold adds: a generator that knows the query rows flatters its rows."""

    n_folds: int = 5

    def fold_gains(self, rng: np.random.Generator) -> FloatArray:
        """Draw what the folds estimate, shape (n_pools, n_folds)."""
        n_pools = len(self.true_gain)
        shared = rng.normal(size=(n_pools, 1)) * self.correlation**0.5
        own = rng.normal(size=(n_pools, self.n_folds)) * (1 - self.correlation) ** 0.5
        return np.asarray(self.true_gain[:, None] + self.bias + shared + own)


class Safety(NamedTuple):
    """What came of the paper's rule on many pools."""

    coverage: float
    """Share of pools whose estimate is within its bar of the truth (equation 20)."""

    committed: float
    """Share of pools that were let in."""

    unsafe: float
    """Share of all pools that were let in and gain less than tau: the theorem's."""

    unsafe_of_committed: float
    """The same, as a share of those let in; NaN if none was."""


def simulate_rule(
    pools: Pools,
    rng: np.random.Generator,
    *,
    tau: float = 0.0,
    confidence: float = 0.95,
) -> Safety:
    """Let the paper's rule decide about pools whose truth is known."""
    gains = pools.fold_gains(rng)
    estimate, margin = fold_bars(gains, confidence)
    covered = np.abs(estimate - pools.true_gain) <= margin
    let_in = estimate > tau + margin
    unsafe = let_in & (pools.true_gain < tau)
    return Safety(
        float(covered.mean()),
        float(let_in.mean()),
        float(unsafe.mean()),
        float(unsafe.sum() / let_in.sum()) if let_in.any() else float("nan"),
    )


def fold_bars(gains: FloatArray, confidence: float) -> tuple[FloatArray, FloatArray]:
    """Return mean and error bar of each row of fold gains (equation 49)."""
    n_folds = gains.shape[1]
    quantile = float(stdtrit(n_folds - 1, (1 + confidence) / 2))
    deviation = gains.std(axis=1, ddof=1)
    return gains.mean(axis=1), np.asarray(quantile * deviation / n_folds**0.5)


# ---- Equations 31 to 34: the influence of one row on a logistic model.


@dataclass(frozen=True, slots=True, eq=False)
class LogisticModel:
    """Minimises the mean cross-entropy plus half the squared norm (equation 31)."""

    weights: FloatArray
    """theta(D)."""

    inputs: FloatArray
    """D: shape (n, d), a column of ones among them."""

    label: IntArray
    """0 or 1."""

    penalty: float
    """lambda."""

    @classmethod
    def fit(cls, inputs: FloatArray, label: IntArray, penalty: float) -> LogisticModel:
        """Find the minimum by Newton's method, with halved steps where it overshoots."""
        weights = np.zeros(inputs.shape[1])
        for _ in range(_MOST_STEPS):
            model = cls(weights, inputs, label, penalty)
            slope = model.objective_gradient()
            if np.abs(slope).max() < _FLAT:
                break
            step = np.linalg.solve(model.hessian(), slope)
            before, share = model.objective(), 1.0
            while share > _LEAST_SHARE:
                moved = cls(weights - share * step, inputs, label, penalty)
                if moved.objective() <= before:
                    break
                share /= 2
            weights = weights - share * step
        return cls(weights, inputs, label, penalty)

    def losses(self, inputs: FloatArray, label: IntArray) -> FloatArray:
        """Return the cross-entropy of each of some rows."""
        signed = np.where(label == 1, 1.0, -1.0) * (inputs @ self.weights)
        return np.asarray(np.logaddexp(0.0, -signed))

    def objective(self) -> float:
        """Return F_D (equation 31)."""
        own = self.losses(self.inputs, self.label).mean()
        return float(own + self.penalty * (self.weights @ self.weights) / 2)

    def objective_gradient(self) -> FloatArray:
        """Return its gradient, which is 0 at the minimum."""
        own = self.gradients(self.inputs, self.label).mean(axis=0)
        return np.asarray(own + self.penalty * self.weights)

    def hessian(self) -> FloatArray:
        """Return H_D."""
        likely = expit(self.inputs @ self.weights)
        curved = self.inputs * (likely * (1 - likely))[:, None]
        own = curved.T @ self.inputs / len(self.inputs)
        return np.asarray(own + self.penalty * np.eye(len(self.weights)))

    def gradients(self, inputs: FloatArray, label: IntArray) -> FloatArray:
        """Return the gradient of each row's loss, shape (n_rows, d)."""
        return np.asarray((expit(inputs @ self.weights) - label)[:, None] * inputs)

    def shifts(
        self, inputs: FloatArray, label: IntArray, *, whole: bool = False
    ) -> FloatArray:
        """Return how far each row alone moves the weights, to first order.

        Equation 32; shape (n_rows, d).  The paper drops a term: with one row more the
        others weigh less and the penalty does not, so that the gradient of the new
        objective at the old minimum is (grad l + lambda theta) / (n + 1).  ``whole``
        keeps it; it is of the same order as what is left.
        """
        pull = self.gradients(inputs, label)
        n_rows = len(self.inputs)
        if whole:
            pull, n_rows = pull + self.penalty * self.weights, n_rows + 1
        return np.asarray(-np.linalg.solve(self.hessian(), pull.T).T / n_rows)

    def with_row(self, row: FloatArray, label: int) -> LogisticModel:
        """Train again with one row more."""
        inputs = np.vstack([self.inputs, row])
        return LogisticModel.fit(inputs, np.append(self.label, label), self.penalty)


_MOST_STEPS = 100
_FLAT = 1e-10
_LEAST_SHARE = 1e-6


def first_order_utility(
    model: LogisticModel,
    rows: tuple[FloatArray, IntArray],
    queries: tuple[FloatArray, IntArray],
    *,
    whole: bool = False,
) -> FloatArray:
    """Return what each row is worth to the queries, to first order.

    Equations 3 and 33: minus the gradient of the queries' loss (equation 34) along the
    shift of the weights that the row makes (equation 32; see it for ``whole``).
    """
    slope = model.gradients(*queries).mean(axis=0)
    return np.asarray(-model.shifts(*rows, whole=whole) @ slope)


def retrained_utility(
    model: LogisticModel,
    rows: tuple[FloatArray, IntArray],
    queries: tuple[FloatArray, IntArray],
) -> FloatArray:
    """Return what each row is worth by training again with it (equation 2)."""
    before = model.losses(*queries).mean()
    after = [
        model.with_row(row, int(label)).losses(*queries).mean()
        for row, label in zip(*rows, strict=True)
    ]
    return np.asarray(before - np.array(after))


class Agreement(NamedTuple):
    """How well the first order foretells what training again finds."""

    rank_correlation: float
    slope: float
    """Of retrained on foretold utilities, through 0; 1 is right."""

    same_sign: float
    relative_error: float
    """Median of |foretold - found| over the median of |found|."""


def agreement(foretold: FloatArray, found: FloatArray) -> Agreement:
    """Compare foretold with found utilities.

    Examples
    --------
    >>> agreement(np.array([1.0, -2.0, 3.0]), np.array([2.0, -4.0, 6.0]))
    Agreement(rank_correlation=1.0, slope=2.0, same_sign=1.0, relative_error=0.5)
    """
    ranks = [np.argsort(np.argsort(part)) for part in (foretold, found)]
    same: BoolArray = np.sign(foretold) == np.sign(found)
    return Agreement(
        float(np.corrcoef(*ranks)[0, 1]),
        float(foretold @ found / (foretold @ foretold)),
        float(same.mean()),
        float(np.median(np.abs(foretold - found)) / np.median(np.abs(found))),
    )
