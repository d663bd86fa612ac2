import numpy as np
import pytest
from scipy.stats import entropy
from sklearn.metrics import (
    accuracy_score,
    brier_score_loss,
    log_loss,
    mean_squared_error,
)

from tabtap.domain import (
    MIN_PROBABILITY,
    ClassPrediction,
    TargetUnit,
    ValuePrediction,
    mix,
    scatter,
)
from tabtap.errors import UserInputError

STATED = np.array([[0.7, 0.2, 0.1], [0.1, 0.1, 0.8], [0.2, 0.5, 0.3]])
LABELS = [0, 1, 2]


@pytest.fixture
def queries(build_table):
    return build_table(LABELS, np.zeros(3))


@pytest.fixture
def real(build_table):
    return build_table([0.0, 10.0, 20.0, 30.0], np.zeros(4))  # mean 15, sd sqrt(125)


def test_class_losses_are_the_cross_entropy_of_each_query(queries):
    losses = ClassPrediction(STATED).losses(queries)

    assert losses == pytest.approx(-np.log([0.7, 0.1, 0.3]))
    assert losses.mean() == pytest.approx(log_loss(LABELS, STATED))


def test_a_label_thought_impossible_costs_a_bounded_loss(build_table):
    queries = build_table([0, 1], np.zeros(2))

    losses = ClassPrediction(np.array([[0.0, 1.0], [0.0, 1.0]])).losses(queries)

    assert losses.tolist() == [-np.log(MIN_PROBABILITY), 0.0]


def test_class_hardness_is_the_entropy(queries):
    prediction = ClassPrediction(STATED)

    assert prediction.hardness(queries) == pytest.approx(entropy(STATED, axis=1))
    assert prediction.uncertainty() == pytest.approx(entropy(STATED, axis=1))


def test_a_certain_answer_has_no_entropy():
    assert ClassPrediction(np.eye(3)).uncertainty().tolist() == [0.0, 0.0, 0.0]


def test_an_answer_that_is_not_a_number_is_not_taken_for_certain():
    stated = np.array([[np.nan, np.nan], [0.0, 1.0]])

    uncertainty = ClassPrediction(stated).uncertainty()

    assert np.isnan(uncertainty[0])
    assert uncertainty[1] == 0.0


def test_class_scores_are_half_accuracy_and_half_one_less_the_brier_score(queries):
    scores = ClassPrediction(STATED).scores(queries)

    brier = brier_score_loss(
        queries.target, STATED, labels=[0, 1, 2], scale_by_half=True
    )
    accuracy = accuracy_score(queries.target, STATED.argmax(axis=1))
    assert scores.mean() == pytest.approx((accuracy + 1 - brier) / 2)


@pytest.mark.parametrize("true", [0.1, 0.5, 0.8])
def test_nobody_gains_by_stating_another_probability_than_the_true_one(
    build_table, true
):
    queries = build_table([0, 1], np.zeros(2))

    def expected(stated):
        scores = ClassPrediction(np.tile([1 - stated, stated], (2, 1))).scores(queries)
        return (1 - true) * scores[0] + true * scores[1]

    stated = np.linspace(0, 1, 101)
    best = stated[np.argmax([expected(p) for p in stated])]
    assert best == pytest.approx(true, abs=0.01)


def test_labels_that_tie_share_being_right(build_table):
    queries = build_table([0, 1, 2], np.zeros(3))
    tied = ClassPrediction(np.tile([0.4, 0.4, 0.2], (3, 1)))

    assert tied.right(queries) == pytest.approx([0.5, 0.5, 0.0])


def test_probabilities_have_no_unit(real):
    prediction = ClassPrediction(STATED)

    assert prediction.in_unit_of(real) is prediction


def test_value_losses_are_squared_errors_in_deviations_of_the_real_targets(
    build_table, real
):
    queries = build_table([5.0, 25.0], np.zeros(2))
    prediction = ValuePrediction(np.array([5.0, 15.0]), np.array([4.0, 9.0]))

    losses = prediction.in_unit_of(real).losses(queries)

    deviation = np.std([0.0, 10.0, 20.0, 30.0])
    assert losses == pytest.approx([0.0, (10 / deviation) ** 2])
    in_own_units = mean_squared_error([5.0, 25.0], [5.0, 15.0])
    assert losses.mean() == pytest.approx(in_own_units / deviation**2)


