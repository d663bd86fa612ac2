from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabtap.domain import WHOLE, Lineages
from tabtap.proposal import AnchorPool, choose_anchors


def usage(hardness, n_anchors, hard_share, n_draws=800):
    """Return how often each row is chosen on average."""
    rng = np.random.default_rng(0)
    total = np.zeros(len(hardness))
    for _ in range(n_draws):
        chosen = choose_anchors(np.array(hardness), n_anchors, hard_share, rng)
        total += np.bincount(chosen, minlength=len(hardness))
    return total / n_draws


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 30), st.integers(1, 60), st.integers(0, 99))
def test_no_row_is_used_again_before_every_row_was_used(n_rows, n_anchors, seed):
    hardness = np.random.default_rng(seed).random(n_rows)

    chosen = choose_anchors(hardness, n_anchors, 0.0, np.random.default_rng(seed))

    used = np.bincount(chosen, minlength=n_rows)
    assert len(chosen) == n_anchors
    assert used.max() - used.min() <= 1


def test_hard_anchors_are_as_frequent_as_the_rank_of_their_hardness():
    often = usage([0.1, 0.3, 0.2, 50.0], n_anchors=5, hard_share=1.0)

    assert often == pytest.approx(5 * np.array([1, 3, 2, 4]) / 10, abs=0.05)


def test_the_mixture_has_its_share_of_hard_anchors():
    often = usage([0.0, 1.0], n_anchors=3, hard_share=0.5)

    # Hard: 1.5 anchors, 1 to 2; even: 1.5 anchors, 1 to 1.
    assert often == pytest.approx([0.5 + 0.75, 1.0 + 0.75], abs=0.05)


@pytest.mark.parametrize(
    "hardness", [[2.0] * 4, [np.nan] * 4], ids=["equally hard", "unknown"]
)
def test_rows_that_hardness_cannot_tell_apart_are_used_evenly(hardness):
    chosen = choose_anchors(np.array(hardness), 8, 1.0, np.random.default_rng(0))

    assert np.bincount(chosen).tolist() == [2, 2, 2, 2]


def test_a_row_of_unknown_hardness_has_the_mean_chance():
    often = usage([0.0, np.nan, 5.0, np.inf], n_anchors=4, hard_share=1.0)

    assert often == pytest.approx([0.5, 1.0, 1.0, 1.5], abs=0.05)


def test_hard_anchors_do_not_come_before_the_others():
    rng, hardness = np.random.default_rng(0), np.arange(20.0)

    draws = np.array([choose_anchors(hardness, 8, 0.5, rng) for _ in range(800)])

    # Their means are 12.7 for the hard half and 9.5 for the even one.
    first, second = hardness[draws[:, :4]].mean(), hardness[draws[:, 4:]].mean()
    assert first == pytest.approx(second, abs=0.6)


@pytest.fixture
def scene(build_table):
    """Give four real rows in two folds and four committed rows of two lineages."""
    real = build_table([0, 0, 1, 1], np.arange(4.0))
    lineages = Lineages(np.array([0, 1, 0, 1]), crossfit=True)
    committed = replace(
        real.take(np.array([1, 3, 0, 2])),
        origin=np.array([1, -1, 0, -1]),
        unseen_fold=np.array([0, 0, 1, 1]),
    )
    return real, committed, lineages


def test_a_lineage_starts_from_what_it_has_seen_or_made(scene):
    real, committed, lineages = scene
    pool = AnchorPool.of(real, committed, np.zeros(4), lineages)

    found = {
        member: [pool.eligible(member, target).tolist() for target in (0, 1)]
        for member in lineages.members
    }

    assert found == {0: [[1, 4], [3, 5]], 1: [[0, 6], [2, 7]]}


def test_the_only_lineage_starts_from_every_row_and_all_it_made(scene):
    real, committed, lineages = scene
    everyone = replace(lineages, crossfit=False)
    made = replace(committed, unseen_fold=np.full(4, WHOLE))

    pool = AnchorPool.of(real, made, np.zeros(4), everyone)

    assert pool.eligible(WHOLE, 0).tolist() == [0, 1, 4, 6]


def test_committed_rows_are_as_hard_as_their_ancestor_or_as_the_mean(scene):
    real, committed, lineages = scene

    pool = AnchorPool.of(real, committed, np.array([1.0, 2.0, 4.0, 6.0]), lineages)

    # The orphans know only rows 1 and 3, and rows 0 and 2.
    assert pool.hardness[4:].tolist() == [2.0, 4.0, 1.0, 2.5]


def test_rows_that_were_part_of_a_larger_table_keep_their_descendants(scene):
    real, committed, lineages = scene
    real = replace(real, origin=np.array([40, 30, 20, 10]))
    committed = replace(committed, origin=np.array([30, -1, 40, 99]))

    pool = AnchorPool.of(real, committed, np.array([1.0, 2.0, 4.0, 6.0]), lineages)

    # Nobody is number 99: an orphan too.
    assert pool.hardness[4:].tolist() == [2.0, 4.0, 1.0, 2.5]


def test_nothing_committed_leaves_the_real_rows(scene):
    real, committed, lineages = scene

    pool = AnchorPool.of(real, committed.empty(), np.arange(4.0), lineages)

    assert pool.hardness.tolist() == [0.0, 1.0, 2.0, 3.0]
    assert pool.eligible(0, 1).tolist() == [3]
