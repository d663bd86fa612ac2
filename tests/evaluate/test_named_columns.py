"""A pipeline written for the user's columns gets them, everyone else a matrix."""

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal
from sklearn.compose import (
    ColumnTransformer,
    TransformedTargetRegressor,
    make_column_selector,
)
from sklearn.ensemble import HistGradientBoostingClassifier, VotingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from tabtap.errors import UserInputError
from tabtap.evaluate.learners import (
    answer_with,
    misses_columns,
    names_columns,
    rows_as_given,
)
from tabtap.table import read_frame


@pytest.fixture
def birds():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "mass": rng.integers(3000, 6000, 40),
            "island": pd.Categorical(rng.choice(["far", "near"], 40)),
            "bill": rng.normal(40, 5, 40).round(1),
            "tag": [f"bird {i}" for i in range(40)],
        }
    )
    frame.loc[::9, "bill"] = np.nan
    sex = np.where(frame["mass"] + rng.normal(0, 500, 40) > 4500, "m", "f")
    return frame.assign(sex=sex)


def columns_of(*numbers):
    tidy = make_pipeline(SimpleImputer(), StandardScaler())
    levels = OneHotEncoder(handle_unknown="ignore")
    return ColumnTransformer(
        [("numbers", tidy, list(numbers)), ("levels", levels, ["island"])]
    )


def halves(table):
    return table.take(np.arange(24)), table.take(np.arange(24, 40))


def answer(learner, table):
    context, asked = halves(table)
    return answer_with({"it": learner}, [context], [asked])[0]["it"]


def test_a_pipeline_answers_as_it_does_on_the_users_own_frame(birds):
    pipeline = make_pipeline(columns_of("mass", "bill"), LogisticRegression())

    found = answer(pipeline, read_frame(birds, "sex"))

    features, sex = birds.drop(columns="sex"), birds["sex"]
    by_hand = pipeline.fit(features[:24], sex[:24]).predict_proba(features[24:])
    assert found.probabilities == pytest.approx(by_hand)


def test_a_regression_pipeline_answers_as_it_does_on_the_users_own_frame(birds):
    pipeline = make_pipeline(columns_of("bill"), Ridge())
    features = birds.drop(columns=["mass", "sex"])

    found = answer(pipeline, read_frame(features, y=birds["mass"].astype(float)))

    pipeline.fit(features[:24], birds["mass"][:24])
    assert found.mean == pytest.approx(pipeline.predict(features[24:]))


def test_rows_are_given_with_their_names_dtypes_and_holes(birds):
    frame = rows_as_given(read_frame(birds, "sex").take(np.arange(24, 40)))

    wanted = birds.drop(columns="sex")[24:].reset_index(drop=True)
    assert_frame_equal(frame, wanted)


def test_an_array_is_given_as_an_array_whose_columns_have_numbers(birds):
    array = birds[["mass", "bill"]].to_numpy()
    pick = ColumnTransformer([("mass", StandardScaler(), [0])])
    pipeline = make_pipeline(pick, LogisticRegression())

    found = answer(pipeline, read_frame(array, y=birds["sex"].to_numpy()))

    by_hand = pipeline.fit(array[:24], birds["sex"][:24]).predict_proba(array[24:])
    assert found.probabilities == pytest.approx(by_hand)


def test_a_polars_frame_is_given_as_one(birds):
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"mass": birds["mass"].to_numpy(), "sex": [*birds["sex"]]})

    given = rows_as_given(read_frame(frame, "sex"))

    assert given.equals(frame.select("mass"))


@pytest.mark.parametrize(
    "learner",
    [
        make_pipeline(columns_of("mass"), LogisticRegression()),
        VotingClassifier([("a", make_pipeline(columns_of("mass"), Ridge()))]),
        GridSearchCV(make_pipeline(columns_of("mass"), Ridge()), {}),
        TransformedTargetRegressor(make_pipeline(columns_of("mass"), Ridge())),
        make_pipeline(FunctionTransformer(kw_args={}), make_column_selector()),
        type("Table", (), {"__module__": "skrub._table_vectorizer"})(),
    ],
    ids=["pipeline", "vote", "search", "target", "selector", "another package"],
)
def test_what_goes_by_columns_is_recognised_at_any_depth(learner):
    assert names_columns(learner)


@pytest.mark.parametrize(
    "learner",
    [
        LogisticRegression(),
        HistGradientBoostingClassifier(),
        make_pipeline(StandardScaler(), LogisticRegression()),
        object(),
    ],
)
def test_what_reads_any_matrix_is_not_taken_for_it(learner):
    assert not names_columns(learner)


def heavy(frame):
    return frame[["mass"]]


def renamed(frame):
    return frame.rename(columns={"mass": "weight"})[["weight"]]


@pytest.mark.parametrize("step", [heavy, renamed])
def test_a_step_that_fails_for_want_of_columns_gets_them(birds, step):
    pipeline = make_pipeline(
        FunctionTransformer(step), StandardScaler(), LogisticRegression()
    )

    found = answer(pipeline, read_frame(birds, "sex"))

    mass = birds[["mass"]].to_numpy()
    plain = make_pipeline(StandardScaler(), LogisticRegression())
    by_hand = plain.fit(mass[:24], birds["sex"][:24]).predict_proba(mass[24:])
    assert found.probabilities == pytest.approx(by_hand)


def test_a_booster_that_names_its_categories_gets_them(birds):
    booster = HistGradientBoostingClassifier(
        categorical_features=["island"], min_samples_leaf=5, max_iter=5
    )
    frame = birds.drop(columns="tag")

    found = answer(booster, read_frame(frame, "sex"))

    booster.set_params(random_state=42)
    features = frame.drop(columns="sex")
    by_hand = booster.fit(features[:24], frame["sex"][:24])
    assert found.probabilities == pytest.approx(by_hand.predict_proba(features[24:]))


def test_a_column_that_is_not_there_is_named(birds):
    pipeline = make_pipeline(columns_of("wingspan"), LogisticRegression())

    with pytest.raises(UserInputError, match=r"it cannot be fitted.*wingspan"):
        answer(pipeline, read_frame(birds, "sex"))


def test_errors_about_other_things_are_not_about_columns():
    assert not misses_columns(ValueError("n_neighbors must be positive"))
    assert misses_columns(AttributeError("'numpy.ndarray' object has no 'loc'"))
