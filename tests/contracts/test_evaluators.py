"""Promises every evaluator keeps.  A new one earns them by joining the list below."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from tabtap.api.own_parts import check_evaluator
from tabtap.domain import ClassPrediction
from tabtap.evaluate import (
    EnsembleEvaluator,
    EstimatorEvaluator,
    HoldoutEvaluator,
    PanelEvaluator,
    PanelPrediction,
)
from tabtap.table import read_frame

LABELS, NUMBERS = "classification", "regression"


def tabpfn_v1():
    from tabtap.evaluate.tabpfn_v1 import TabPFNv1
    from tabtap.evaluate.weights import weights_path

    if weights_path("tabpfn-v1") is None:
        pytest.skip("the weights of tabpfn-v1 are not here; fetch_weights brings them")
    return TabPFNv1()


def tabpfn_v2(task):
    from tabtap.evaluate.in_context import TabPFNPackage, missing_part

    if (lacking := missing_part("v2", task)) is not None:
        pytest.skip(f"tabpfn-v2: {lacking}")
    return TabPFNPackage("v2")


def tabicl(task):
    from tabtap.evaluate.in_context import TabICL

    if (lacking := TabICL().missing_part(task)) is not None:
        pytest.skip(f"tabicl: {lacking}")
    return TabICL()


EVALUATORS = {
    "logistic regression": (lambda: EstimatorEvaluator(LogisticRegression()), LABELS),
    "nearest neighbours": (lambda: EstimatorEvaluator(KNeighborsClassifier()), LABELS),
    "margins only": (lambda: EstimatorEvaluator(LinearSVC()), LABELS),
    "ridge": (lambda: EstimatorEvaluator(Ridge()), NUMBERS),
    "ensemble of labels": (EnsembleEvaluator, LABELS),
    "ensemble of numbers": (EnsembleEvaluator, NUMBERS),
    "holdout of labels": (HoldoutEvaluator, LABELS),
    "holdout of numbers": (HoldoutEvaluator, NUMBERS),
    "panel of labels": (PanelEvaluator, LABELS),
    "panel of numbers": (PanelEvaluator, NUMBERS),
    "tabpfn-v1": (tabpfn_v1, LABELS),
    "tabpfn-v2 of labels": (lambda: tabpfn_v2(LABELS), LABELS),
    "tabpfn-v2 of numbers": (lambda: tabpfn_v2(NUMBERS), NUMBERS),
    "tabicl of labels": (lambda: tabicl(LABELS), LABELS),
    "tabicl of numbers": (lambda: tabicl(NUMBERS), NUMBERS),
}
OF_LABELS = [name for name, (_, task) in EVALUATORS.items() if task == LABELS]


def mixed_table(task, n_rows=60):
    """Return rows with numbers, holes, flags and levels, whose target is learnable."""
    rng = np.random.default_rng(1)
    label = np.arange(n_rows) % 3
    frame = pd.DataFrame(
        {
            "dose": 4.0 * label + rng.normal(size=n_rows),
            "pulse": pd.array(rng.integers(50, 90, n_rows), dtype="Int64"),
            "colour": rng.choice(["red", "green", "blue"], n_rows).astype(object),
            "smoker": rng.random(n_rows) < 0.4,
        }
    )
    frame.loc[rng.random(n_rows) < 0.2, "pulse"] = pd.NA
    frame.loc[rng.random(n_rows) < 0.2, "colour"] = None
    if task == LABELS:
        frame["target"] = np.array(["low", "middle", "top"])[label]
    else:
        frame["target"] = 1000.0 + 25.0 * frame["dose"] + rng.normal(size=n_rows)
    return read_frame(frame, "target")


TABLES = {task: mixed_table(task) for task in (LABELS, NUMBERS)}


@pytest.fixture(scope="module", params=EVALUATORS)
def case(request):
    return request.param


@pytest.fixture(scope="module")
def evaluator(case):
    return EVALUATORS[case][0]()


@pytest.fixture(scope="module")
def table(case):
    return TABLES[EVALUATORS[case][1]]


@pytest.fixture(scope="module")
def context(table):
    return table.take(np.arange(24))


@pytest.fixture(scope="module")
def queries(table):
    return table.take(np.arange(40, 52))


@pytest.fixture(scope="module")
def told(evaluator, context, queries):
    """Give the answer to the plainest question, asked once."""
    return ask(evaluator, context, queries)


only_labels = pytest.mark.parametrize("case", OF_LABELS, indirect=True, scope="module")


def facts(prediction):
    """Return everything a prediction says, as one matrix with a row per query."""
    if isinstance(prediction, PanelPrediction):
        return np.hstack([facts(member) for member in prediction.members.values()])
    if isinstance(prediction, ClassPrediction):
        return prediction.probabilities
    return np.column_stack([prediction.mean, prediction.variance])


def probabilities(prediction):
    if isinstance(prediction, PanelPrediction):
        return prediction.mixture.probabilities
    return prediction.probabilities


def ask(evaluator, context, queries):
    (prediction,) = evaluator.predict([context], [queries])
    return prediction


def test_pairs_are_answered_in_the_order_given(
    evaluator, table, context, queries, told
):
    longer = table.take(np.arange(20, 60))
    fewer = table.take(np.arange(7))

    first, second = evaluator.predict([context, longer], [queries, fewer])

    other = ask(evaluator, longer, fewer)
    assert facts(first) == pytest.approx(facts(told), abs=1e-6)
    assert facts(second) == pytest.approx(facts(other), abs=1e-6)


def test_an_answer_does_not_depend_on_the_queries_beside_it(
    evaluator, context, queries, told
):
    backwards = ask(evaluator, context, queries.take(np.arange(12)[::-1]))
    alone = ask(evaluator, context, queries.take(np.array([5])))

    assert facts(backwards)[::-1] == pytest.approx(facts(told), abs=1e-6)
    assert facts(alone)[0] == pytest.approx(facts(told)[5], abs=1e-6)


def test_equal_questions_get_equal_answers(evaluator, context, queries, told):
    again = ask(evaluator, context, queries)

    assert np.array_equal(facts(again), facts(told))


def test_it_keeps_the_promises_that_a_judge_of_ones_own_is_held_to(
    evaluator, context, queries
):
    """Rows left alone; alike when asked again, in any company and two at once."""
    check_evaluator(evaluator, context, queries)


def test_the_targets_of_queries_are_never_read(evaluator, context, queries, told):
    hidden = replace(queries, target=np.roll(queries.target, 1))

    unaided = ask(evaluator, context, hidden)

    assert np.array_equal(facts(unaided), facts(told))


def test_answers_follow_the_context(evaluator, table, queries):
    context = table.take(np.arange(40))
    flipped = replace(context, target=context.target[np.arange(40)[::-1]])

    taught, misled = evaluator.predict([context, flipped], [queries, queries])

    taught, misled = taught.in_unit_of(context), misled.in_unit_of(context)
    assert taught.scores(queries).mean() > 0.6
    assert taught.losses(queries).mean() < misled.losses(queries).mean()


def test_rows_full_of_holes_and_levels_never_met_are_answered(
    evaluator, table, queries
):
    colour = 2
    met = (table.cells[colour] == 0) | (table.missing[:, colour] > 0)
    context = table.take(np.flatnonzero(met))
    empty = replace(queries, missing=np.ones_like(queries.missing))

    strange = facts(ask(evaluator, context, queries))
    blank = facts(ask(evaluator, context, empty))

    assert np.isfinite(strange).all()
    assert np.isfinite(blank).all()
    assert np.ptp(blank, axis=0) == pytest.approx(0.0, abs=1e-6)


def test_columns_that_are_empty_in_the_context_are_answered(
    evaluator, context, queries
):
    missing = context.missing.copy()
    missing[:, 1:3] = 1

    answer = ask(evaluator, replace(context, missing=missing), queries)

    assert np.isfinite(facts(answer)).all()


def test_one_row_per_class_is_enough(evaluator, table, queries):
    context = table.take(np.arange(3))

    prediction = ask(evaluator, context, queries).in_unit_of(table)

    assert np.isfinite(prediction.losses(queries)).all()
    assert np.isfinite(prediction.uncertainty()).all()


def test_a_single_row_is_enough(evaluator, table, queries):
    prediction = ask(evaluator, table.take(np.array([1])), queries).in_unit_of(table)

    assert np.isfinite(prediction.losses(queries)).all()


def test_no_queries_get_no_answers(evaluator, context):
    assert len(ask(evaluator, context, context.empty())) == 0


def test_losses_scores_and_hardness_come_one_per_query(context, queries, told):
    prediction = told.in_unit_of(context)

    scores = prediction.scores(queries)

    assert len(prediction) == 12
    assert scores.shape == (12,)
    assert ((scores >= 0) & (scores <= 1)).all()
    for figure in (prediction.losses(queries), prediction.hardness(queries)):
        assert figure.shape == (12,)
        assert (figure >= 0).all()


@only_labels
def test_probabilities_sum_to_one(told):
    stated = probabilities(told)

    assert stated.shape == (12, 3)
    assert (stated >= 0).all()
    assert stated.sum(axis=1) == pytest.approx(1.0)


@only_labels
@pytest.mark.parametrize("absent", [0, 1, 2])
def test_probabilities_follow_the_label_order_when_a_class_is_absent(
    evaluator, table, queries, absent
):
    context = table.take(np.flatnonzero(table.target[:40] != absent))

    stated = probabilities(ask(evaluator, context, queries))

    known = queries.target != absent
    assert (stated[:, absent] == 0).all()
    assert stated.sum(axis=1) == pytest.approx(1.0)
    assert np.mean(stated.argmax(axis=1)[known] == queries.target[known]) > 0.8


@only_labels
def test_a_single_class_is_the_only_answer(evaluator, table, queries):
    context = table.take(np.flatnonzero(table.target == 1))

    stated = probabilities(ask(evaluator, context, queries))

    assert stated == pytest.approx(np.tile([0.0, 1.0, 0.0], (12, 1)))
