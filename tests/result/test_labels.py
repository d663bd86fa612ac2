import json

import numpy as np
import pandas as pd
import pytest

from tabtap.result.frames import continued, index_from_json, index_to_json

INDEXES = {
    "range": pd.RangeIndex(5, 11, 2, name="n"),
    "integers": pd.Index([7, 3, 3]),
    "narrow": pd.Index(np.array([126, 127, 0], dtype=np.int8)),
    "unsigned": pd.Index(np.array([2**64 - 1, 1, 2], dtype=np.uint64)),
    "text": pd.Index(["a", "synthetic 1", "c"], name="who"),
    "objects": pd.Index(["a", 1, None], dtype=object),
    "tuples": pd.Index([("a", 1), ("b", 2), ("c", 3)], tupleize_cols=False),
    "times": pd.DatetimeIndex(
        ["2024-03-31 01:00", "2024-01-01", "2024-03-31 03:00"],
        tz="Europe/Berlin",
        name="t",
    ),
    "floats": pd.Index([0.5, np.nan, -0.0]),
    "levels": pd.MultiIndex.from_tuples(
        [("a", 1), ("a", 2), ("b", 1)], names=["x", None]
    ),
    "categories": pd.CategoricalIndex(["a", "b", "a"]),
}


@pytest.mark.parametrize("index", INDEXES.values(), ids=INDEXES)
def test_real_labels_stay_and_new_ones_are_new(index):
    longer = continued(index, 4)

    assert len(longer) == 7
    assert longer.names == index.names
    pd.testing.assert_index_equal(
        longer[:3].astype(object), index.astype(object), exact=False
    )
    new = longer[3:]
    assert new.is_unique
    assert not new.isin(index).any()


@pytest.mark.parametrize("index", INDEXES.values(), ids=INDEXES)
def test_no_new_row_leaves_an_index_as_it_is(index):
    assert continued(index, 0).equals(index)


def test_each_kind_of_label_goes_on_in_its_own_way():
    assert continued(INDEXES["range"], 1).tolist() == [5, 7, 9, 11]
    assert continued(INDEXES["integers"], 1).tolist() == [7, 3, 3, 8]
    assert continued(INDEXES["narrow"], 1).tolist() == [126, 127, 0, 128]
    text = continued(INDEXES["text"], 2)
    assert text.tolist()[3:] == ["synthetic 0", "synthetic 2"]
    assert text.dtype == INDEXES["text"].dtype
    assert continued(INDEXES["levels"], 1)[-1] == ("synthetic 0", "")
    assert continued(pd.Index([], dtype=np.int64), 2).tolist() == [0, 1]


@pytest.mark.parametrize("index", INDEXES.values(), ids=INDEXES)
def test_labels_come_back_from_json_or_are_left_out(index):
    saved = json.loads(json.dumps(index_to_json(index)))

    back = index_from_json(saved)

    if isinstance(index, pd.CategoricalIndex):
        assert back is None
    else:
        pd.testing.assert_index_equal(back, index, exact=True)


def test_labels_that_json_cannot_hold_are_left_out():
    assert index_to_json(pd.period_range("2024", periods=2, freq="M")) is None
    assert index_from_json(index_to_json(None)) is None
