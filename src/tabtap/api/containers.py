"""Lists, frames of one column and upright targets, as scikit-learn's users pass them.

What ``tabtap.table`` reads is a frame or an array, and a one-dimensional target.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from tabtap.errors import UserInputError
from tabtap.result.labels import continued

Given = tuple[Any, Any]
"""Features and target."""


def unwrap(X: Any, y: Any) -> tuple[Given, Callable[[Given], Given]]:  # noqa: ANN401
    """Return what can be read, and how to give results the form of what was passed."""
    if sparse.issparse(X):
        raise UserInputError(
            "X is a sparse matrix, but rows are redrawn cell by cell. Pass a frame, or "
            "X.toarray()."
        )
    frame, wrap_frame = _features(X)
    target, wrap_target = _target(y)
    return (frame, target), lambda made: (wrap_frame(made[0]), wrap_target(made[1]))


def _features(X: Any) -> tuple[Any, Callable[[Any], Any]]:  # noqa: ANN401
    if isinstance(X, (list, tuple)):
        # As a frame: an array would make text of numbers beside words.
        rows = list(X)
        frame = pd.DataFrame(rows)
        return frame, lambda made: rows + made.iloc[len(rows) :].to_numpy().tolist()
    return X, _as_it_is


def _target(y: Any) -> tuple[Any, Callable[[Any], Any]]:  # noqa: ANN401
    if isinstance(y, (list, tuple)):
        return np.asarray(y), lambda made: list(y) + np.asarray(made)[len(y) :].tolist()
    if isinstance(y, pd.DataFrame) and y.shape[1] == 1:
        column = y.columns[0]
        series, wrap = _target(y[column])
        return series, lambda made: pd.DataFrame({column: wrap(made)})
    if isinstance(y, pd.Series):
        return y, lambda made: _with_labels(made, y.index)
    if isinstance(y, np.ndarray) and y.ndim == 2 and y.shape[1] == 1:
        return y.ravel(), _as_it_is
    return y, _as_it_is


def _with_labels(made: Any, index: pd.Index) -> pd.Series:  # noqa: ANN401
    """Return a target under its own labels, whatever those of the features are."""
    labels = continued(index, len(made) - len(index))
    if isinstance(made, pd.Series):
        return made.set_axis(labels)
    return pd.Series(made, index=labels)


def _as_it_is(made: Any) -> Any:  # noqa: ANN401
    return made
