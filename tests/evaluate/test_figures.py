import numpy as np
import pytest
from sklearn.metrics import (
    accuracy_score,
    brier_score_loss,
    log_loss,
    mean_absolute_error,
    r2_score,
    roc_auc_score,
    root_mean_squared_error,
)

from tabtap.evaluate.figures import (
    ErrorBar,
    figure_kinds,
    figures,
    plain_figure,
    prediction_of,
)
from tabtap.evaluate.metric import shares

RNG = np.random.default_rng(0)
N_ROWS = 40
ERROR = ErrorBar(5)


@pytest.fixture
def labels(build_table):
    return build_table(RNG.permutation(np.arange(N_ROWS) % 3), np.zeros(N_ROWS))


@pytest.fixture
def numbers(build_table):
    return build_table(1000 + 30 * RNG.normal(size=N_ROWS), np.zeros(N_ROWS))


def by_name(rows, answers):
    made = figures(rows, [answers], [answers], [answers], ERROR)
    return {figure.name: figure.with_rows.value for figure in made}


def test_figures_of_labels_are_those_of_scikit_learn(labels):
    stated = RNG.dirichlet([1.0, 1.0, 1.0], N_ROWS)

    found = by_name(labels, stated[None])

    truth = labels.target
    assert found == pytest.approx(
        {
            "accuracy": accuracy_score(truth, stated.argmax(axis=1)),
            "AUC": roc_auc_score(truth, stated, multi_class="ovr"),
            "log loss": log_loss(truth, stated),
            "Brier score": brier_score_loss(truth, stated, scale_by_half=True),
        }
    )


def test_the_area_of_two_classes_is_that_of_scikit_learn_ties_and_all(build_table):
    rows = build_table(np.arange(N_ROWS) % 2, np.zeros(N_ROWS))
    stated = RNG.integers(0, 5, N_ROWS) / 5

    found = by_name(rows, np.column_stack([1 - stated, stated])[None])

    assert found["AUC"] == pytest.approx(roc_auc_score(rows.target, stated))


def test_figures_of_numbers_are_those_of_scikit_learn(numbers):
    told = numbers.target_values + 10 * RNG.normal(size=N_ROWS)

    found = by_name(numbers, told[None])

    truth = numbers.target_values
    assert found == pytest.approx(
        {
            "RMSE": root_mean_squared_error(truth, told),
            "MAE": mean_absolute_error(truth, told),
            "R2": r2_score(truth, told),
        }
    )


@pytest.mark.parametrize("which", ["labels", "numbers"])
def test_what_rows_contribute_is_the_jackknife(which, request):
    rows = request.getfixturevalue(which)
    answers = RNG.dirichlet([1.0, 1.0, 1.0], N_ROWS)
    if which == "numbers":
        answers = rows.target_values + 10 * RNG.normal(size=N_ROWS)
    prediction = prediction_of(answers, rows)

    for kind in figure_kinds(rows):

        def without(left, kind=kind):
            part = rows.take(left)
            return float(kind.by_row(prediction.take(left), part).mean())

        whole = float(kind.by_row(prediction, rows).mean())
        expected = shares(whole, without, N_ROWS)
        assert kind.by_row(prediction, rows) == pytest.approx(expected), kind.name


def test_the_error_of_a_root_is_that_of_the_delta_method(numbers):
    told = numbers.target_values + 10 * RNG.normal(size=N_ROWS)
    squared = (told - numbers.target_values) ** 2

    by_row = plain_figure(numbers, [told[None]])

    # The derivative of a root at the mean square.
    spread = squared.std() / (2 * np.sqrt(squared.mean()))
    assert by_row.std() == pytest.approx(spread, rel=0.05)


def test_the_change_is_from_the_best_alone_to_the_promised_with_rows(labels):
    sure = np.eye(3)[labels.target]
    unsure = np.full((N_ROWS, 3), 1 / 3)

    accuracy, *_, brier = figures(
        labels, [unsure[None]], [unsure[None]], [sure[None]], ERROR
    )

    assert accuracy.without.value == pytest.approx(1 / 3)
    assert accuracy.change.value == accuracy.gain == pytest.approx(2 / 3)
    assert brier.change.value == pytest.approx(-1 / 3)
    assert brier.gain == pytest.approx(1 / 3)  # smaller is better


def test_partitions_and_learners_are_averaged(labels):
    sure = np.eye(3)[labels.target]
    wrong = np.eye(3)[(labels.target + 1) % 3]

    twice = figures(labels, *[[np.stack([sure, wrong])]] * 3, ERROR)[0]
    panel = figures(labels, *[[sure[None], wrong[None]]] * 3, ERROR)[0]

    assert twice.with_rows.value == panel.with_rows.value == 0.5


def test_a_single_class_has_no_area(build_table):
    rows = build_table([0] * N_ROWS, np.zeros(N_ROWS))
    stated = np.column_stack([np.ones(N_ROWS)])

    assert np.isnan(by_name(rows, stated[None])["AUC"])


def test_shares_of_many_rows_have_the_error_of_blocks():
    values = np.random.default_rng(1).normal(size=4000)

    by_row = shares(values.mean(), lambda left: values[left].mean(), len(values))

    assert by_row.mean() == pytest.approx(values.mean())
    assert by_row.std() == pytest.approx(values.std(), rel=0.15)


WEIGHTS = np.where(np.arange(N_ROWS) % 4, 0.2, 3.4)  # the mean is 1


def weighted(rows, answers, weights=WEIGHTS):
    error = ErrorBar(5, weights=weights)
    made = figures(rows, [answers], [answers], [answers], error)
    return {figure.name: figure.with_rows for figure in made}


def values(found):
    return {name: figure.value for name, figure in found.items()}


def test_weighted_figures_of_labels_are_those_of_scikit_learn(labels):
    stated = RNG.dirichlet([1.0, 1.0, 1.0], N_ROWS)

    found = weighted(labels, stated[None])

    truth, own = labels.target, {"sample_weight": WEIGHTS}
    areas = [roc_auc_score(truth == code, stated[:, code], **own) for code in range(3)]
    assert values(found) == pytest.approx(
        {
            "accuracy": accuracy_score(truth, stated.argmax(axis=1), **own),
            "AUC": np.mean(areas),
            "log loss": log_loss(truth, stated, **own),
            "Brier score": brier_score_loss(truth, stated, scale_by_half=True, **own),
        }
    )


def test_weighted_figures_of_numbers_are_those_of_scikit_learn(numbers):
    told = numbers.target_values + 10 * RNG.normal(size=N_ROWS)

    found = weighted(numbers, told[None])

    truth, own = numbers.target_values, {"sample_weight": WEIGHTS}
    assert values(found) == pytest.approx(
        {
            "RMSE": root_mean_squared_error(truth, told, **own),
            "MAE": mean_absolute_error(truth, told, **own),
            "R2": r2_score(truth, told, **own),
        }
    )


@pytest.mark.parametrize("which", ["labels", "numbers"])
def test_the_bar_of_a_weighted_figure_grows_as_few_rows_come_to_count(which, request):
    rows = request.getfixturevalue(which)
    answers = RNG.dirichlet([1.0, 1.0, 1.0], N_ROWS)
    if which == "numbers":
        answers = rows.target_values + 10 * RNG.normal(size=N_ROWS)
    few = np.where(np.arange(N_ROWS) < 5, 8.0, 0.0)

    even = weighted(rows, answers[None], np.ones(N_ROWS))
    uneven = weighted(rows, answers[None], few)

    for name in ("accuracy", "RMSE"):
        if name in even:
            assert uneven[name].margin > even[name].margin
