import numpy as np
import pytest

from tabtap.table import Column, Kind, Schema, Table, Target


def _numbers(name):
    return Column(name=name, kind=Kind.CONTINUOUS, dtype="float64", markers=("nan",))


def _levels(name, n_levels):
    levels = tuple(f"level {k}" for k in range(n_levels))
    return Column(
        name=name,
        kind=Kind.CATEGORY,
        dtype="object[str]",
        levels=levels,
        markers=("none",),
    )


@pytest.fixture
def make_table():
    """Build a regression table by hand, so that any cell may be in it.

    The target is also the only feature, unless ``numeric`` or ``categorical`` (codes)
    are given.  NaN and -1 are holes.
    """

    def make(target, *, numeric=None, categorical=None):
        target = np.asarray(target, dtype=np.float64)
        if numeric is None and categorical is None:
            numeric = target[:, None]
        n_rows = len(target)
        empty = np.empty((n_rows, 0))
        numbers = np.asarray(empty if numeric is None else numeric, dtype=np.float64)
        codes = np.asarray(empty if categorical is None else categorical, np.int32)
        features = [_numbers(f"number {i}") for i in range(numbers.shape[1])]
        features += [
            _levels(f"category {i}", int(column.max(initial=0)) + 1)
            for i, column in enumerate(codes.T)
        ]
        schema = Schema(
            features=tuple(features),
            target=Target(
                column=Column(name="y", kind=Kind.CONTINUOUS, dtype="float64"),
                task="regression",
                position=len(features),
            ),
        )
        holes = np.concatenate([np.isnan(numbers), codes < 0], axis=1)
        cells = [np.nan_to_num(column, posinf=np.inf) for column in numbers.T]
        cells += [np.maximum(column, 0) for column in codes.T]
        return Table(
            schema,
            tuple(cells),
            holes.astype(np.int8),
            target,
            np.arange(n_rows),
            np.full(n_rows, -1),
        )

    return make
