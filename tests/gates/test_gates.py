import numpy as np
import pytest

from tabtap.config import AugmentConfig, GateConfig
from tabtap.domain import Candidates, ClassPrediction, GateContext
from tabtap.errors import UserInputError
from tabtap.gates import Gates, NewRow, Rules, admit, standard_gates
from tabtap.stages import Gatekeeper


class Above:
    """Let numbers above a limit pass."""

    def __init__(self, limit, name=None):
        self.limit = limit
        self.name = name or f"above {limit}"

    def passes(self, candidates, context):
        assert len(context.real)
        return candidates.numeric[:, 0] > self.limit


class Answers:
    """Answer whatever it was told to, or raise it."""

    name = "mine"

    def __init__(self, answer):
        self.answer = answer

    def passes(self, candidates, context):
        assert len(context.real) == len(candidates)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def proposed(table):
    redrawn = np.ones(table.missing.shape, dtype=bool)
    return Candidates(table, redrawn, np.arange(len(table)))


def context_of(real):
    return GateContext(real, real.empty())


def test_a_refusal_is_counted_under_the_first_gate_that_refuses(make_table):
    rows = make_table(np.arange(10.0))
    gates = [Above(2), Above(1), Above(6)]

    admission = admit(proposed(rows), context_of(rows), gates)

    assert admission.refused == {"above 2": 3, "above 1": 0, "above 6": 4}
    assert admission.admitted.step.tolist() == [7, 8, 9]
    assert admission.admitted.rows.target.tolist() == [7.0, 8.0, 9.0]


def test_gates_of_one_name_are_counted_together(make_table):
    rows = make_table(np.arange(10.0))

    admission = admit(
        proposed(rows), context_of(rows), [Above(2, "same"), Above(6, "same")]
    )

    assert admission.refused == {"same": 7}


def test_without_gates_every_row_is_admitted(make_table):
    rows = make_table(np.arange(3.0))

    admission = admit(proposed(rows), context_of(rows), [])

    assert len(admission.admitted) == 3
    assert admission.refused == {}


def test_of_near_copies_in_a_batch_the_first_is_admitted_and_the_rest_counted(
    make_table,
):
    real = make_table(np.arange(20.0))
    batch = make_table([0.5, 1.5, 1.5, 7.0, 2.5])

    admission = admit(proposed(batch), context_of(real), [NewRow(0.1)])

    assert admission.admitted.step.tolist() == [0, 1, 4]
    assert admission.refused == {"diversity": 2}


def test_a_row_refused_by_a_later_gate_does_not_take_its_near_copy_along(make_table):
    real = make_table(np.arange(20.0))
    batch = make_table([4.49, 4.51])

    admission = admit(proposed(batch), context_of(real), [NewRow(0.1), Above(4.5)])

    assert admission.admitted.step.tolist() == [1]
    assert admission.refused == {"diversity": 0, "above 4.5": 1}


def test_admitted_rows_carry_what_the_gates_measured(build_table):
    real = build_table([0, 1] * 10, np.arange(20.0))
    batch = build_table([0, 1, 1], np.array([0.5, 3.0, 7.25]))
    told = ClassPrediction(np.array([[0.9, 0.1], [0.2, 0.8], [0.3, 0.7]]))
    gates = standard_gates(AugmentConfig.paper().gates)

    admission = admit(proposed(batch), GateContext(real, real.empty(), told), gates)

    scores = admission.admitted.scores
    assert admission.admitted.step.tolist() == [0, 2]
    assert scores["plausibility"].tolist() == [0.9, 0.7]
    assert scores["distance"] == pytest.approx([0.5, 0.25])


def test_a_gate_that_raises_is_named_with_its_error(make_table):
    rows = make_table(np.arange(3.0))

    with pytest.raises(UserInputError, match="gate 'mine' raised KeyError: 'x'") as e:
        admit(proposed(rows), context_of(rows), [Answers(KeyError("x"))])

    assert isinstance(e.value.__cause__, KeyError)


def test_a_gate_s_own_sentence_stays_as_it_is(make_table):
    rows = make_table(np.arange(3.0))

    with pytest.raises(UserInputError, match=r"^there is no such colour$"):
        admit(
            proposed(rows),
            context_of(rows),
            [Answers(UserInputError("there is no such colour"))],
        )


@pytest.mark.parametrize(
    "answer",
    [np.array([True]), np.ones(3), True, [1, 0, 1], np.ones((3, 1), dtype=bool), None],
    ids=["too short", "floats", "one", "ints", "a column", "nothing"],
)
def test_a_gate_must_give_one_bool_per_row(make_table, answer):
    rows = make_table(np.arange(3.0))

    with pytest.raises(UserInputError, match=r"The gate 'mine' returned .* 3 rows"):
        admit(proposed(rows), context_of(rows), [Answers(answer)])


class Measured(Above):
    """Offer a figure that it was told."""

    def __init__(self, figure):
        super().__init__(-1, "measured")
        self.figure = figure

    def scores(self, candidates, context):
        assert len(context.real) == len(candidates)
        return {"figure": self.figure / 1}


def test_a_user_s_own_gate_may_measure_too(make_table):
    rows = make_table(np.arange(3.0))

    admission = admit(
        proposed(rows), context_of(rows), [Above(0), Measured(np.arange(3))]
    )

    assert admission.admitted.scores["figure"].tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("figure", "told"),
    [(np.zeros(2), "one number per row"), ("high", "raised TypeError")],
)
def test_a_measure_that_is_none_is_told_with_the_gate(make_table, figure, told):
    rows = make_table(np.arange(3.0))

    with pytest.raises(UserInputError, match=f"The gate 'measured' .*{told}"):
        admit(proposed(rows), context_of(rows), [Measured(figure)])


def test_gates_stand_in_the_paper_s_order():
    config = GateConfig(plausibility=True)

    gates = standard_gates(config, Rules.of("age > 3"))

    names = [gate.name for gate in gates]
    assert names == ["types", "range", "rules", "plausibility", "diversity"]


def test_gates_that_have_nothing_to_ask_are_left_out():
    names = [gate.name for gate in standard_gates(GateConfig(), Rules.of(None))]

    assert names == ["types", "range", "diversity"]


@pytest.mark.parametrize("wanted", [True, False])
def test_the_keeper_says_whether_a_prediction_is_needed(wanted):
    keeper = Gates(standard_gates(GateConfig(plausibility=wanted)))

    assert isinstance(keeper, Gatekeeper)
    assert keeper.needs_prediction == wanted


def test_the_keeper_admits_what_its_gates_admit(make_table):
    rows = make_table(np.arange(10.0))

    admission = Gates((Above(4),)).admit(proposed(rows), context_of(rows))

    assert admission.refused == {"above 4": 5}
    assert len(admission.admitted) == 5
