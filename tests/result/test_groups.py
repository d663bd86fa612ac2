from datetime import date

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GroupKFold

from tabtap.result import RunAbout, load_result
from tabtap.result.frames import label_array, told_apart

ROWS = np.arange(4)


def test_synthetic_rows_have_the_label_of_their_parent(make_result, classes, tmp_path):
    mice = np.array(["ann", "bob", None] * 4, dtype=object)
    result = make_result(classes, groups=mice, gain=0.03)
    result.save(tmp_path / "r")

    found = result.groups

    alone = [f"row {k}" for k in range(12)]
    wanted = [alone[k] if name is None else name for k, name in enumerate(mice)]
    assert found[:12].tolist() == wanted
    assert found[12:].tolist() == [wanted[k] for k in result.parent_indices]
    assert load_result(tmp_path / "r").groups.tolist() == found.tolist()
    assert load_result(tmp_path / "r").about.groups.tolist() == mice.tolist()


@pytest.mark.parametrize(
    "labels",
    [
        np.array([1.5, np.nan, -2.0, np.nan]),
        np.array([7, None, -2, None], dtype=object),
        np.array(["row 1", None, "row 3'", np.nan], dtype=object),
        np.array(["2024-01-01", "NaT", "1969-12-30", "NaT"], "datetime64[D]"),
        np.array([1, "NaT", 2, "NaT"], "timedelta64[s]"),
        pd.array([7, None, 8, None], dtype="Int64"),
        pd.Series(["a", None, "b", None], dtype="string"),
        np.array([None] * 4, dtype=object),
    ],
    ids=repr,
)
def test_a_row_without_a_label_is_a_group_by_itself_that_scikit_learn_takes(labels):
    labels = label_array(labels)

    found = told_apart(labels, ROWS)

    given = ~pd.isna(labels)
    assert found[given].tolist() == labels[given].tolist()
    assert len(np.unique(found)) == 4
    folds = GroupKFold(4).split(np.zeros((4, 1)), groups=found)
    assert [len(test) for _, test in folds] == [1] * 4


def test_labels_of_rows_without_a_group_stay_when_others_are_forgotten():
    labels = np.array([np.nan, 3.0, np.nan, np.nan])

    whole, part = told_apart(labels, ROWS), told_apart(labels[1:], ROWS[1:])

    assert whole[1:].tolist() == part.tolist()


@pytest.mark.parametrize(
    "labels",
    [
        ["a", 1, None],
        [("a", 1), ("a", 2), ("b", 1)],
        [True, 1, 0.5],
        [3, 1, 2],
        ["x", "yy", ""],
        [date(2024, 1, 1), date(2024, 1, 2), date(2024, 1, 1)],
    ],
    ids=repr,
)
def test_lists_of_labels_keep_every_label_as_it_is(labels):
    groups = RunAbout(seed=0, budget=1, settings={}, groups=labels).groups

    assert groups.shape == (3,)
    assert [(type(v), v) for v in groups.tolist()] == [(type(v), v) for v in labels]
