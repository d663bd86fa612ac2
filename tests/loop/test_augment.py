import itertools

import numpy as np
import pytest
from stand_ins import Tape

from tabtap.domain import Feedback
from tabtap.errors import EvaluatorError
from tabtap.loop import Stop


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

    def level(synthetic):  # no row beyond the first 16 of a lineage adds anything
        few = [np.flatnonzero(synthetic.unseen_fold == k)[:16] for k in range(3)]
        return scores(synthetic.take(np.concatenate(few)))

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
