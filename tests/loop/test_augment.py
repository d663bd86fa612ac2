import itertools
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from stand_ins import Tape

from tabtap.domain import Candidates, Feedback
from tabtap.errors import EvaluatorError
from tabtap.loop import Stop
from tabtap.loop.augment import fill_window

# ---- Whole runs.


class Clock:
    """Ticks one second whenever it is read."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        self.now += 1.0
        return self.now


def random_worth(_action, rng, n_rows):
    return rng.normal(0.5, 1.0, n_rows)


@pytest.mark.parametrize("protocol", ["crossfit", "paper"])
def test_harmful_pools_leave_the_training_table_untouched(make_world, protocol):
    outcome = make_world(-1.0, protocol=protocol).run()

    assert len(outcome.progress.committed) == 0
    assert outcome.stop is Stop.PATIENCE
    assert [c.committed for c in outcome.progress.certificates] == [False] * 3
    assert {s.feedback for s in outcome.progress.steps} == {Feedback.UNDESIRABLE}


@pytest.mark.parametrize("protocol", ["crossfit", "paper"])
def test_helpful_pools_are_committed_to_the_last_step(make_world, protocol):
    world = make_world(1.0, protocol=protocol)

    outcome = world.run()

    assert outcome.stop is Stop.STEPS
    assert [c.committed for c in outcome.progress.certificates] == [True] * 4
    assert len(world.delivered(outcome)) == 16 * 2
    assert np.array_equal(np.unique(outcome.progress.committed.step), np.arange(16))


def test_a_harmful_window_between_helpful_ones_is_discarded_alone(make_world):
    calls = itertools.count()

    def worth(_action, _rng, n_rows):
        step = next(calls) // 3  # each of three lineages is asked
        return np.full(n_rows, -1.0 if 4 <= step < 8 else 1.0)

    outcome = make_world(worth).run()

    decisions = [c.committed for c in outcome.progress.certificates]
    assert decisions == [True, False, True, True]
    assert set(outcome.progress.committed.step) == {*range(4), *range(8, 16)}


@pytest.mark.parametrize("patience", [1, 2])
def test_as_many_refusals_in_a_row_as_patience_allows_end_the_run(make_world, patience):
    outcome = make_world(-1.0, patience=patience).run()

    assert outcome.stop is Stop.PATIENCE
    assert len(outcome.progress.certificates) == patience
    assert len(outcome.progress.steps) == 4 * patience


@pytest.mark.parametrize("protocol", ["crossfit", "paper"])
@pytest.mark.parametrize("budget", [1, 7, 8, 9, 20, 31])
def test_exactly_the_budget_is_delivered(make_world, protocol, budget):
    world = make_world(1.0, protocol=protocol)  # a window delivers 8 rows

    outcome = world.run(budget)

    assert len(world.delivered(outcome)) == budget
    assert outcome.stop is Stop.BUDGET


@pytest.mark.parametrize("budget", [1, 5, 11, 23])
def test_exactly_the_budget_is_delivered_when_lineages_fare_unequally(
    make_world, budget
):
    def admitted(worth):
        return worth > 0  # of random worth: lineages keep unequal numbers of rows

    world = make_world(random_worth, admits=admitted, n_folds=4, n_steps=40)

    outcome = world.run(budget)

    assert len(world.delivered(outcome)) == budget
    assert outcome.stop is Stop.BUDGET


def test_a_last_window_that_is_cut_keeps_rows_of_its_every_part(make_world):
    world = make_world(1.0, window_length=8)

    outcome = world.run(4)  # of 16 rows in each lineage

    for member in range(3):
        own = outcome.progress.committed.of_lineage(member)
        assert len(own) == 4
        assert (own.step.min(), own.step.max()) == (0, 7)


def test_a_budget_of_zero_asks_nobody(make_world):
    world = make_world(1.0)

    outcome = world.run(0)

    assert outcome.stop is Stop.BUDGET
    assert outcome.progress is world.start
    assert world.scene.stages.utility.n_baselines == 0


def test_the_run_ends_when_its_time_is_over_and_drops_the_open_window(make_world):
    world = make_world(1.0)

    # Read at the start, before each of 4 steps and after the window: the 6 seconds are
    # over within the second window.
    outcome = world.run(time_budget=6.0, clock=Clock())

    assert outcome.stop is Stop.TIME
    assert len(outcome.progress.certificates) == 1
    assert len(outcome.progress.steps) == 4
    assert outcome.progress.seconds == 5.0
    assert set(outcome.progress.committed.step) == {0, 1, 2, 3}


def test_time_counts_over_all_sittings(make_world):
    world = make_world(1.0)
    kept = []
    world.run(keep=kept.append, clock=Clock())

    outcome = world.run(progress=kept[0], time_budget=5.0, clock=Clock())

    assert kept[0].seconds == 5.0
    assert outcome.stop is Stop.TIME
    assert outcome.progress is kept[0]


def test_until_level_ends_at_the_first_refusal_after_a_success(make_world):
    world = make_world(1.0, n_steps=40, patience=9)
    referee = world.scene.stages.commitment.referee
    scores = referee.scores

    def level(synthetic, only=None):  # no row beyond a lineage's first 16 adds anything
        few = [np.flatnonzero(synthetic.unseen_fold == k)[:16] for k in range(3)]
        return scores(synthetic.take(np.concatenate(few)), only)

    referee.scores = level

    outcome = world.run(until_level=True)

    assert outcome.stop is Stop.LEVEL
    decisions = [c.committed for c in outcome.progress.certificates]
    assert decisions == [True, True, False]


def test_until_level_is_patient_before_the_first_success(make_world):
    outcome = make_world(-1.0).run(until_level=True)

    assert outcome.stop is Stop.PATIENCE
    assert len(outcome.progress.certificates) == 3


def test_pools_without_a_row_are_refused_and_said_so(make_world):
    outcome = make_world(1.0, admits=lambda _: False).run()

    assert outcome.stop is Stop.PATIENCE
    reasons = {c.reason for c in outcome.progress.certificates}
    assert reasons == {"no candidate passed the gates"}
    assert all(np.isnan(s.gain) for s in outcome.progress.steps)
    assert {s.refused["worth"] for s in outcome.progress.steps} == {6}


@pytest.mark.parametrize("min_gain", [0.0, -1.0])
def test_the_paper_s_rule_never_commits_an_empty_pool(make_world, min_gain):
    world = make_world(1.0, admits=lambda _: False, protocol="paper", min_gain=min_gain)

    outcome = world.run()

    assert not any(c.committed for c in outcome.progress.certificates)


@pytest.mark.parametrize("protocol", ["crossfit", "paper"])
def test_gains_that_are_not_numbers_commit_nothing_and_stop_nothing(
    make_world, protocol
):
    outcome = make_world(np.nan, protocol=protocol).run()

    assert outcome.stop is Stop.PATIENCE
    assert len(outcome.progress.committed) == 0
    assert {s.feedback for s in outcome.progress.steps} == {Feedback.NONE}


def test_a_judge_that_fails_leaves_what_was_kept_before_it(make_world):
    world = make_world(1.0)
    utility = world.scene.stages.utility
    answer, kept = utility.gains, []

    def failing(baseline, added):
        if utility.n_baselines == 3:
            raise EvaluatorError("out of order")
        return answer(baseline, added)

    utility.gains = failing
    with pytest.raises(EvaluatorError, match="out of order"):
        world.run(keep=kept.append)
    utility.gains = answer
    outcome = world.run(progress=kept[-1])

    assert len(kept) == 2
    assert [len(p.committed) for p in kept] == [24, 48]
    assert len(outcome.progress.committed) == 96


def test_an_observer_hears_of_every_step_and_window_in_order(make_world):
    tape = Tape()

    outcome = make_world(1.0, actions_per_batch=3).run(20, observer=tape)

    assert [s.step for s in tape.steps] == list(range(12))
    assert [w.certificate.window for w in tape.windows] == [0, 1, 2]
    assert [w.n_committed for w in tape.windows] == [8, 16, 20]
    assert {w.budget for w in tape.windows} == {20}
    assert tuple(tape.steps) == outcome.progress.steps


def test_the_same_seed_gives_the_same_run(make_world, content):
    first, again = (make_world(random_worth, seed=7).run(20) for _ in range(2))

    assert content(first.progress.committed) == content(again.progress.committed)
    assert [s.action for s in first.progress.steps] == [
        s.action for s in again.progress.steps
    ]


def test_different_seeds_differ(make_world, content):
    runs = [make_world(random_worth, seed=seed).run(20) for seed in range(4)]

    assert len({str(content(run.progress.committed)) for run in runs}) == 4


def test_the_baseline_is_asked_once_per_window(make_world):
    world = make_world(1.0)

    world.run()

    assert world.scene.stages.utility.n_baselines == 4
    # Once with real rows only, then once per window.
    assert world.scene.stages.commitment.referee.n_asked == 5


# ---- Windows.


def open_window(world, *, n_windows=0, in_time=lambda: True):
    progress = world.start if not n_windows else world.run().progress
    baseline = world.scene.stages.utility.baseline(progress.committed.rows)
    told = []
    window = fill_window(world.scene, progress, baseline, told.append, in_time)
    return window, told


@pytest.mark.parametrize("batch", [2, 3, 4, 8])
def test_a_policy_that_does_not_learn_draws_the_same_rows_in_any_batch(
    make_world, steady_policy, content, batch
):
    def positive(worth):
        return worth > 0

    one, many = (
        make_world(
            random_worth,
            policy=steady_policy,
            admits=positive,
            actions_per_batch=size,
            window_length=8,
        ).run(30)
        for size in (1, batch)
    )

    assert content(one.progress.committed) == content(many.progress.committed)
    assert [s.action for s in one.progress.steps] == [
        s.action for s in many.progress.steps
    ]


def test_a_step_draws_the_same_whatever_was_drawn_before_it(make_world, steady_policy):
    runs = [
        make_world(random_worth, policy=steady_policy, admits=lambda _, p=p: p).run()
        for p in (True, False)  # all rows pass, or none
    ]

    actions = [[s.action for s in run.progress.steps[:8]] for run in runs]
    assert actions[0] == actions[1]


def test_steps_are_numbered_through_windows_and_batches(make_world):
    outcome = make_world(1.0, actions_per_batch=3).run()

    steps = outcome.progress.steps
    assert [s.step for s in steps] == list(range(16))
    assert [s.window for s in steps] == np.repeat(range(4), 4).tolist()
    assert [c.window for c in outcome.progress.certificates] == [0, 1, 2, 3]


def test_rows_carry_the_number_of_the_step_that_asked_for_them(make_world):
    window, _ = open_window(make_world(1.0, actions_per_batch=3))

    # Two rows of each of three lineages at every step.
    assert window.pool.step.tolist() == np.repeat(range(4), 6).tolist()


def test_records_say_what_came_of_the_rows(make_world):
    window, told = open_window(make_world(random_worth, admits=lambda w: w > 0))

    for record in told:
        own = window.pool.take(window.pool.step == record.step)
        assert record.n_proposed == 6
        assert record.n_admitted == len(own)
        assert record.refused == {"worth": 6 - len(own)}
        if len(own):  # stand-in folds gain the worth of their own lineage's rows
            assert record.gain == pytest.approx(own.rows.cells[0].sum() / 3)
    assert len({record.n_admitted for record in told}) > 1


def test_actions_of_one_batch_are_drawn_in_the_same_state(make_world):
    _, told = open_window(make_world(1.0, actions_per_batch=2))

    states = [record.state for record in told]
    assert states[0] is states[1]
    assert states[2] is states[3]
    assert states[1].pass_rate[0] < states[2].pass_rate[0]


def test_a_later_action_of_a_batch_is_gated_against_the_rows_of_an_earlier_one(
    make_world,
):
    world = make_world(1.0, actions_per_batch=4)

    open_window(world)

    shown = [
        (candidates.step[0], len(context.kept))
        for candidates, context in world.scene.stages.gatekeeper.shown
    ]
    assert shown == [(step, 2 * step) for step in range(4) for _ in range(3)]


def test_gates_see_the_rows_their_lineage_has_committed(make_world):
    world = make_world(1.0)

    world.run()

    _, context = world.scene.stages.gatekeeper.shown[-1]
    # The last step: three committed windows of eight rows, three steps in the pool.
    assert len(context.kept) == 3 * 8 + 3 * 2
    assert set(context.kept.unseen_fold) == {2}


def test_what_gates_measured_travels_with_the_rows(make_world):
    outcome = make_world(random_worth, admits=lambda w: w > 0).run(8)

    committed = outcome.progress.committed
    assert np.array_equal(committed.scores["worth"], committed.rows.cells[0])


def test_a_window_is_dropped_when_time_runs_out(make_world):
    ticks = iter([True, True, False])

    window, told = open_window(make_world(1.0), in_time=lambda: next(ticks))

    assert window is None
    assert len(told) == 2


def test_rows_of_a_lineage_that_nobody_judges_are_never_admitted(make_world):
    world = make_world(1.0)
    propose = world.scene.stages.proposer.propose

    def stray(*given):
        return [
            Candidates(c.rows.with_origin(unseen_fold=99), c.regenerate, c.step)
            for c in propose(*given)
        ]

    world.scene.stages.proposer.propose = stray
    window, told = open_window(world)

    assert len(window.pool) == 0
    assert {record.n_admitted for record in told} == {0}


# ---- Progress.


@pytest.mark.parametrize(
    ("decisions", "n_attempts_used", "in_a_row"),
    [
        ("", 0, 0),
        ("-", 1, 1),
        ("+", 0, 0),
        ("+-", 1, 1),
        ("-+", 1, 0),
        ("-+--", 3, 2),
        ("+-+", 1, 0),
        ("+=", 0, 1),  # shown to beat the real rows, but adding nothing
        ("-.", 1, 2),  # a window without a candidate
    ],
)
def test_failures_are_counted_in_all_and_since_the_last_success(
    make_world, decisions, n_attempts_used, in_a_row
):
    certificates = tuple(
        SimpleNamespace(
            committed=mark == "+", shown=mark in "+=", n_judged=0 if mark == "." else 5
        )
        for mark in decisions
    )

    progress = replace(make_world(1.0).start, certificates=certificates)

    assert progress.window == len(decisions)
    assert progress.n_attempts_used == n_attempts_used
    assert progress.failures_in_a_row == in_a_row
