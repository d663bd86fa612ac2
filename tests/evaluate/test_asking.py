import numpy as np
import pytest
from stand_ins import Told, same_for_all

from tabtap.domain import ClassPrediction, ValuePrediction
from tabtap.errors import EvaluatorError, UserInputError
from tabtap.evaluate.evaluators import PanelPrediction
from tabtap.evaluate.judging import ask


@pytest.fixture
def pairs(build_table):
    table = build_table([0, 1, 0], np.zeros(3))
    return (
        [table, table.take(np.arange(2))],
        [table, table.take(np.arange(1))],
        table,
    )


even = same_for_all(0.5).predict


def test_sound_answers_are_passed_on(pairs):
    answers = ask(Told(even), *pairs)

    assert [len(answer) for answer in answers] == [3, 1]


def test_an_iterator_of_answers_will_do(pairs):
    assert len(ask(Told(lambda c, q: iter(even(c, q))), *pairs)) == 2


def test_an_evaluator_that_raises_is_named_with_what_it_was_given(pairs):
    def fail(_contexts, _queries):
        raise ZeroDivisionError("by 0")

    with pytest.raises(EvaluatorError, match="'mine' failed on 2 contexts of 2 to 3"):
        ask(Told(fail), *pairs)


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
        ask(Told(answer), *pairs)


@pytest.mark.parametrize(
    "nonsense",
    [
        lambda _: None,
        lambda _: 3.0,
        lambda _: [0.5, 0.5],
        lambda queries: [np.zeros((len(q), 2)) for q in queries],
    ],
    ids=["nothing", "a number", "numbers", "arrays"],
)
def test_what_is_no_prediction_is_the_evaluator_s_fault(pairs, nonsense):
    with pytest.raises(EvaluatorError, match="The evaluator 'mine'"):
        ask(Told(lambda _c, q: nonsense(q)), *pairs)


def shaped(*shape, fill=0.5):
    return lambda _c, q: [ClassPrediction(np.full((len(x), *shape), fill)) for x in q]


def numbers(mean, variance):
    return lambda _c, q: [
        ValuePrediction(np.resize(mean, len(x)), np.resize(variance, len(x))) for x in q
    ]


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        (shaped(1), r"shape \(3, 1\), but there are 2 classes"),
        (shaped(3), r"shape \(3, 3\), but there are 2 classes"),
        (shaped(), r"shape \(3,\), but there are 2 classes"),
        (shaped(2, fill=np.nan), "NaN as a probability"),
        (numbers(1.0, 1.0), "numbers when it was asked for probabilities"),
    ],
    ids=["too few", "too many", "no columns", "NaN", "numbers"],
)
def test_probabilities_that_are_none_are_refused(pairs, answer, fault):
    with pytest.raises(EvaluatorError, match=f"'mine' answered .*{fault}"):
        ask(Told(answer), *pairs)


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        (numbers(np.nan, 1.0), "NaN as a mean"),
        (numbers(0.0, np.nan), "NaN as a variance"),
        (even, "probabilities of classes when it was asked for numbers"),
        (
            lambda _c, q: [
                ValuePrediction(np.zeros((len(x), 1)), np.ones(len(x))) for x in q
            ],
            r"a mean of shape \(3, 1\)",
        ),
    ],
    ids=["mean", "variance", "labels", "a column"],
)
def test_numbers_that_are_none_are_refused(build_table, answer, fault):
    real = build_table([0.0, 2.0, 5.0], np.zeros(3))

    with pytest.raises(EvaluatorError, match=f"'mine' answered {fault}"):
        ask(Told(answer), [real], [real], real)


def test_every_member_of_a_panel_is_looked_at(pairs):
    def answer(contexts, queries):
        good, bad = even(contexts, queries), shaped(2, fill=np.nan)(contexts, queries)
        return [
            PanelPrediction({"good": g, "bad": b})
            for g, b in zip(good, bad, strict=True)
        ]

    with pytest.raises(EvaluatorError, match="NaN as a probability"):
        ask(Told(answer), *pairs)


def test_errors_of_numbers_are_counted_in_the_real_rows_deviations(build_table):
    real = build_table([0.0, 4.0], np.zeros(2))  # deviation 2
    query = build_table([2.0], np.zeros(1))

    (answer,) = ask(Told(numbers(6.0, 1.0)), [real], [query], real)

    assert answer.losses(query) == pytest.approx([4.0])


@pytest.mark.parametrize("answer", [lambda _c, _q: 1 / 0, shaped(1)])
@pytest.mark.parametrize(
    ("role", "name", "other"),
    [
        ("evaluator", "mine", "ensemble"),
        ("evaluator", "ensemble", "holdout"),
        ("referee", "mine", "panel"),
        ("referee", "panel", "holdout"),
    ],
)
def test_the_way_out_is_another_one_in_the_same_role(pairs, answer, role, name, other):
    foreign = Told(answer)
    foreign.name = name

    with pytest.raises(EvaluatorError) as caught:
        ask(foreign, *pairs, role=role)

    assert str(caught.value).startswith(f"The {role} {name!r} ")
    assert f"such as {role}={other!r}." in str(caught.value)


@pytest.mark.parametrize("error", [UserInputError("use fewer rows"), MemoryError()])
def test_errors_that_say_themselves_what_to_do_pass_through(pairs, error):
    def fail(_contexts, _queries):
        raise error

    with pytest.raises(type(error)) as caught:
        ask(Told(fail), *pairs)
    assert caught.value is error
