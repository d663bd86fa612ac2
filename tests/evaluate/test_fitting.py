import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier, StackingClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tabtap.errors import UserInputError
from tabtap.evaluate.learners import SEED, answer_with, encode


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
