from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal
from scipy.special import expit, softmax
from sklearn.compose import (
    ColumnTransformer,
    TransformedTargetRegressor,
    make_column_selector,
)
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import (
    BayesianRidge,
    LinearRegression,
    LogisticRegression,
    Perceptron,
    Ridge,
    RidgeClassifier,
)
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.svm import SVC

from tabtap.errors import UserInputError
from tabtap.evaluate.learners import (
    SEED,
    answer_with,
    class_probabilities,
    encode,
    misses_columns,
    names_columns,
    rows_as_given,
    value_moments,
)
from tabtap.table import read_frame

# ---- Learners fitted on contexts.


@pytest.fixture
def labelled(build_table):
    rng = np.random.default_rng(0)
    label = np.arange(30) % 3
    return build_table(label, rng.normal(size=30) + 2.0 * label)


def answer(learner, context, queries):
    return answer_with({"it": learner}, [context], [queries])[0]["it"]


def test_answers_are_those_of_the_learner_fitted_on_the_context(labelled):
    context, queries = labelled.take(np.arange(20)), labelled.take(np.arange(20, 30))
    seen, (unseen,) = encode(context, [queries])

    found = answer(LogisticRegression(), context, queries)

    model = LogisticRegression().fit(seen, context.target)
    assert found.probabilities == pytest.approx(model.predict_proba(unseen))


def test_a_class_between_those_of_the_context_has_probability_zero(labelled):
    context = labelled.take(labelled.target != 1)

    found = answer(LogisticRegression(), context, labelled).probabilities

    assert (found[:, 1] == 0.0).all()
    assert found[labelled.target == 2, 2].mean() > 0.8


def test_a_context_of_one_class_answers_with_it(labelled):
    context = labelled.take(labelled.target == 2)

    found = answer(LogisticRegression(), context, labelled)

    assert found.probabilities.tolist() == [[0.0, 0.0, 1.0]] * 30


def test_a_context_of_one_target_value_answers_with_it(build_table):
    context = build_table([5.0, 5.0], [1.0, 2.0])

    found = answer(Ridge(), context, context)

    assert (found.mean.tolist(), found.variance.tolist()) == ([5.0, 5.0], [0.0, 0.0])


def test_no_queries_get_no_answers(labelled, build_table):
    values = build_table([1.0, 2.0], [1.0, 2.0])

    no_labels = answer(LogisticRegression(), labelled, labelled.empty())
    no_numbers = answer(Ridge(), values, values.empty())

    assert no_labels.probabilities.shape == (0, 3)
    assert no_numbers.mean.shape == no_numbers.variance.shape == (0,)


def test_neighbours_are_never_more_than_the_rows(labelled):
    context = labelled.take(np.arange(3))
    nested = make_pipeline(StandardScaler(), KNeighborsClassifier(5))

    found = answer(nested, context, labelled)

    assert found.probabilities == pytest.approx(1 / 3)


def test_a_random_state_left_open_is_fixed(labelled):
    context = labelled.take(np.arange(20))

    left_open = answer(RandomForestClassifier(5), context, labelled)

    fixed = answer(RandomForestClassifier(5, random_state=SEED), context, labelled)
    chosen = answer(RandomForestClassifier(5, random_state=1), context, labelled)
    assert np.array_equal(left_open.probabilities, fixed.probabilities)
    assert not np.array_equal(left_open.probabilities, chosen.probabilities)


def test_the_learner_passed_is_never_fitted(labelled):
    learner = LogisticRegression()

    answer(learner, labelled, labelled)

    assert not hasattr(learner, "coef_")


def test_fits_side_by_side_give_the_answers_of_one_after_the_other(labelled):
    learners = {"line": LogisticRegression(), "near": KNeighborsClassifier()}
    contexts = [labelled.take(np.arange(15)), labelled.take(np.arange(10, 30))]
    queries = [labelled.take(np.arange(15, 30)), labelled.take(np.arange(10))]

    together = answer_with(learners, contexts, queries, n_jobs=2)

    alone = answer_with(learners, contexts, queries)
    for one, other in zip(together, alone, strict=True):
        assert list(one) == list(other) == ["line", "near"]
        for name in learners:
            assert np.array_equal(one[name].probabilities, other[name].probabilities)


def test_a_learner_of_the_wrong_kind_is_refused(labelled, build_table):
    values = build_table([1.0, 2.0], [1.0, 2.0])

    with pytest.raises(UserInputError, match="it is a regressor, but"):
        answer(Ridge(), labelled, labelled)
    with pytest.raises(UserInputError, match="it is a classifier, but"):
        answer(LogisticRegression(), values, values)


def test_a_learner_that_refuses_the_rows_is_named(labelled):
    context = labelled.take(np.arange(3))  # one row per class, and it wants five folds
    needy = StackingClassifier([("line", LogisticRegression())], cv=5)

    with pytest.raises(UserInputError, match="it cannot be fitted on a context of 3"):
        answer(needy, context, labelled)


