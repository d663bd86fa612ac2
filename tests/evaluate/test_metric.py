from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    f1_score,
    log_loss,
    make_scorer,
    mean_absolute_error,
    mean_squared_error,
    precision_score,
    r2_score,
    recall_score,
    roc_auc_score,
)

from tabtap.domain import ClassPrediction, ValuePrediction
from tabtap.errors import UserInputError
from tabtap.evaluate import PanelPrediction, metric_of, metric_of_loss

LABELS = np.array([0, 1, 1, 0, 1])
STATED = np.array([[0.9, 0.1], [0.4, 0.6], [0.7, 0.3], [0.2, 0.8], [0.3, 0.7]])
TRUTH = np.array([1.0, 2.0, 4.0])
MEAN = np.array([1.5, 2.0, 3.0])


@pytest.fixture
def labels(build_table):
    return build_table(LABELS, np.zeros(5))


@pytest.fixture
def values(build_table):
    return build_table(TRUTH, np.zeros(3))


def renamed(table, levels, dtype="object"):
    column = replace(table.schema.target.column, levels=levels, dtype=dtype)
    target = replace(table.schema.target, column=column)
    return replace(table, schema=replace(table.schema, target=target))


@pytest.mark.parametrize(
    ("scoring", "expected"),
    [
        ("accuracy", accuracy_score(LABELS, STATED.argmax(axis=1))),
        ("neg_log_loss", -log_loss(LABELS, STATED)),
    ],
)
def test_mean_of_rows_metrics_of_labels_are_told_per_query(labels, scoring, expected):
    scores = metric_of(scoring).score(ClassPrediction(STATED), labels)

    assert scores.shape == (5,)
    assert scores.mean() == pytest.approx(expected)


@pytest.mark.parametrize(
    ("scoring", "expected"),
    [
        ("neg_mean_squared_error", -mean_squared_error(TRUTH, MEAN)),
        ("neg_mean_absolute_error", -mean_absolute_error(TRUTH, MEAN)),
    ],
)
def test_mean_of_rows_metrics_of_numbers_are_told_per_query(values, scoring, expected):
    prediction = ValuePrediction(MEAN, np.ones(3))

    scores = metric_of(scoring).score(prediction, values)

    assert scores.shape == (3,)
    assert scores.mean() == pytest.approx(expected)


@pytest.mark.parametrize("levels", [(0, 1, 2), (2, 0, 1)])
def test_other_scorers_give_one_number_per_fold_whatever_the_level_order(
    build_table, levels
):
    rng = np.random.default_rng(0)
    codes = np.arange(12) % 3
    stated = rng.dirichlet(np.ones(3), size=12)
    queries = renamed(build_table(codes, np.zeros(12)), levels, "int64")

    area = metric_of("roc_auc_ovr").score(ClassPrediction(stated), queries)

    expected = roc_auc_score(codes, stated, multi_class="ovr")
    assert area == pytest.approx([expected])


def test_a_scorer_of_numbers_sees_the_targets_own_units(values):
    fold = metric_of("r2").score(ValuePrediction(MEAN, np.ones(3)), values)

    assert fold == pytest.approx([r2_score(TRUTH, MEAN)])


def test_a_users_scorer_sees_labels_as_they_were_given(labels):
    labels = renamed(labels, ("no", "yes"))
    scorer = make_scorer(f1_score, pos_label="yes")

    fold = metric_of(scorer).score(ClassPrediction(STATED), labels)

    assert fold == pytest.approx([f1_score(LABELS, STATED.argmax(axis=1))])


@pytest.mark.parametrize(
    ("scoring", "by_hand"),
    [
        ("f1", lambda y, p: f1_score(y, p.argmax(axis=1))),
        ("precision", lambda y, p: precision_score(y, p.argmax(axis=1))),
        ("recall", lambda y, p: recall_score(y, p.argmax(axis=1))),
        ("roc_auc", lambda y, p: roc_auc_score(y, p[:, 1])),
        ("average_precision", lambda y, p: average_precision_score(y, p[:, 1])),
    ],
)
@pytest.mark.parametrize(
    "levels", [("no", "yes"), ("yes", "no"), (0, 2), (0, 1), (-1, 1), (False, True)]
)
def test_of_two_labels_the_last_is_the_positive_one(labels, scoring, by_hand, levels):
    labels = renamed(labels, levels)

    fold = metric_of(scoring).score(ClassPrediction(STATED), labels)

    assert fold == pytest.approx([by_hand(LABELS, STATED)])


