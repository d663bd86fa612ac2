import inspect

import numpy as np
import pandas as pd
import polars as pl
import pytest
from imblearn.pipeline import Pipeline
from pandas.testing import assert_frame_equal, assert_series_equal
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler

from tabtap.api import PRESETS, TabularAugmenter, augment
from tabtap.domain.judgement import confidence_at
from tabtap.errors import UserInputError


def make(tiny, judge, **settings):
    settings = {"budget": 20, "random_state": 0, **settings}
    return TabularAugmenter(preset=tiny, evaluator="linear", referee=judge, **settings)


def test_real_rows_come_first_and_unchanged_then_the_committed_ones(
    tiny, helpful, patients
):
    X, y, _ = patients
    before = X.copy(), y.copy()

    X_more, y_more = make(tiny, helpful).fit_resample(X, y)

    assert len(X_more) == len(y_more) == len(X) + 20
    assert_frame_equal(X_more.iloc[: len(X)], X)
    assert_series_equal(y_more.iloc[: len(y)], y)
    assert X_more.dtypes.equals(X.dtypes)
    assert X_more.index.is_unique
    assert_frame_equal(X, before[0])
    assert_series_equal(y, before[1])


def test_nothing_is_added_when_rows_do_harm(tiny, harmful, patients):
    X, y, _ = patients
    augmenter = make(tiny, harmful)

    X_more, y_more = augmenter.fit_resample(X, y)

    assert_frame_equal(X_more, X)
    assert_series_equal(y_more, y)
    assert augmenter.result_.verdict == "no_gain"


def test_regression_targets_grow_with_their_rows(tiny, helpful, patients):
    X, _, cost = patients

    X_more, y_more = make(tiny, helpful).fit_resample(X, cost)

    assert len(X_more) == len(X) + 20
    assert y_more.dtype == cost.dtype
    assert y_more.iloc[len(X) :].between(cost.min(), cost.max()).all()


def test_polars_and_numpy_come_back_as_they_went_in(tiny, helpful, patients):
    X, y, _ = patients
    frame = pl.DataFrame(X.reset_index(drop=True).astype({"clinic": str}))
    array = X[["age", "dose"]].fillna(0.0).to_numpy(dtype=np.float32)

    from_polars = make(tiny, helpful).fit_resample(frame, pl.Series("sick", y.tolist()))
    from_numpy = make(tiny, helpful).fit_resample(array, y.to_numpy())

    assert isinstance(from_polars[0], pl.DataFrame)
    assert from_polars[0].schema == frame.schema
    assert from_polars[0][: len(X)].equals(frame)
    assert from_numpy[0].dtype == np.float32
    assert np.array_equal(from_numpy[0][: len(X)], array)
    assert isinstance(from_numpy[1], np.ndarray)


def test_the_constructor_only_stores_so_that_clones_are_equal(tiny):
    odd = TabularAugmenter(budget="nonsense", preset=tiny, confidence=7)

    copy = clone(odd).set_params(budget=-3)

    assert copy.get_params()["confidence"] == 7
    assert copy.budget == -3
    assert not hasattr(copy, "result_")


