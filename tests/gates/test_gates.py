import numpy as np
import pytest

from tabtap.config import AugmentConfig, GateConfig
from tabtap.domain import Candidates, ClassPrediction, GateContext, ValuePrediction
from tabtap.errors import UserInputError
from tabtap.gates import Gates, NewRow, Plausible, Rules, admit, standard_gates
from tabtap.stages import Gatekeeper

# ---- All gates in turn.


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


# ---- New rows.


NEW_ROW = NewRow(0.1)


def is_new(candidates, real, kept=None):
    context = GateContext(real, kept=real.empty() if kept is None else kept)
    return NEW_ROW.passes(candidates, context).tolist()


@pytest.fixture
def line(make_table):
    """Numbers one apart: the typical gap is 1 of them, whatever the unit."""
    return make_table(np.arange(20.0))


@pytest.mark.parametrize(
    ("cell", "new"),
    [(5.0, False), (5.05, False), (5.0999, False), (5.1001, True), (5.5, True)],
)
def test_nearer_than_a_tenth_of_the_typical_gap_is_a_copy(make_table, line, cell, new):
    assert is_new(make_table([cell]), line) == [new]


@pytest.mark.parametrize("unit", [1e-9, 1e-6, 1e6, 1e200])
def test_the_unit_of_a_column_does_not_matter(make_table, unit):
    real = make_table(np.arange(20.0) * unit)
    candidates = make_table(np.array([5.0, 5.05, 5.5]) * unit)

    assert is_new(candidates, real) == [False, False, True]


def test_kept_rows_count_like_real_ones(make_table, line):
    kept = make_table([5.5])

    assert is_new(make_table([5.5, 5.55, 5.7]), line, kept) == [False, False, True]


def test_scores_are_distances_in_typical_gaps(make_table, line):
    context = GateContext(line, kept=make_table([8.25]))

    scores = NEW_ROW.scores(make_table([5.5, 8.5, 3.0]), context)

    assert scores["distance"] == pytest.approx([0.5, 0.25, 0.0])


def test_of_near_copies_in_one_batch_the_first_stays(make_table, line):
    # Three that differ, then a copy of the second: both of a pair must not go.
    batch = make_table([0.5, 1.5, 2.5, 1.5])
    context = GateContext(line, line.empty())

    assert NEW_ROW.firsts(batch, context).tolist() == [True, True, True, False]


def test_a_row_that_goes_takes_no_other_with_it(make_table, line):
    # Each is 0.08 from the next: the third is near the second only, which goes.
    batch = make_table([0.5, 0.58, 0.66, 0.74])
    context = GateContext(line, line.empty())

    assert NEW_ROW.firsts(batch, context).tolist() == [True, False, True, False]


def test_firsts_are_those_of_a_plain_search(make_table):
    rng = np.random.default_rng(0)
    real = make_table(np.zeros(40), numeric=rng.normal(size=(40, 2)))
    batch = make_table(np.zeros(60), numeric=rng.normal(size=(60, 2)) / 20)
    spread = real.numeric.std(axis=0)
    apart = np.linalg.norm(
        (batch.numeric[:, None] - batch.numeric[None]) / spread, axis=2
    ) / np.sqrt(2)
    own = np.linalg.norm((real.numeric[:, None] - real.numeric[None]) / spread, axis=2)
    np.fill_diagonal(own, np.inf)
    limit = 0.1 * np.median(own.min(axis=1)) / np.sqrt(2)
    expected = np.zeros(60, dtype=bool)
    for row in range(60):
        expected[row] = (apart[row, :row][expected[:row]] >= limit).all()

    firsts = NEW_ROW.firsts(batch, GateContext(real, real.empty()))

    assert 5 < expected.sum() < 55
    assert np.array_equal(firsts, expected)


def test_a_copy_is_refused_among_many_categories(make_table):
    codes = np.random.default_rng(0).integers(0, 5, size=(40, 8))
    real = make_table(np.zeros(40), categorical=codes)
    assert len(np.unique(codes, axis=0)) == 40
    fresh = codes[:1].copy()
    fresh[0, :4] = (fresh[0, :4] + 1) % 5
    candidates = make_table(np.zeros(2), categorical=np.concatenate([codes[:1], fresh]))

    assert is_new(candidates, real) == [False, True]


def test_repeats_pass_where_real_rows_repeat_each_other(make_table):
    # Two yes/no columns have four rows to offer, and all of them are real.
    codes = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 5)
    real = make_table(np.zeros(20), categorical=codes)
    candidates = make_table(np.zeros(4), categorical=codes[:4])

    assert is_new(candidates, real) == [True] * 4
    assert NEW_ROW.firsts(real, GateContext(real, real.empty())).all()


