from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from stand_ins import Mirror

from tabtap.config import ProposalConfig
from tabtap.domain import Candidates, Lineages, Template
from tabtap.errors import SmallerBatchWarning, UserInputError
from tabtap.proposal import LineageProposer
from tabtap.stages import Proposer
from tabtap.table.table import concat


@pytest.fixture
def make(noise_stack):
    """Build a proposer on a stand-in stack, with columns 1 and 2 important."""

    def build(real, lineages, stack=None, **settings):
        important = np.zeros(len(real.schema.features), dtype=bool)
        important[1:3] = True
        return LineageProposer(
            stack or noise_stack(lineages.members),
            lineages,
            ProposalConfig(**settings),
            dict.fromkeys(lineages.members, important),
        )

    return build


def generators(n_actions, seed=0):
    return [np.random.default_rng([seed, place]) for place in range(n_actions)]


def test_a_lineage_proposer_is_a_proposer():
    assert issubclass(LineageProposer, Proposer)


def test_all_actions_and_lineages_are_drawn_in_one_call(
    make, noise_stack, people, crossfit, act
):
    lineages = crossfit(30)
    stack = noise_stack(lineages.members)
    proposer = make(people, lineages, stack, candidates_per_step=5)

    proposer.propose(
        people, people.empty(), np.ones(30), [act(0), act(1)] * 2, generators(4)
    )

    assert stack.calls == [[20, 20, 20]]


def test_a_lineage_without_a_row_of_the_target_contributes_none(make, people, act):
    # Every "ill" row is in fold 0, so lineage 0 has never seen one.
    lineages = Lineages(
        np.where(people.target == 0, 0, 1 + np.arange(30) % 2), crossfit=True
    )
    proposer = make(people, lineages, candidates_per_step=4)

    ill, well = proposer.propose(
        people, people.empty(), np.ones(30), [act(0), act(1)], generators(2)
    )

    assert np.unique(ill.rows.unseen_fold).tolist() == [1, 2]
    assert np.bincount(well.rows.unseen_fold).tolist() == [4, 4, 4]


def test_a_target_that_nobody_knows_has_no_candidates(make, people, crossfit, act):
    only_ill = people.take(people.target == 0)
    lineages = crossfit(len(only_ill))

    (none,) = make(only_ill, lineages).propose(
        only_ill, only_ill.empty(), np.ones(len(only_ill)), [act(1)], generators(1)
    )

    assert len(none) == 0
    assert none.regenerate.shape == (0, len(people.schema.features))


def test_no_action_gives_no_candidates(make, people, crossfit):
    proposer = make(people, crossfit(30))

    assert proposer.propose(people, people.empty(), np.ones(30), [], []) == []


def test_one_lineage_draws_the_same_whatever_the_others_know(
    make, people, crossfit, act, content
):
    lineages = crossfit(30)
    proposer = make(people, lineages)
    of_first = replace(people.take(np.arange(6)), unseen_fold=np.zeros(6, int))

    (alone,), (beside,) = (
        proposer.propose(people, committed, np.ones(30), [act()], generators(1))
        for committed in (people.empty(), of_first)
    )

    for member in (1, 2):
        mine = alone.of_lineage(member).rows
        assert content(beside.of_lineage(member).rows) == content(mine)
    assert content(beside.of_lineage(0).rows) != content(alone.of_lineage(0).rows)


def test_lineages_draw_apart_from_each_other(make, people, crossfit, act):
    proposer = make(people, crossfit(30))

    (made,) = proposer.propose(
        people, people.empty(), np.ones(30), [act()], generators(1)
    )

    masks = [made.of_lineage(member).regenerate for member in range(3)]
    assert not np.array_equal(masks[0], masks[1])
    assert not np.array_equal(masks[1], masks[2])


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],  # it only builds
)
@given(st.lists(st.integers(0, 3), min_size=12, max_size=40), st.integers(0, 999))
def test_nothing_of_an_unseen_fold_reaches_a_lineage_over_generations(
    build_table, act, numbers, seed
):
    rng = np.random.default_rng(seed)
    fold = np.unique(np.append(numbers, [0, 1]), return_inverse=True)[1]
    lineages = Lineages(fold, crossfit=True)
    # The only feature tells which fold a row came from.
    real = build_table(rng.integers(0, 2, len(fold)), fold * 1.0)
    real = replace(real, origin=rng.permutation(1000)[: len(fold)])
    none = dict.fromkeys(lineages.members, np.zeros(1, dtype=bool))
    proposer = LineageProposer(
        Mirror(lineages.members), lineages, ProposalConfig(), none
    )
    pool = Candidates.none(real)

    for generation in range(3):
        made = proposer.propose(
            real, pool.rows, rng.random(len(fold)), [act(0), act(1)],
            generators(2, seed + generation),
        )  # fmt: skip
        pool = Candidates.joined([pool, *made])
        pool = pool.take(rng.random(len(pool)) < 0.5)

        fold_of = dict(zip(real.origin.tolist(), fold.tolist(), strict=True))
        ancestors = np.array([fold_of[origin] for origin in pool.rows.origin.tolist()])
        assert (pool.rows.cells[0] != pool.rows.unseen_fold).all()
        assert np.array_equal(ancestors, pool.rows.cells[0])