@pytest.mark.parametrize(
    ("n_contexts", "n_queries"), [(2, 1), (0, 0)], ids=["unequal", "none"]
)
def test_contexts_and_queries_that_do_not_pair_are_refused(
    labelled, n_contexts, n_queries
):
    learners = {"it": LogisticRegression()}

    with pytest.raises(UserInputError, match="cannot be paired"):
        answer_with(learners, [labelled] * n_contexts, [labelled] * n_queries)


def test_a_context_without_rows_is_refused(labelled):
    with pytest.raises(UserInputError, match="Context 1 has no rows"):
        answer_with(
            {"it": LogisticRegression()},
            [labelled, labelled.empty()],
            [labelled, labelled],
        )


# ---- Their answers as predictions.


@pytest.fixture
def three_blobs():
    rng = np.random.default_rng(0)
    code = np.repeat([0, 1, 2], 10)
    return rng.normal(size=(30, 2)) + 3 * np.eye(3)[code][:, :2], code


def test_stated_probabilities_are_taken_as_they_are(three_blobs):
    model = LogisticRegression().fit(*three_blobs)

    answer = class_probabilities(model, three_blobs[0], 3)

    assert answer == pytest.approx(model.predict_proba(three_blobs[0]))


def test_margins_of_many_classes_become_probabilities_by_softmax(three_blobs):
    model = RidgeClassifier().fit(*three_blobs)

    answer = class_probabilities(model, three_blobs[0], 3)

    assert answer == pytest.approx(
        softmax(model.decision_function(three_blobs[0]), axis=1)
    )


def test_margins_of_two_classes_become_probabilities_by_the_logistic(three_blobs):
    matrix, code = three_blobs[0][:20], three_blobs[1][:20]
    model = Perceptron().fit(matrix, code)

    answer = class_probabilities(model, matrix, 2)

    assert answer[:, 1] == pytest.approx(expit(model.decision_function(matrix)))
    assert answer.sum(axis=1) == pytest.approx(1.0)


def test_margins_between_pairs_of_classes_are_not_taken_for_classes():
    rng = np.random.default_rng(0)
    code = np.repeat([0, 1, 2, 3], 5)
    matrix = rng.normal(size=(20, 2)) + 9 * code[:, None]
    model = SVC(decision_function_shape="ovo").fit(matrix, code)  # six margins

    answer = class_probabilities(model, matrix, 4)

    assert answer.tolist() == np.eye(4)[code].tolist()


def test_a_model_that_only_names_labels_is_counted_by_its_votes():
    class Namer:
        def predict(self, matrix):
            return np.resize([2, 0], len(matrix))

    answer = class_probabilities(Namer(), np.zeros((2, 1)), 3)

    assert answer.tolist() == [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]


def test_a_stated_deviation_is_the_variance():
    matrix, values = np.arange(10.0)[:, None], np.arange(10.0) ** 2
    model = BayesianRidge().fit(matrix, values)

    mean, variance = value_moments(model, matrix, matrix, values)

    stated_mean, stated_deviation = model.predict(matrix, return_std=True)
    assert mean == pytest.approx(stated_mean)
    assert variance == pytest.approx(stated_deviation**2)


def test_the_trees_of_a_forest_give_its_variance():
    matrix, values = np.arange(10.0)[:, None], np.arange(10.0) ** 2
    model = RandomForestRegressor(5, random_state=0).fit(matrix, values)

    mean, variance = value_moments(model, matrix, matrix, values)

    trees = np.array([tree.predict(matrix) for tree in model.estimators_])
    assert mean == pytest.approx(trees.mean(axis=0))
    assert variance == pytest.approx(trees.var(axis=0))


def test_other_regressors_have_the_variance_of_their_residuals():
    seen, values = np.array([[-1.0], [0.0], [1.0]]), np.array([1.0, -2.0, 1.0])
    model = LinearRegression().fit(seen, values)  # the line is 0 everywhere

    mean, variance = value_moments(model, np.array([[7.0], [8.0]]), seen, values)

    assert mean == pytest.approx([0.0, 0.0])
    assert variance == pytest.approx([2.0, 2.0])


# ---- Tables as matrices.


def test_numbers_are_standardised_by_the_training_rows(build_table):
    train = build_table([0, 1], [1.0, 3.0])
    test = build_table([0], [5.0])

    seen, (unseen,) = encode(train, [test])

    assert seen.tolist() == [[-1.0], [1.0]]
    assert unseen.tolist() == [[3.0]]


def test_a_missing_number_is_the_training_mean(build_table):
    train = build_table([0, 1, 0], [1.0, 3.0, np.nan])
    test = build_table([0], [np.nan])

    seen, (unseen,) = encode(train, [test])

    assert seen[2].tolist() == unseen[0].tolist() == [0.0]


