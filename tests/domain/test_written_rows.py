import numpy as np
import pandas as pd
import pytest

from tabtap.archive import under
from tabtap.domain import Candidates
from tabtap.domain.written import (
    candidates_from_arrays,
    candidates_to_arrays,
    table_from_arrays,
    table_to_arrays,
)
from tabtap.table import read_frame


@pytest.fixture(scope="module")
def table():
    """Give a column of every storage: floats, 64-bit integers, times, codes, holes."""
    n_rows = 24
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "dose": rng.normal(size=n_rows),
            "big": 2**62 + rng.integers(0, 1000, n_rows),
            "when": pd.Timestamp("2024-01-01", tz="UTC")
            + pd.to_timedelta(rng.integers(0, 10**9, n_rows), unit="us"),
            "colour": rng.choice(["red", "green"], n_rows),
            "label": np.resize(["ill", "well"], n_rows),
        }
    )
    frame.loc[3, "colour"] = None
    frame.loc[5, "dose"] = np.nan
    return read_frame(frame, "label")


def content(table):
    rest = table.missing, table.target, table.origin, table.unseen_fold
    return [(a.dtype.str, a.shape, a.tobytes()) for a in (*table.cells, *rest)]


@pytest.mark.parametrize("n_rows", [24, 1, 0])
def test_a_table_comes_back_bit_for_bit(table, n_rows):
    rows = table.take(np.arange(n_rows)).with_origin(unseen_fold=2)

    again = table_from_arrays(table.schema, table_to_arrays(rows))

    assert content(again) == content(rows)


def test_candidates_come_back_with_masks_steps_and_scores(table):
    mask = np.random.default_rng(1).random(table.missing.shape) < 0.5
    scores = {"near": np.arange(24.0), "far": np.full(24, np.nan)}
    rows = Candidates(table, mask, np.arange(24), scores)

    again = candidates_from_arrays(table.schema, candidates_to_arrays(rows))

    assert content(again.rows) == content(table)
    assert again.regenerate.tolist() == mask.tolist()
    assert again.step.tolist() == list(range(24))
    assert list(again.scores) == ["far", "near"]  # as ``Candidates.joined`` has them
    assert again.scores["near"].tolist() == scores["near"].tolist()


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("missing", lambda a: a[:, :2]),
        ("origin", lambda a: a[:-1]),
        ("cell0", lambda a: a[:-1]),
        ("cell3", lambda a: a + 7),
        ("target", lambda a: a - 1),
        ("step", lambda a: a[:-1]),
        ("regenerate", lambda a: a[:, :1]),
    ],
)
def test_arrays_that_are_no_rows_are_refused(table, name, change):
    rows = Candidates(table, np.zeros(table.missing.shape, bool), np.zeros(24, int))
    arrays = candidates_to_arrays(rows)

    with pytest.raises(ValueError, match=r"fit|holes|marks|codes"):
        candidates_from_arrays(table.schema, {**arrays, name: change(arrays[name])})


def test_arrays_under_a_prefix_lose_it_and_nothing_else_is_taken():
    arrays = {"b.y": np.ones(1), "b.x": np.zeros(1), "bb.x": np.ones(2), "b": None}

    assert list(under("b", arrays)) == ["x", "y"]