def test_committed_rows_are_anchors_and_pass_their_origin_on(
    build_table, make, crossfit, act
):
    real = build_table([0] * 6, np.zeros(6), np.zeros(6), np.zeros(6))
    made = build_table([0] * 4, np.full(4, 7.0), np.full(4, 7.0), np.full(4, 7.0))
    committed = replace(made, origin=np.array([1, 4, 1, -1]), unseen_fold=np.zeros(4))
    proposer = make(real, crossfit(6), candidates_per_step=16, hard_share=0.0)

    (candidates,) = proposer.propose(
        real, committed, np.ones(6), [act(exploration=0.0)], generators(1)
    )

    first = candidates.of_lineage(0)
    # One of three cells is redrawn, so the median is the anchor's.
    from_committed = np.median(np.column_stack(first.rows.cells), axis=1) == 7.0
    assert from_committed.sum() == 8  # 4 of its 8 rows, each used twice
    assert set(first.rows.origin[from_committed]) == {1, 4, -1}
    assert set(first.rows.origin[~from_committed]) == {1, 2, 4, 5}


def test_hard_rows_are_anchors_more_often(make, people, crossfit, act):
    hardness = np.zeros(30)
    hardness[15] = 1.0  # a "well" row of fold 0
    proposer = make(people, crossfit(30), hard_share=1.0, candidates_per_step=200)

    (made,) = proposer.propose(
        people, people.empty(), hardness, [act(1)], generators(1)
    )

    of_one = made.of_lineage(1).rows.origin
    # Lineage 1 knows 12 "well" rows: ranks 6 (eleven times) and 12.
    assert (of_one == 15).mean() == pytest.approx(12 / 78, abs=0.02)


@pytest.mark.parametrize("template", Template)
def test_more_exploration_leads_further_from_the_anchor(
    make, people, crossfit, act, template
):
    proposer = make(people, crossfit(30), candidates_per_step=60)
    shares = (0.0, 0.3, 0.6, 1.0)

    made = proposer.propose(
        people,
        people.empty(),
        np.ones(30),
        [act(1, template, share) for share in shares],
        generators(4),
    )

    far = [
        np.abs(c.rows.numeric - people.take(c.rows.origin).numeric).sum(axis=1).mean()
        for c in made
    ]
    assert (np.diff(far) > 0.3).all()


@pytest.mark.parametrize("redraw", [True, False])
def test_a_regression_target_is_redrawn_where_the_settings_say(
    build_table, make, crossfit, act, redraw
):
    rng = np.random.default_rng(0)
    real = build_table(rng.random(20), rng.random(20), rng.random(20), rng.random(20),
                       edges=[0.5])  # fmt: skip
    proposer = make(real, crossfit(20), redraw_target=redraw)

    (made,) = proposer.propose(real, real.empty(), np.ones(20), [act(1)], generators(1))

    kept = np.isin(made.rows.target, real.target)
    assert (made.rows.condition == 1).all()
    assert kept.all() if not redraw else not kept.any()


def test_a_stack_of_other_lineages_is_refused(make, noise_stack, people, crossfit):
    with pytest.raises(UserInputError, match=r"not seen folds \[1, 0, 2\]"):
        make(people, crossfit(30), noise_stack((1, 0, 2)))


def test_a_lack_of_memory_changes_nothing_but_the_batches(
    make, noise_stack, people, crossfit, act, content
):
    lineages = crossfit(30)
    small = noise_stack(lineages.members, most_rows=7, error=MemoryError())
    question = people, people.empty(), np.ones(30), [act(0), act(1)]
    whole = make(people, lineages).propose(*question, generators(2))

    with pytest.warns(SmallerBatchWarning):
        parts = make(people, lineages, small).propose(*question, generators(2))

    assert content(concat([c.rows for c in parts])) == content(
        concat([c.rows for c in whole])
    )
