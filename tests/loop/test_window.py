import numpy as np
import pytest

from tabtap.domain import Candidates
from tabtap.loop.augment import fill_window


def random_worth(_action, rng, n_rows):
    return rng.normal(0.5, 1.0, n_rows)


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
