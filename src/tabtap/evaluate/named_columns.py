"""Learners that name their columns, and the rows as such learners know them.

A pipeline that treats columns one by one was written for the user's own frame: in a
matrix of encoded rows there is no column that it could name.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from sklearn.compose import ColumnTransformer, make_column_selector

from tabtap.evaluate.answers import Estimator
from tabtap.table.frame import write_frame
from tabtap.table.table import Table

_FRAME_PACKAGES = ("feature_engine", "sklearn_pandas", "skrub")
"""Their transformers tell columns apart by name or dtype."""

LACKS_COLUMNS = (AttributeError, IndexError, TypeError, ValueError)
"""What a learner may raise that looks for columns in a matrix."""

_OF_COLUMNS = re.compile(
    r"data_?frame|column|feature.names|ndarray|only integers, slices", re.IGNORECASE
)


def names_columns(learner: Estimator) -> bool:
    """Tell whether a learner, or any part of it, goes by the columns of a frame."""
    parts = [learner]
    if hasattr(learner, "get_params"):
        parts += learner.get_params(deep=True).values()
    return any(_goes_by_columns(part) for part in parts)


def misses_columns(error: Exception) -> bool:
    """Tell whether an error is about columns that a matrix does not have."""
    cause = error.__cause__ or error
    return _OF_COLUMNS.search(str(cause)) is not None


def rows_as_given(table: Table) -> Any:  # noqa: ANN401  a frame, or an array
    """Return features in the container, order and dtypes in which they were given.

    Identifiers are among them, for a pipeline may name them; new rows have none.
    """
    features = replace(table.schema, target=None)
    return write_frame(replace(table, schema=features))


def _goes_by_columns(part: object) -> bool:
    package = type(part).__module__.partition(".")[0]
    known = isinstance(part, (ColumnTransformer, make_column_selector))
    return known or package in _FRAME_PACKAGES
