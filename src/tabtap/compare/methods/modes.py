"""Mode-specific normalisation: a number as a mode and its place within that mode.

Xu et al., "Modeling tabular data using conditional GAN", 2019, section 4.2.  A mixture
of at most ten Gaussians is fitted to each column.  A value becomes one of the modes,
drawn by how likely each has produced it, and its distance from that mode's mean in
units of four standard deviations.

Columns are standardised before the mixture is fitted.  The mixture's smallest variance
is absolute, so without that a column in millionths would be one mode.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import BayesianGaussianMixture

from tabtap.table.schema import FloatArray, IntArray
from tabtap.table.table import NumberScale

MAX_MODES = 10
LEAST_WEIGHT = 0.005
"""Share of the rows below which a component is no mode."""

_DEVIATIONS = 4.0
_WEIGHT_PRIOR = 0.001
_REACH = 0.99
"""Largest distance from a mean; the network's tanh never gets to 1."""

_UNLIKELY = 1e-6
"""Added to the probability of each mode, so that a value far from all has one."""


@dataclass(frozen=True, slots=True, eq=False)
class ColumnModes:
    """The modes of one standardised column."""

    means: FloatArray
    deviations: FloatArray

    log_weights: FloatArray
    """Up to a constant."""

    @classmethod
    def of(cls, scores: FloatArray, seed: int) -> ColumnModes:
        """Fit the modes of a column."""
        if (scores == scores[0]).all():
            return cls(scores[:1].copy(), np.array([1e-3]), np.zeros(1))
        mixture = BayesianGaussianMixture(
            n_components=min(MAX_MODES, len(scores)),
            weight_concentration_prior_type="dirichlet_process",
            weight_concentration_prior=_WEIGHT_PRIOR,
            n_init=1,
            random_state=seed,
        )
        with warnings.catch_warnings():
            # A hundred rounds are what the method's authors stop at, too, and a column
            # of few values may have more modes than values.
            warnings.simplefilter("ignore", ConvergenceWarning)
            mixture.fit(scores[:, None])
        modes = mixture.weights_ > LEAST_WEIGHT
        deviations = np.sqrt(mixture.covariances_[:, 0, 0])
        return cls(
            mixture.means_[modes, 0],
            deviations[modes],
            np.log(mixture.weights_[modes]),
        )

    def responsibilities(self, scores: FloatArray) -> FloatArray:
        """Return how likely each mode is for each score, shape (n_rows, n_modes)."""
        away = (scores[:, None] - self.means) / self.deviations
        logs = self.log_weights - np.log(self.deviations) - away**2 / 2
        likely = np.exp(logs - logs.max(axis=1, keepdims=True))
        likely = likely / likely.sum(axis=1, keepdims=True) + _UNLIKELY
        return np.asarray(likely / likely.sum(axis=1, keepdims=True))


@dataclass(frozen=True, slots=True, eq=False)
class ModeScale:
    """The modes of every number of a training table."""

    scale: NumberScale
    columns: tuple[ColumnModes, ...]

    @classmethod
    def of(cls, numbers: FloatArray, rng: np.random.Generator) -> ModeScale:
        """Fit the modes of every column of a matrix without holes."""
        scale = NumberScale.of(numbers)
        scores = scale.standardise(numbers)
        fitted = [
            ColumnModes.of(column, int(rng.integers(2**31))) for column in scores.T
        ]
        return cls(scale, tuple(fitted))

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of modes of each column."""
        return tuple(len(column.means) for column in self.columns)

    def encode(
        self, numbers: FloatArray, rng: np.random.Generator
    ) -> tuple[FloatArray, IntArray]:
        """Return the place within its mode, and the mode, of each number."""
        scores = self.scale.standardise(numbers)
        modes = np.zeros(numbers.shape, dtype=np.int64)
        places = np.zeros(numbers.shape)
        for j, column in enumerate(self.columns):
            upto = column.responsibilities(scores[:, j]).cumsum(axis=1)
            luck = rng.random((len(numbers), 1))
            # The last sum may fall short of 1 by a rounding error.
            chosen = np.minimum((upto < luck).sum(axis=1), len(column.means) - 1)
            away = scores[:, j] - column.means[chosen]
            modes[:, j] = chosen
            places[:, j] = away / (_DEVIATIONS * column.deviations[chosen])
        return np.clip(places, -_REACH, _REACH), modes

    def decode(self, places: FloatArray, modes: IntArray) -> FloatArray:
        """Return numbers in the columns' own units, from places between -1 and 1."""
        scores = np.zeros(places.shape)
        within = np.clip(places, -1.0, 1.0) * _DEVIATIONS
        for j, column in enumerate(self.columns):
            chosen = modes[:, j]
            scores[:, j] = (
                column.means[chosen] + within[:, j] * column.deviations[chosen]
            )
        return self.scale.restore(scores)
