import numpy as np
import pytest

from tabtap.domain import ClassPrediction, GateContext, ValuePrediction
from tabtap.errors import UserInputError
from tabtap.gates import Plausible

GATE = Plausible(min_probability=0.3, min_margin=0.1, residual_percentile=95.0)


def judge(rows, real, prediction, residuals=None):
    context = GateContext(real, real.empty(), prediction, residuals)
    return GATE.passes(rows, context).tolist()


@pytest.mark.parametrize(
    ("probabilities", "plausible"),
    [
        ([0.6, 0.3, 0.1], True),
        ([0.3, 0.2, 0.1], True),
        ([0.29, 0.1, 0.1], False),
        ([0.6, 0.5, 0.0], True),
        ([0.45, 0.4, 0.15], False),
        ([0.1, 0.8, 0.1], False),
        ([np.nan, np.nan, np.nan], False),
        ([0.6, np.nan, 0.1], False),
    ],
    ids=[
        *("likely", "both at the limit", "unlikely", "a margin of just 0.1"),
        *("too close", "another label", "no answer", "half an answer"),
    ],
)
def test_a_label_must_be_likely_and_ahead(build_table, probabilities, plausible):
    rows = build_table([0], np.zeros(1))
    prediction = ClassPrediction(np.array([probabilities]))

    assert judge(rows, rows, prediction) == [plausible]


def test_each_row_is_judged_by_its_own_label(build_table):
    rows = build_table([0, 1, 2], np.zeros(3))
    prediction = ClassPrediction(np.tile([0.2, 0.7, 0.1], (3, 1)))

    assert judge(rows, rows, prediction) == [False, True, False]


def test_a_panel_is_asked_for_its_averaged_answer(build_table):
    class Panel:
        mixture = ClassPrediction(np.array([[0.8, 0.2], [0.8, 0.2]]))

    rows = build_table([0, 1], np.zeros(2))

    assert judge(rows, rows, Panel()) == [True, False]


def test_a_residual_may_be_as_large_as_all_but_a_twentieth_of_the_real_ones(
    build_table,
):
    # The real targets have mean 0 and standard deviation 2.
    real = build_table([-2.0, 2.0] * 10, np.zeros(20))
    residuals = np.arange(101) / 100  # the 95th percentile is 0.95, that is 1.9
    rows = build_table([1.89, -1.89, 1.91, -1.91, 0.0], np.zeros(5))
    mean = np.array([0.0, 0.0, 0.0, 0.0, np.nan])

    verdict = judge(rows, real, ValuePrediction(mean, np.ones(5)), residuals)

    assert verdict == [True, True, False, False, False]


def test_residuals_that_are_not_numbers_do_not_count(build_table):
    real = build_table([-1.0, 1.0], np.zeros(2))
    rows = build_table([0.5, 1.5], np.zeros(2))
    prediction = ValuePrediction(np.zeros(2), np.ones(2))

    verdict = judge(rows, real, prediction, np.array([np.nan, 1.0]))

    assert verdict == [True, False]


def test_without_a_prediction_the_way_out_is_told(build_table):
    rows = build_table([0, 1], np.zeros(2))

    with pytest.raises(UserInputError, match=r"GateConfig\(plausibility=False\)"):
        judge(rows, rows, None)


@pytest.mark.parametrize("residuals", [None, np.zeros(0), np.array([np.nan])])
def test_without_residuals_the_way_out_is_told(build_table, residuals):
    rows = build_table([0.0, 1.0], np.zeros(2))
    prediction = ValuePrediction(np.zeros(2), np.ones(2))

    with pytest.raises(UserInputError, match="out-of-fold"):
        judge(rows, rows, prediction, residuals)


def test_scores_are_the_label_s_probability_or_the_residual(build_table):
    labels = build_table([0, 1], np.zeros(2))
    values = build_table([-1.0, 1.0], np.zeros(2))
    likely = ClassPrediction(np.array([[0.7, 0.3], [0.6, 0.4]]))
    exact = ValuePrediction(np.array([0.0, 1.0]), np.ones(2))

    of_labels = GATE.scores(labels, GateContext(labels, labels.empty(), likely))
    of_values = GATE.scores(values, GateContext(values, values.empty(), exact))

    assert of_labels["plausibility"].tolist() == [0.7, 0.4]
    assert of_values["residual"].tolist() == [1.0, 0.0]
