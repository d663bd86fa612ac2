"""Tables as matrices: standardised numbers and one-hot categories.

Everything is fitted on the training rows, so no test row leaks into a scale.  A column
of numbers that is *generated* as a category (a 0/1 flag, a few-valued integer) is
still read as a number here, as any user's pipeline would by its dtype: one-hot flags
cost the six predictors 4 points on the steel plates, real rows alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from tabtap.table.schema import BoolArray, CodeArray, Column, FloatArray, Schema
from tabtap.table.table import Table


def encode(
    train: Table, others: Sequence[Table]
) -> tuple[FloatArray, list[FloatArray]]:
    """Turn tables into matrices that any predictor can read.

    Parameters
    ----------
    train : Table
        Rows that fix means, scales and levels.
    others : sequence of Table
        Rows to be turned into matrices in the same way.

    Returns
    -------
    tuple of array and list of arrays
        The training matrix and one matrix per other table, each of shape
        (n_rows, n_columns).  A missing number is the training mean, a missing category
        a level of its own; a level not met in training is all zeros.  Columns that are
        neither (constants, identifiers) are left out; with no column left there is one
        column of zeros.
    """
    tables = [train, *others]
    blocks = [
        _encode_numbers([numbers_of(table) for table in tables]),
        _encode_categories([codes_of(table) for table in tables]),
    ]
    joined = [np.hstack(parts) for parts in zip(*blocks, strict=True)]
    if joined[0].shape[1] == 0:
        joined = [np.zeros((len(table), 1)) for table in tables]
    return joined[0], joined[1:]


def coded_numbers(schema: Schema) -> BoolArray:
    """Tell which of the categorical columns hold numbers, by their dtype."""
    columns = [schema.features[position] for position in schema.categorical]
    return np.array([_is_number(column) for column in columns], dtype=np.bool_)


def numbers_of(table: Table) -> FloatArray:
    """Return numeric columns, then categories that are numbers; NaN where missing."""
    coded = np.flatnonzero(coded_numbers(table.schema))
    codes = table.categorical
    values = [
        # Code -1 reads the NaN at the end: a missing value.
        np.append(levels_of(table.schema, int(place)), np.nan)[codes[:, place]]
        for place in coded
    ]
    return np.column_stack([table.numeric, *values])


def codes_of(table: Table) -> CodeArray:
    """Return the codes of categories that are not numbers; -1 where missing."""
    return table.categorical[:, ~coded_numbers(table.schema)]


def levels_of(schema: Schema, place: int) -> FloatArray:
    """Return, in code order, the numbers that one categorical column holds."""
    column = schema.features[schema.categorical[place]]
    return np.array(column.levels, dtype=np.float64)


def _is_number(column: Column) -> bool:
    named = column.dtype.lower().startswith(("int", "uint", "float", "bool"))
    return named and all(isinstance(x, (Real, np.bool_)) for x in column.levels)


def _encode_numbers(views: list[FloatArray]) -> list[FloatArray]:
    if views[0].shape[1] == 0:
        return views
    # Powers of two bring each column near 1: squares of 1e300 would overflow.
    peak = np.fmax.reduce(np.abs(views[0]), axis=0, initial=0.0)
    tame = [np.ldexp(view, -np.frexp(peak)[1]) for view in views]
    scale = make_pipeline(
        SimpleImputer(strategy="mean", keep_empty_features=True), StandardScaler()
    ).fit(tame[0])
    return [_transformed(scale, view) for view in tame]


def _encode_categories(views: list[CodeArray]) -> list[FloatArray]:
    if views[0].shape[1] == 0:
        return [view.astype(np.float64) for view in views]
    levels = OneHotEncoder(handle_unknown="ignore", sparse_output=False).fit(views[0])
    return [_transformed(levels, view) for view in views]


def _transformed(fitted: BaseEstimator, view: FloatArray | CodeArray) -> FloatArray:
    if len(view) == 0:  # scikit-learn refuses a matrix without rows
        return np.empty((0, len(fitted.get_feature_names_out())))
    return np.asarray(fitted.transform(view))
