import numpy as np
import pytest

from tabtap.domain import ClassPrediction
from tabtap.errors import EvaluatorError, UserInputError
from tabtap.evaluate.asking import ask


class Foreign:
    """Someone's own evaluator, which does what the test tells it to."""

    name = "mine"

    def __init__(self, answer):
        self.answer = answer

    def predict(self, contexts, queries):
        return self.answer(contexts, queries)


@pytest.fixture
def pairs(build_table):
    table = build_table([0, 1, 0], np.zeros(3))
    return [table, table.take(np.arange(2))], [table, table.take(np.arange(1))]


def even(_contexts, queries):
    return [ClassPrediction(np.full((len(q), 2), 0.5)) for q in queries]


def test_sound_answers_are_passed_on(pairs):
    answers = ask(Foreign(even), *pairs)

    assert [len(answer) for answer in answers] == [3, 1]


def test_an_iterator_of_answers_will_do(pairs):
    assert len(ask(Foreign(lambda c, q: iter(even(c, q))), *pairs)) == 2


def test_an_evaluator_that_raises_is_named_with_what_it_was_given(pairs):
    def fail(_contexts, _queries):
        raise ZeroDivisionError("by 0")

    with pytest.raises(EvaluatorError, match="'mine' failed on 2 contexts of 2 to 3"):
        ask(Foreign(fail), *pairs)


@pytest.mark.parametrize(
    "answer",
    [
        lambda c, q: even(c, q)[:1],
        lambda c, q: even(c, q)[::-1],
        lambda c, q: even(c, q) * 2,
    ],
    ids=["too few", "in another order", "too many"],
)
def test_answers_to_other_queries_are_refused(pairs, answer):
    with pytest.raises(EvaluatorError, match="one prediction per pair"):
        ask(Foreign(answer), *pairs)


@pytest.mark.parametrize("nonsense", [None, 3.0, [0.5, 0.5]])
def test_what_is_no_prediction_is_the_evaluator_s_fault(pairs, nonsense):
    with pytest.raises(EvaluatorError, match="'mine'"):
        ask(Foreign(lambda _c, _q: nonsense), *pairs)


@pytest.mark.parametrize("error", [UserInputError("use fewer rows"), MemoryError()])
def test_errors_that_say_themselves_what_to_do_pass_through(pairs, error):
    def fail(_contexts, _queries):
        raise error

    with pytest.raises(type(error)) as caught:
        ask(Foreign(fail), *pairs)
    assert caught.value is error
