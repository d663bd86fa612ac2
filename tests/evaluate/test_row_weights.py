"""Weights of rows: who is fitted with them, and what they do to scores."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.compose import TransformedTargetRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import (
    accuracy_score,
    f1_score,
    log_loss,
    mean_absolute_error,
    roc_auc_score,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tabtap.domain import ClassPrediction, Lineages, ValuePrediction
from tabtap.errors import UserInputError
from tabtap.evaluate import EstimatorEvaluator, PanelEvaluator, metric_of
from tabtap.evaluate.evaluators import takes_no_weights
from tabtap.evaluate.judging import FoldReferee, mean_one
from tabtap.evaluate.learners import (
    answer_with,
    encode,
    weight_argument,
    weights_of,
)
from tabtap.table.table import concat

N_ROWS = 30
WEIGHTS = np.linspace(0.2, 1.8, N_ROWS)  # the mean is 1


@pytest.fixture
def real(build_table):
    rng = np.random.default_rng(0)
    label = np.arange(N_ROWS) % 2
    return build_table(label, label + rng.normal(size=N_ROWS))


@pytest.mark.parametrize(
    "learner",
    [LogisticRegression(), make_pipeline(StandardScaler(), LogisticRegression())],
    ids=["learner", "pipeline"],
)
@pytest.mark.parametrize("is_routed", [False, True])
def test_a_learner_is_fitted_with_the_weights_of_its_context(real, learner, is_routed):
    context, queries = real.take(np.arange(20)), real.take(np.arange(20, N_ROWS))

    with config_context(enable_metadata_routing=is_routed):
        found = answer_with({"it": learner}, [context], [queries], weights=WEIGHTS)

    seen, (unseen,) = encode(context, [queries])
    alone = LogisticRegression().fit(seen, context.target, WEIGHTS[:20])
    if learner is not None and hasattr(learner, "steps"):
        scale = StandardScaler().fit(seen)
        seen, unseen = scale.transform(seen), scale.transform(unseen)
        alone = LogisticRegression().fit(seen, context.target, WEIGHTS[:20])
    stated = found[0]["it"].probabilities
    assert stated == pytest.approx(alone.predict_proba(unseen))


def test_a_new_row_has_the_weight_of_the_row_it_was_made_from(real):
    made = real.take(np.array([7, 7, 3]))

    assert weights_of(concat([real, made]), WEIGHTS)[N_ROWS:] == pytest.approx(
        WEIGHTS[[7, 7, 3]]
    )


def test_a_learner_without_weights_is_fitted_all_the_same_and_named(real):
    plain = EstimatorEvaluator(KNeighborsClassifier(3))

    (found,) = plain.weighted(WEIGHTS).predict([real], [real])

    (expected,) = plain.predict([real], [real])
    assert found.probabilities == pytest.approx(expected.probabilities)
    assert takes_no_weights(plain, "classification") == ("KNeighborsClassifier",)
    assert "neighbors" in takes_no_weights(PanelEvaluator(), "classification")
    assert "linear" not in takes_no_weights(PanelEvaluator(), "classification")


def test_weights_reach_a_learner_of_a_target_that_is_transformed():
    inner = make_pipeline(StandardScaler(), Ridge())

    found = weight_argument(TransformedTargetRegressor(inner))

    assert found == "ridge__sample_weight"


@pytest.mark.parametrize(
    ("scoring", "expected"),
    [
        ("accuracy", lambda y, p, w: accuracy_score(y, p.argmax(1), sample_weight=w)),
        ("neg_log_loss", lambda y, p, w: -log_loss(y, p, sample_weight=w)),
        ("roc_auc", lambda y, p, w: roc_auc_score(y, p[:, 1], sample_weight=w)),
        ("f1", lambda y, p, w: f1_score(y, p.argmax(1), sample_weight=w)),
    ],
)
def test_the_mean_of_weighted_scores_is_the_weighted_score(real, scoring, expected):
    stated = np.random.default_rng(1).dirichlet([1.0, 1.0], N_ROWS)

    scores = metric_of(scoring).weighted(WEIGHTS).by_row(ClassPrediction(stated), real)

    assert scores.shape == (N_ROWS,)
    assert scores.mean() == pytest.approx(expected(real.target, stated, WEIGHTS))


def test_weighted_scores_of_numbers_are_those_of_scikit_learn(build_table):
    rng = np.random.default_rng(2)
    truth = rng.normal(size=N_ROWS)
    rows, told = build_table(truth, np.zeros(N_ROWS)), truth + rng.normal(size=N_ROWS)
    metric = metric_of("neg_mean_absolute_error").weighted(WEIGHTS)

    scores = metric.by_row(ValuePrediction(told, np.ones(N_ROWS)), rows)

    expected = mean_absolute_error(truth, told, sample_weight=WEIGHTS)
    assert scores.mean() == pytest.approx(-expected)


def test_a_yardstick_that_cannot_weigh_rows_is_refused_with_the_way_out():
    def scorer(estimator, rows, truth):
        return float(np.mean(estimator.predict(rows) == truth))

    with pytest.raises(UserInputError, match=r"takes no sample_weight.*'score'"):
        metric_of(scorer).weighted(WEIGHTS)


def test_a_weight_of_two_scores_as_a_row_that_is_there_twice(real):
    weights = np.where(np.arange(N_ROWS) < 10, 2.0, 1.0)
    fold = np.arange(N_ROWS) % 3
    doubled = np.concatenate([np.arange(N_ROWS), np.arange(10)])
    judge = EstimatorEvaluator(LogisticRegression())
    metric = metric_of("score")

    weighed = FoldReferee(
        *(real, Lineages(fold, crossfit=True), judge),
        metric.weighted(mean_one(weights, real)),
        weights=weights,
    ).scores(real.empty())
    twice = FoldReferee(
        *(real.take(doubled), Lineages(fold[doubled], crossfit=True), judge, metric)
    ).scores(real.empty())

    # Not quite: numbers are standardised by rows, not by their weights.
    one, other = weighed.by_learner[judge.name], twice.by_learner[judge.name]
    assert one.mean() == pytest.approx(other.mean(), abs=0.01)
    unweighed = FoldReferee(real, Lineages(fold, crossfit=True), judge, metric)
    plain = unweighed.scores(real.empty()).by_learner[judge.name]
    assert abs(plain.mean() - other.mean()) > 2 * abs(one.mean() - other.mean())