def test_a_one_among_two_labels_is_the_positive_one_as_in_scikit_learn(labels):
    labels = renamed(labels, (1, 2), "int64")

    fold = metric_of("f1").score(ClassPrediction(STATED), labels)

    expected = f1_score(LABELS + 1, STATED.argmax(axis=1) + 1)
    assert expected != pytest.approx(f1_score(LABELS, STATED.argmax(axis=1)))
    assert fold == pytest.approx([expected])


def test_what_a_scorer_cannot_score_is_said_with_its_reason(labels, values):
    with pytest.raises(
        UserInputError,
        match=r"scoring='r2' cannot score 5 rows of 2 of 2 classes: could not convert",
    ):
        metric_of("r2").score(ClassPrediction(STATED), renamed(labels, ("no", "yes")))
    with pytest.raises(
        UserInputError,
        match=r"'roc_auc' cannot score 3 rows of numbers: a prediction has none",
    ):
        metric_of("roc_auc").score(ValuePrediction(MEAN, MEAN), values)


def test_a_users_scorer_that_fails_is_named(labels):
    def mine(_estimator, _rows, _truth):
        raise KeyError("weight")

    with pytest.raises(UserInputError, match=r"scoring='mine' cannot .*'weight'\. Use"):
        metric_of(mine).score(ClassPrediction(STATED), labels)


def test_an_undefined_score_is_no_number_and_no_warning(labels):
    one_class = labels.take(LABELS == 1)

    fold = metric_of("roc_auc").score(ClassPrediction(STATED[LABELS == 1]), one_class)

    assert np.isnan(fold).tolist() == [True]


def test_labels_of_mixed_types_are_scored_by_their_codes(labels):
    labels = renamed(labels, (0, "yes"))

    fold = metric_of("balanced_accuracy").score(ClassPrediction(STATED), labels)

    assert fold == pytest.approx([(1 / 2 + 2 / 3) / 2])


def test_tabtaps_own_metrics_are_the_predictions(labels):
    prediction = ClassPrediction(STATED)

    assert metric_of().score(prediction, labels) == pytest.approx(
        prediction.scores(labels)
    )
    assert metric_of("loss").score(prediction, labels) == pytest.approx(
        -prediction.losses(labels)
    )


def test_a_panels_score_is_the_mean_of_its_members(labels):
    other = ClassPrediction(np.eye(2)[LABELS])
    both = PanelPrediction({"one": ClassPrediction(STATED), "other": other})

    scores = metric_of("accuracy").score(both, labels)

    assert scores.tolist() == [1.0, 1.0, 0.5, 0.5, 1.0]


def test_a_loss_counts_against(values, labels):
    def absolute(truth, predicted):
        return np.abs(truth - predicted)

    def surprise(truth, predicted):
        return log_loss(truth, predicted)

    per_query = metric_of_loss(absolute).score(ValuePrediction(MEAN, MEAN), values)
    per_fold = metric_of_loss(surprise).score(ClassPrediction(STATED), labels)

    assert per_query.tolist() == [-0.5, 0.0, -1.0]
    assert per_fold == pytest.approx([-log_loss(LABELS, STATED)])
    assert metric_of_loss(absolute).name == "absolute"


def test_an_unknown_scorer_is_refused():
    with pytest.raises(UserInputError, match=r"scoring='acuracy' is not usable"):
        metric_of("acuracy")


def test_a_metric_of_the_other_task_is_refused(labels, values):
    with pytest.raises(UserInputError, match="accuracy scores labels"):
        metric_of("accuracy").score(ValuePrediction(MEAN, MEAN), values)
    with pytest.raises(UserInputError, match="neg_mean_squared_error scores numbers"):
        metric_of("neg_mean_squared_error").score(ClassPrediction(STATED), labels)