def test_categories_are_one_hot_with_a_column_for_missing(build_table):
    train = build_table([0, 1, 0], np.array([0, 1, -1]))

    seen, _ = encode(train, [])

    assert seen.tolist() == [[0, 1, 0], [0, 0, 1], [1, 0, 0]]


def test_a_level_not_met_in_training_is_all_zeros(build_table):
    train = build_table([0, 1], np.array([0, 1]))
    test = build_table([0], np.array([2]))

    _, (unseen,) = encode(train, [test])

    assert unseen.tolist() == [[0.0, 0.0]]


def test_columns_without_any_value_or_any_spread_become_zeros(build_table):
    train = build_table([0, 1], [np.nan, np.nan], [4.0, 4.0])

    seen, _ = encode(train, [])

    assert seen.tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_the_largest_floats_stay_finite(build_table):
    train = build_table([0, 1], [1e308, -1e308])

    seen, _ = encode(train, [])

    assert seen.ravel().tolist() == [1.0, -1.0]


def test_a_table_without_usable_columns_becomes_one_column_of_zeros(build_table):
    train = build_table([0, 1])

    seen, _ = encode(train, [])

    assert seen.tolist() == [[0.0], [0.0]]


@pytest.mark.parametrize(
    ("dtype", "levels"), [("int64", (2, 4)), ("boolean", (False, True))]
)
def test_categories_whose_values_are_numbers_are_read_as_numbers(
    build_table, dtype, levels
):
    table = build_table([0, 1, 0], np.array([0, 1, -1]))
    flag = replace(table.schema.features[0], dtype=dtype, levels=levels)
    table = replace(table, schema=replace(table.schema, features=(flag,)))

    seen, _ = encode(table, [])

    # The missing cell takes the mean, so the deviation is that of (-1, 1, 0).
    assert seen.ravel() == pytest.approx(np.array([-1.0, 1.0, 0.0]) * np.sqrt(1.5))


def test_a_table_without_rows_has_the_columns_of_the_training_rows(build_table):
    train = build_table([0, 1], [1.0, 3.0], np.array([0, 1]))

    _, (nothing,) = encode(train, [train.empty()])

    assert nothing.shape == (0, 3)


# ---- A pipeline written for the user's columns gets them, everyone else a matrix.


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


def answer_half(learner, table):
    context, asked = halves(table)
    return answer_with({"it": learner}, [context], [asked])[0]["it"]


def test_a_pipeline_answers_as_it_does_on_the_users_own_frame(birds):
    pipeline = make_pipeline(columns_of("mass", "bill"), LogisticRegression())

    found = answer_half(pipeline, read_frame(birds, "sex"))

    features, sex = birds.drop(columns="sex"), birds["sex"]
    by_hand = pipeline.fit(features[:24], sex[:24]).predict_proba(features[24:])
    assert found.probabilities == pytest.approx(by_hand)


def test_a_regression_pipeline_answers_as_it_does_on_the_users_own_frame(birds):
    pipeline = make_pipeline(columns_of("bill"), Ridge())
    features = birds.drop(columns=["mass", "sex"])

    found = answer_half(pipeline, read_frame(features, y=birds["mass"].astype(float)))

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

    found = answer_half(pipeline, read_frame(array, y=birds["sex"].to_numpy()))

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

    found = answer_half(pipeline, read_frame(birds, "sex"))

    mass = birds[["mass"]].to_numpy()
    plain = make_pipeline(StandardScaler(), LogisticRegression())
    by_hand = plain.fit(mass[:24], birds["sex"][:24]).predict_proba(mass[24:])
    assert found.probabilities == pytest.approx(by_hand)


def test_a_booster_that_names_its_categories_gets_them(birds):
    booster = HistGradientBoostingClassifier(
        categorical_features=["island"], min_samples_leaf=5, max_iter=5
    )
    frame = birds.drop(columns="tag")

    found = answer_half(booster, read_frame(frame, "sex"))

    booster.set_params(random_state=42)
    features = frame.drop(columns="sex")
    by_hand = booster.fit(features[:24], frame["sex"][:24])
    assert found.probabilities == pytest.approx(by_hand.predict_proba(features[24:]))


def test_a_column_that_is_not_there_is_named(birds):
    pipeline = make_pipeline(columns_of("wingspan"), LogisticRegression())

    with pytest.raises(
        UserInputError, match=r"it cannot be fitted.*(wingspan|not a col)"
    ):
        answer_half(pipeline, read_frame(birds, "sex"))


def test_errors_about_other_things_are_not_about_columns():
    assert not misses_columns(ValueError("n_neighbors must be positive"))
    assert misses_columns(AttributeError("'numpy.ndarray' object has no 'loc'"))