def test_repeats_pass_where_a_tenth_of_rows_of_categories_have_a_twin(make_table):
    codes = np.array([[k // 5, k % 5] for k in range(19)] + [[0, 0]])
    real = make_table(np.zeros(20), categorical=codes)  # 2 of 20 rows are twins

    assert is_new(real, real) == [True] * 20


def test_a_few_repeated_rows_do_not_excuse_copies_of_numbers(make_table):
    numbers = np.concatenate([np.arange(15.0), np.arange(5.0)])
    real = make_table(numbers)

    assert is_new(make_table([9.0, 9.5]), real) == [False, True]


def test_holes_are_compared_as_values(make_table):
    numbers = np.stack([np.arange(10.0), np.arange(10.0)], axis=1)
    numbers[4, 1] = np.nan
    real = make_table(np.zeros(10), numeric=numbers)
    candidates = make_table(np.zeros(2), numeric=[[4.0, np.nan], [5.0, np.nan]])

    assert is_new(candidates, real) == [False, True]


@pytest.mark.parametrize("cell", [np.inf, -np.inf])
def test_an_infinite_number_is_near_nothing_and_warns_of_nothing(make_table, cell):
    numbers = np.stack([np.arange(10.0), np.arange(10.0)], axis=1)
    numbers[4, 1] = np.nan
    real = make_table(np.zeros(10), numeric=numbers)

    assert is_new(make_table([0.0], numeric=[[4.0, cell]]), real) == [True]


def test_a_single_real_row_refuses_nothing(make_table):
    assert is_new(make_table([1.0, 2.0]), make_table([1.0])) == [True, True]


def test_no_candidates_get_no_verdict(line):
    none = line.empty()

    assert is_new(none, line) == []
    assert NEW_ROW.firsts(none, GateContext(line, none)).tolist() == []


# ---- Plausible labels.


PLAUSIBLE = Plausible(min_probability=0.3, min_margin=0.1, residual_percentile=95.0)


def is_plausible(rows, real, prediction, residuals=None):
    context = GateContext(real, real.empty(), prediction, residuals)
    return PLAUSIBLE.passes(rows, context).tolist()


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

    assert is_plausible(rows, rows, prediction) == [plausible]


def test_each_row_is_judged_by_its_own_label(build_table):
    rows = build_table([0, 1, 2], np.zeros(3))
    prediction = ClassPrediction(np.tile([0.2, 0.7, 0.1], (3, 1)))

    assert is_plausible(rows, rows, prediction) == [False, True, False]


def test_a_panel_is_asked_for_its_averaged_answer(build_table):
    class Panel:
        mixture = ClassPrediction(np.array([[0.8, 0.2], [0.8, 0.2]]))

    rows = build_table([0, 1], np.zeros(2))

    assert is_plausible(rows, rows, Panel()) == [True, False]


def test_a_residual_may_be_as_large_as_all_but_a_twentieth_of_the_real_ones(
    build_table,
):
    # The real targets have mean 0 and standard deviation 2.
    real = build_table([-2.0, 2.0] * 10, np.zeros(20))
    residuals = np.arange(101) / 100  # the 95th percentile is 0.95, that is 1.9
    rows = build_table([1.89, -1.89, 1.91, -1.91, 0.0], np.zeros(5))
    mean = np.array([0.0, 0.0, 0.0, 0.0, np.nan])

    verdict = is_plausible(rows, real, ValuePrediction(mean, np.ones(5)), residuals)

    assert verdict == [True, True, False, False, False]


def test_residuals_that_are_not_numbers_do_not_count(build_table):
    real = build_table([-1.0, 1.0], np.zeros(2))
    rows = build_table([0.5, 1.5], np.zeros(2))
    prediction = ValuePrediction(np.zeros(2), np.ones(2))

    verdict = is_plausible(rows, real, prediction, np.array([np.nan, 1.0]))

    assert verdict == [True, False]


def test_without_a_prediction_the_way_out_is_told(build_table):
    rows = build_table([0, 1], np.zeros(2))

    with pytest.raises(UserInputError, match=r"GateConfig\(plausibility=False\)"):
        is_plausible(rows, rows, None)


@pytest.mark.parametrize("residuals", [None, np.zeros(0), np.array([np.nan])])
def test_without_residuals_the_way_out_is_told(build_table, residuals):
    rows = build_table([0.0, 1.0], np.zeros(2))
    prediction = ValuePrediction(np.zeros(2), np.ones(2))

    with pytest.raises(UserInputError, match="out-of-fold"):
        is_plausible(rows, rows, prediction, residuals)


def test_scores_are_the_label_s_probability_or_the_residual(build_table):
    labels = build_table([0, 1], np.zeros(2))
    values = build_table([-1.0, 1.0], np.zeros(2))
    likely = ClassPrediction(np.array([[0.7, 0.3], [0.6, 0.4]]))
    exact = ValuePrediction(np.array([0.0, 1.0]), np.ones(2))

    of_labels = PLAUSIBLE.scores(labels, GateContext(labels, labels.empty(), likely))
    of_values = PLAUSIBLE.scores(values, GateContext(values, values.empty(), exact))

    assert of_labels["plausibility"].tolist() == [0.7, 0.4]
    assert of_values["residual"].tolist() == [1.0, 0.0]
