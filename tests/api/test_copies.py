"""Exact copies are one thing: on one side of every split, counted once, and said."""

import numpy as np
import pandas as pd
import pytest
from stand_ins import Listener

from tabtap.api import TabularAugmenter
from tabtap.api.choices import copies_note, copies_of
from tabtap.table import read_frame

SAID = "copies stay on one side of every split and count as one."


def tears(judge, one, other):
    """Tell whether two real rows ever stood on different sides of a split."""
    sides = [(set(seen.origin), set(asked.origin)) for seen, asked in judge.asked]
    return any(
        (one in seen and other in asked) or (other in seen and one in asked)
        for seen, asked in sides
    )


def run(frame, tiny, judge, **settings):
    settings = {"budget": 12, "random_state": 0, "evaluator": "linear", **settings}
    return TabularAugmenter(preset=tiny, referee=judge, **settings).fit_table(
        frame, "sick"
    )


@pytest.fixture
def twice(patients):
    X, y, _ = patients
    half = X.assign(sick=y).iloc[:20]
    return pd.concat([half, half], ignore_index=True)


def test_copies_never_sit_on_both_sides_and_count_once(tiny, helpful, twice):
    judge = Listener(helpful)

    result = run(twice, tiny, judge)

    assert judge.asked
    assert not any(tears(judge, row, row + 20) for row in range(20))
    clusters = result.certificates[0].evidence["clusters"]
    assert clusters.tolist() == [*range(20), *range(20)]


def test_copies_are_said_and_are_not_the_users_groups(tiny, helpful, twice):
    result = run(twice, tiny, helpful)

    assert result.about.notes == (f"20 rows are exact copies of others; {SAID}",)
    assert result.about.groups is None
    assert result.groups[:40].tolist() == list(range(40))


def test_groups_of_the_users_are_left_as_they_are(tiny, helpful, twice):
    judge = Listener(helpful)

    result = run(twice, tiny, judge, groups=np.arange(40) // 2)

    assert result.about.notes == ()
    assert any(tears(judge, row, row + 20) for row in range(20))
    clusters = result.certificates[0].evidence["clusters"]
    assert clusters.tolist() == (np.arange(40) // 2).tolist()


def test_a_table_without_copies_is_judged_row_by_row(tiny, helpful, patients):
    X, y, _ = patients

    result = run(X.assign(sick=y), tiny, helpful)

    assert result.about.notes == ()
    assert "clusters" not in result.certificates[0].evidence


def test_fewer_different_rows_than_folds_are_left_as_they_are(twice):
    real = read_frame(pd.concat([twice.iloc[:4]] * 5, ignore_index=True), "sick")

    assert copies_of(real, n_folds=5) is None
    assert copies_of(real, n_folds=4).tolist() == [*range(4)] * 5


def test_a_single_copy_is_said_in_the_singular():
    assert copies_note(np.array([0, 1, 1])) == (
        f"1 row is an exact copy of another; {SAID}",
    )
    assert copies_note(None) == ()
