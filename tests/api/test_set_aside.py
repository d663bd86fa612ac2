"""Rows without a label: not learned, told of, and given back in their place."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from pandas.testing import assert_frame_equal, assert_series_equal

from tabtap.api import TabularAugmenter, augment
from tabtap.result import load_result, verify

HOLES = [0, 7, 39]  # the first, one in between and the last


def make(tiny, judge, **settings):
    settings = {"budget": 20, "random_state": 0, **settings}
    return TabularAugmenter(preset=tiny, evaluator="linear", referee=judge, **settings)


@pytest.fixture
def holed(patients):
    X, y, _ = patients
    whole = X.assign(sick=y.astype(object))
    whole.loc[whole.index[HOLES], "sick"] = None
    return whole


@pytest.fixture
def result(tiny, helpful, holed):
    return make(tiny, helpful).fit_table(holed, "sick")


def test_rows_without_a_label_come_back_in_their_place(result, holed):
    bigger, sick = result.augmented()

    assert_frame_equal(bigger.iloc[:40], holed)
    assert_series_equal(sick.iloc[:40], holed["sick"])
    assert bigger["sick"].iloc[40:].notna().all()
    assert len(bigger) == 60
    assert bigger.index.is_unique
    assert len(result.real) == 37


def test_they_are_told_of_in_the_notes(result):
    assert any(
        note.startswith("3 rows without a label in 'sick' set aside")
        for note in result.about.notes
    )


def test_what_is_said_of_rows_is_said_of_the_table_that_was_given(result, holed):
    bigger, _ = result.augmented()
    anchors = result.provenance["anchor_row"].to_numpy()
    kept = [
        (row, name)
        for row, redrawn in enumerate(result.provenance["redrawn"])
        for name in ("age",)
        if name not in redrawn
    ]

    assert not np.isin(anchors, HOLES).any()
    assert (result.parent_indices == anchors).all()
    assert result.synthetic_mask.tolist() == [False] * 40 + [True] * 20
    assert len(result.groups) == 60
    assert (result.groups[40:] == anchors).all()
    assert kept
    for row, name in kept:
        assert bigger[name].iloc[40 + row] == holed[name].iloc[anchors[row]]


def test_a_saved_result_has_them_and_is_verified(result, holed, tmp_path):
    result.save(tmp_path / "a.tap")

    loaded = load_result(tmp_path / "a.tap")

    assert_frame_equal(loaded.augmented()[0].iloc[:40], holed)
    assert verify(loaded) == []


def test_the_row_that_is_named_is_forgotten_and_no_other(result, holed, tmp_path):
    row = int(result.provenance["anchor_row"][0])

    after = result.forget(row)
    after.save(tmp_path / "a.tap")
    loaded = load_result(tmp_path / "a.tap")

    left = holed.drop(holed.index[row])
    assert_frame_equal(loaded.augmented()[0].iloc[:39], left)
    assert row not in loaded.provenance["anchor_row"].tolist()
    assert {finding.kind for finding in verify(loaded)} == {"forgotten"}


def test_a_row_that_was_set_aside_can_be_forgotten(result, holed):
    after = result.forget(HOLES[1])

    assert_frame_equal(after.augmented()[0].iloc[:39], holed.drop(holed.index[7]))
    assert len(after.delivered) == 20
    assert verify(after) == []
    with pytest.raises(ValueError, match="row 7 was forgotten already"):
        after.forget(7)


def test_a_group_is_forgotten_with_its_rows_of_either_kind(tiny, helpful, holed):
    whole = holed.assign(patient=np.arange(40) // 4)
    result = make(tiny, helpful, groups="patient").fit_table(whole, "sick")

    after = result.forget(group=1)  # rows 4 to 7, of which 7 has no label

    left = after.augmented()[0]
    assert not left["patient"].eq(1).any()
    assert set(after.given_places) == set(range(40)) - {4, 5, 6, 7}
    assert not after.provenance["anchor_row"].isin([4, 5, 6, 7]).any()
    by_column = result.forget(group={"patient": "1"})
    assert by_column.given_places.tolist() == after.given_places.tolist()
    with pytest.raises(ValueError, match="There is no group '99'"):
        result.forget(group=99)


@pytest.mark.parametrize("form", ["numpy", "polars", "list"])
def test_every_container_gets_them_back(tiny, helpful, form):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3)).round(2)
    y = (X[:, 0] > 0).astype(float)
    y[HOLES] = np.nan
    given = {
        "numpy": (X, y),
        "polars": (pl.DataFrame(X), pl.Series("y", y, nan_to_null=True)),
        "list": (X.tolist(), y.tolist()),
    }[form]

    X_more, y_more = make(tiny, helpful).fit_resample(*given)

    labels = np.asarray(pl.Series(y_more).to_numpy(), dtype=float)
    assert type(X_more) is type(given[0])
    assert (np.asarray(X_more)[:40] == X).all()
    assert np.flatnonzero(np.isnan(labels)).tolist() == HOLES
    assert len(X_more) == len(y_more) == 60


def test_indices_of_the_sampler_count_the_rows_given(tiny, helpful, patients):
    X, y, _ = patients
    y = y.astype(object).where(~np.isin(np.arange(40), HOLES), None)
    augmenter = make(tiny, helpful)

    X_more, y_more = augmenter.fit_resample(X, y)

    assert augmenter.sample_indices_[:40].tolist() == list(range(40))
    assert not np.isin(augmenter.sample_indices_[40:], HOLES).any()
    assert len(augmenter.sample_indices_) == len(X_more) == len(y_more)


def test_a_table_without_any_label_is_still_refused(tiny):
    frame = pd.DataFrame({"a": range(20), "b": range(20, 0, -1), "y": [None] * 20})

    with pytest.raises(ValueError, match="missing labels"):
        augment(frame, "y", preset=tiny)