def test_equal_seeds_give_equal_tables_and_others_differ(tiny, helpful, patients):
    X, y, _ = patients

    first, _ = make(tiny, helpful).fit_resample(X, y)
    again, _ = make(tiny, helpful).fit_resample(X, y)
    other, _ = make(tiny, helpful, random_state=1).fit_resample(X, y)

    assert_frame_equal(first, again)
    assert not first.equals(other)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_it_works_in_a_pipeline_under_a_grid_search(tiny, helpful, patients, task):
    X, sick, cost = patients
    numbers = X[["age", "dose"]].fillna(5.0)
    labels = task == "classification"
    pipeline = Pipeline(
        [
            ("scale", StandardScaler()),
            ("augment", make(tiny, helpful, budget=8)),
            ("learn", LogisticRegression() if labels else Ridge()),
        ]
    )
    grid = {"augment__budget": [0, 8]}

    search = GridSearchCV(pipeline, grid, cv=2).fit(numbers, sick if labels else cost)

    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_sample_indices_lead_from_every_row_to_a_real_one(tiny, helpful, patients):
    X, y, _ = patients
    augmenter = make(tiny, helpful)

    _, y_more = augmenter.fit_resample(X, y)

    parents = augmenter.sample_indices_
    assert parents[: len(X)].tolist() == list(range(len(X)))
    assert (y.to_numpy()[parents] == y_more.to_numpy()).all()


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"budget": -1}, "budget"),
        ({"budget": 1.5}, "budget"),
        ({"preset": "huge"}, "preset"),
        ({"evaluator": "oracle"}, "evaluator"),
        ({"scoring": "beauty"}, "scoring"),
        ({"random_state": "seven"}, "random_state"),
        ({"time_budget": 0}, "time_budget"),
        ({"time_budget": "x"}, "time_budget"),
        ({"confidence": 1.5}, "confidence"),
        ({"mixture": {"maybe": 1.0}}, "mixture"),
        ({"n_jobs": "all"}, "n_jobs"),
        ({"license_policy": "none"}, "license_policy"),
        ({"task": "ranking"}, "task"),
        ({"groups": ["a"]}, "groups"),
        ({"rules": ["age <"]}, "age"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_bad_setting_is_named_before_anything_runs(patients, settings, named):
    X, y, _ = patients
    augmenter = TabularAugmenter(**{"evaluator": "linear", **settings})

    with pytest.raises(UserInputError, match=named):
        augmenter.fit_resample(X, y)


def test_a_mixture_is_given_by_class_label(tiny, helpful, patients):
    X, y, _ = patients
    augmenter = make(tiny, helpful, mixture={"yes": 1.0, "no": 0.0})

    _, y_more = augmenter.fit_resample(X, y)

    assert set(y_more.iloc[len(y) :]) == {"yes"}


def test_pandas_rows_with_other_labels_stay_aligned(tiny, helpful, patients):
    X, y, _ = patients

    X_more, y_more = make(tiny, helpful).fit_resample(X, y)

    assert X_more.index.equals(y_more.index)
    assert pd.Index(X.index).isin(X_more.index).all()


def test_the_target_keeps_its_own_row_labels(tiny, helpful, patients):
    X, y, _ = patients
    numbered = y.reset_index(drop=True)
    array = X[["age", "dose"]].fillna(0.0).to_numpy()

    _, beside_frame = make(tiny, helpful).fit_resample(X, numbered)
    _, beside_array = make(tiny, helpful).fit_resample(array, y)

    assert beside_frame.index.tolist() == list(range(len(X) + 20))
    assert beside_array.index[: len(y)].equals(y.index)


def test_lists_of_numbers_and_words_come_back_as_they_were(tiny, helpful, patients):
    X, y, _ = patients
    rows = X[["age", "clinic"]].astype(object).to_numpy().tolist()

    more, labels = make(tiny, helpful, budget=8).fit_resample(rows, y.tolist())

    assert more[: len(rows)] == rows
    assert labels[: len(y)] == y.tolist()
    assert {row[1] for row in more[len(rows) :]} <= {"north", "south"}


def test_numpy_s_whole_numbers_are_whole_numbers(tiny, helpful, patients):
    X, y, _ = patients

    X_more, _ = make(tiny, helpful, budget=np.int64(5)).fit_resample(X, y)

    assert len(X_more) == len(X) + 5


def test_verbose_tells_of_learning_windows_and_time_left(
    tiny, harmful, patients, capsys
):
    X, y, _ = patients

    make(tiny, harmful, verbose=1).fit_resample(X, y)

    told = capsys.readouterr().err
    assert "learned" in told
    assert "window 1 refused" in told
    assert "s to go" in told


def test_the_confidence_described_is_the_one_that_attempts_are_held_to():
    asked = PRESETS["default"].augment.commit.confidence
    first, *later = (f"{100 * confidence_at(k, asked):.3g}" for k in (1, 2, 3))
    described = " ".join(TabularAugmenter.__doc__.split())

    assert (
        f"at {asked} the first to {first} %, and after each that fails to "
        f"{', '.join(later)}, ... %"
    ) in described


def test_augment_offers_every_setting_with_the_defaults_of_the_augmenter():
    inside = dict(inspect.signature(TabularAugmenter).parameters)
    outside = dict(inspect.signature(augment).parameters)

    del outside["frame"], outside["target"]
    found = [(p.name, p.default, p.annotation) for p in outside.values()]
    assert found == [(p.name, p.default, p.annotation) for p in inside.values()]


BY_NAME = "linear: asked for by name."


@pytest.mark.parametrize(
    ("asked", "why"),
    [({}, "linear: chosen by the preset."), ({"evaluator": "linear"}, BY_NAME)],
    ids=["nobody asked", "asked"],
)
def test_a_judge_is_called_asked_for_only_if_somebody_asked(asked, why):
    frame = pd.DataFrame({"x": np.arange(20.0), "y": ["a", "b"] * 10})

    result = augment(frame, "y", budget=0, random_state=0, **asked)

    assert result.about.evaluator_why == why
