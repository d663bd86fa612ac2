import numpy as np
import pytest

from tabtap.table.schema import Column, Kind, Schema, Target
from tabtap.table.table import Table


def _column(name, values):
    if values.dtype.kind == "f":
        missing = np.isnan(values)
        markers = ("nan",) if missing.any() else ()
        column = Column(
            name=name, kind=Kind.CONTINUOUS, dtype="float64", markers=markers
        )
        return column, np.nan_to_num(values), missing
    missing = values < 0
    column = Column(
        name=name,
        kind=Kind.CATEGORY,
        dtype="object",
        levels=tuple(f"level {k}" for k in range(max(int(values.max()) + 1, 1))),
        markers=("none",) if missing.any() else (),
    )
    return column, np.maximum(values, 0).astype(np.int32), missing


def _target(values, edges):
    if values.dtype.kind == "f":
        column = Column(name="y", kind=Kind.CONTINUOUS, dtype="float64")
        task = "regression"
    else:
        levels = tuple(range(int(values.max()) + 1))
        column = Column(name="y", kind=Kind.CATEGORY, dtype="int64", levels=levels)
        task = "classification"
    return Target(column=column, task=task, position=0, edges=tuple(edges))


@pytest.fixture
def build_table():
    """Build a table: float features are numbers (NaN missing), ints codes (-1)."""

    def make(target, *features, edges=()):
        target = np.asarray(target)
        parts = [_column(f"x{i}", np.asarray(v)) for i, v in enumerate(features)]
        n = len(target)
        missing = np.zeros((n, len(parts)), dtype=np.int8)
        for place, part in enumerate(parts):
            missing[:, place] = part[2]
        return Table(
            Schema(features=tuple(p[0] for p in parts), target=_target(target, edges)),
            tuple(p[1] for p in parts),
            missing,
            target.astype(np.int32) if target.dtype.kind != "f" else target,
            np.arange(n),
            np.full(n, -1),
        )

    return make


@pytest.fixture
def rng():
    return np.random.default_rng(0)
