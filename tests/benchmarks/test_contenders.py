import contenders
import numpy as np
import pytest
from contenders import NO_BFLOAT16, ask, score
from questions import Question

from tabtap.domain import ClassPrediction, ValuePrediction


class Counts:
    """An evaluator that counts how often it is asked."""

    name = "counts"

    def __init__(self):
        self.n_asked = 0

    def predict(self, _contexts, queries):
        self.n_asked += 1
        even = [np.full((len(some), 3), 1 / 3) for some in queries]
        return [ClassPrediction(probabilities) for probabilities in even]


@pytest.fixture
def question(birds):
    return Question((birds,), (birds.take(np.arange(6)),))


def clock(monkeypatch, *seconds):
    """Let each call take so long."""
    times = iter(np.cumsum([x for took in seconds for x in (0.0, took)]).tolist())
    monkeypatch.setattr(contenders.time, "process_time", lambda: next(times))


def test_the_least_of_the_repeats_counts(monkeypatch, question):
    clock(monkeypatch, 0.5, 0.2, 0.3)
    judge = Counts()

    answer = ask(judge, question, repeats=3)

    assert answer.seconds == pytest.approx(0.2)
    assert judge.n_asked == 3
    assert len(answer.predictions[0]) == 6


def test_a_slow_evaluator_is_asked_less_often(monkeypatch, question):
    clock(monkeypatch, 3.0, 2.5, 1.0)
    judge = Counts()

    answer = ask(judge, question, repeats=9)

    assert judge.n_asked == 2
    assert answer.seconds == pytest.approx(2.5)


def test_labels_are_scored_by_accuracy_and_numbers_by_their_error(birds, sums):
    rows = birds.take(np.array([0, 200, 340]))
    codes = rows.target.astype(int)
    told = np.eye(3)[[codes[0], (codes[1] + 1) % 3, codes[2]]]
    labels = Question((birds,), (rows,))
    numbers = Question((sums,), (sums,))
    off = np.where(np.arange(len(sums)) % 2, 3.0, -3.0)
    values = ValuePrediction(sums.target_values + off, np.zeros(len(sums)))

    right = score(labels, (ClassPrediction(told),), "classification")
    error = score(numbers, (values,), "regression")

    assert right == pytest.approx(2 / 3)
    assert error == pytest.approx(3.0)


def test_bfloat16_that_the_cpu_only_emulates_is_not_measured(monkeypatch):
    monkeypatch.setattr(contenders, "fast_bfloat16", lambda _device: False)

    found, absent = contenders.contenders("classification")

    assert absent["tabpfn-v1 bfloat16"] == NO_BFLOAT16
    assert "tabpfn-v1 bfloat16" not in found
    assert {"ensemble", "panel", "holdout", "LogisticRegression"} <= set(found)


def test_what_is_not_here_is_named_with_the_reason(monkeypatch, tmp_path):
    monkeypatch.setenv("TABTAP_CACHE", str(tmp_path))

    found, absent = contenders.contenders("regression")

    assert "weights are not here" in absent["tabpfn's own regressor, v2"]
    assert {"ensemble", "panel", "holdout", "Ridge"} <= set(found)
