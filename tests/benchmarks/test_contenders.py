import json
import subprocess

import contenders
import numpy as np
import pytest
from contenders import (
    N_FOLDS,
    NO_BFLOAT16,
    Question,
    as_arrays,
    ask,
    ask_package,
    real_question,
    score,
    utility_question,
)

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


def test_a_utility_question_asks_a_fifth_of_each_fold_about_the_other_folds():
    question = utility_question(40, 30, "classification")

    assert [len(context) for context in question.contexts] == [40] * N_FOLDS
    assert [len(asked) for asked in question.queries] == [2] * N_FOLDS
    for context, asked in zip(question.contexts, question.queries, strict=True):
        assert context.numeric.shape[1] == 30
        both = np.vstack([context.numeric, asked.numeric])
        assert len(np.unique(both, axis=0)) == 42


def test_a_utility_question_about_numbers_has_a_learnable_target():
    question = utility_question(300, 30, "regression")

    context = question.contexts[0]
    assert context.schema.target.task == "regression"
    assert np.allclose(context.target_values, context.numeric[:, :3].sum(axis=1))
    assert len(question.queries[0]) == 15


def test_real_contexts_keep_the_shares_of_classes_and_share_no_row_with_queries():
    question = real_question("digits", 50, seed=0)

    (context,), (asked,) = question.contexts, question.queries
    assert np.bincount(context.condition).tolist() == [5] * 10
    assert len(asked) == 200


@pytest.mark.parametrize(("seed", "same"), [(0, True), (1, False)])
def test_a_seed_chooses_the_context(seed, same):
    first, second = real_question("wine", 20, 0), real_question("wine", 20, seed)

    equal = np.array_equal(first.contexts[0].numeric, second.contexts[0].numeric)
    assert equal is same


def test_a_table_without_rows_left_to_ask_makes_no_question():
    assert real_question("wine", 200, seed=0) is None


@pytest.fixture
def wine():
    return real_question("wine", 20, seed=0)


def test_questions_become_plain_arrays_of_numbers(wine):
    arrays = as_arrays([wine, wine])

    assert arrays["n_questions"] == 2
    assert arrays["1/n_folds"] == 1
    assert arrays["1/0/rows"].shape == (20, 13)
    assert arrays["1/0/asked"].shape == (158, 13)
    assert np.array_equal(arrays["0/0/labels"], wine.contexts[0].target)


def test_what_the_process_prints_becomes_answers(monkeypatch, wine):
    told = np.tile([0.2, 0.5, 0.3], (158, 1)).tolist()
    line = json.dumps([{"seconds": 1.5, "probabilities": [told]}])
    done = subprocess.CompletedProcess([], 0, stdout=f"noise\n{line}\n", stderr="")
    monkeypatch.setattr(contenders.subprocess, "run", lambda *_, **__: done)

    (answer,) = ask_package("python", [wine], n_members=1, repeats=1)

    assert answer.seconds == 1.5
    assert np.allclose(answer.predictions[0].probabilities, told)


def test_a_process_that_fails_says_why(monkeypatch, wine):
    done = subprocess.CompletedProcess([], 1, stdout="", stderr="No module tabpfn")
    monkeypatch.setattr(contenders.subprocess, "run", lambda *_, **__: done)

    with pytest.raises(SystemExit, match="No module tabpfn"):
        ask_package("python", [wine], n_members=1, repeats=1)
