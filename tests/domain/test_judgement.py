import numpy as np
import pytest

from tabtap.domain import Bound, LearnerState, RefereeScores


def test_what_a_gain_is_at_least_is_the_gain_minus_its_margin():
    assert Bound(0.5, 0.2, 0.9).lower == pytest.approx(0.3)
    assert Bound(0.5, float("inf"), 0.9).lower == -float("inf")
    assert np.isnan(Bound(float("nan"), 0.1, 0.9).lower)


def test_scores_are_averaged_over_rows_for_all_and_for_each_learner():
    scores = RefereeScores(
        np.array([0.2, 0.4]), {"a": np.array([0.0, 0.5]), "b": np.array([1.0, 1.0])}
    )

    assert scores.mean == pytest.approx(0.3)
    assert scores.learner_means() == {"a": 0.25, "b": 1.0}


def test_a_policy_reads_the_state_as_one_row_without_what_is_available():
    state = LearnerState(
        deficit=np.array([0.1, -0.1]),
        uncertainty=np.array([0.3, 0.4]),
        pass_rate=np.array([0.5, 0.6]),
        novelty=0.7,
        available=np.array([True, False]),
    )

    assert state.vector().tolist() == [0.1, -0.1, 0.3, 0.4, 0.5, 0.6, 0.7]