def test_value_hardness_uncertainty_and_scores_are_in_the_same_unit(build_table, real):
    deviation = np.std([0.0, 10.0, 20.0, 30.0])
    queries = build_table([0.0, 0.0], np.zeros(2))
    prediction = ValuePrediction(np.array([0.0, deviation]), np.array([0.0, 125.0]))

    prediction = prediction.in_unit_of(real)

    assert prediction.hardness(queries) == pytest.approx([0.0, 1.0])
    assert prediction.uncertainty() == pytest.approx([0.0, 1.0])
    assert prediction.scores(queries) == pytest.approx([1.0, 0.0])


def test_value_losses_without_a_unit_are_refused(build_table):
    queries = build_table([0.0], np.zeros(1))
    prediction = ValuePrediction(np.zeros(1), np.zeros(1))

    with pytest.raises(UserInputError, match=r"in_unit_of\(real\)"):
        prediction.losses(queries)


def test_targets_without_spread_are_counted_in_their_own_units(build_table):
    unit = TargetUnit.of(build_table([7.0, 7.0], np.zeros(2)))

    assert unit.standardise(np.array([7.0, 9.0])).tolist() == [0.0, 2.0]


def test_the_largest_targets_do_not_overflow(build_table):
    unit = TargetUnit.of(build_table([1e308, -1e308], np.zeros(2)))

    assert unit.standardise(np.array([1e308, -1e308])).tolist() == [1.0, -1.0]


@pytest.mark.parametrize("ask", ["losses", "scores", "hardness"])
@pytest.mark.parametrize(
    "prediction",
    [
        ClassPrediction(STATED),
        ValuePrediction(np.zeros(3), np.ones(3), TargetUnit(0.0, 1.0)),
    ],
    ids=["classes", "values"],
)
def test_queries_of_another_number_are_refused(build_table, ask, prediction):
    single = build_table([0], np.zeros(1))

    with pytest.raises(UserInputError, match="3 predictions cannot be judged by 1"):
        getattr(prediction, ask)(single)


def test_a_mixture_of_classes_averages_probabilities():
    mixed = mix([ClassPrediction(np.eye(2)), ClassPrediction(np.full((2, 2), 0.5))])

    assert mixed.probabilities.tolist() == [[0.75, 0.25], [0.25, 0.75]]


def test_a_mixture_of_values_has_the_variance_within_and_between():
    parts = [
        ValuePrediction(np.array([0.0]), np.array([1.0])),
        ValuePrediction(np.array([4.0]), np.array([3.0])),
    ]

    mixed = mix(parts)

    assert (mixed.mean.tolist(), mixed.variance.tolist()) == ([2.0], [2.0 + 4.0])


def test_a_mixture_keeps_the_unit_of_its_parts(real):
    part = ValuePrediction(np.zeros(1), np.ones(1)).in_unit_of(real)

    assert mix([part, part]).uncertainty() == pytest.approx(part.uncertainty())


def test_scattered_class_answers_return_to_their_rows():
    parts = [
        (np.array([2, 0]), ClassPrediction(STATED[[2, 0]])),
        (np.array([1]), ClassPrediction(STATED[[1]])),
    ]

    assert scatter(parts).probabilities.tolist() == STATED.tolist()


def test_scattered_values_return_to_their_rows_in_their_unit():
    unit = TargetUnit(0.0, 2.0)
    parts = [
        (np.array([1]), ValuePrediction(np.array([5.0]), np.array([16.0]), unit)),
        (np.array([0]), ValuePrediction(np.array([3.0]), np.array([4.0]), unit)),
    ]

    whole = scatter(parts)

    assert whole.mean.tolist() == [3.0, 5.0]
    assert whole.uncertainty().tolist() == [1.0, 2.0]
