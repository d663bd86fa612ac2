"""Equation 12: a batch of candidates is drawn from K_phi(. | D_t, a_t)."""

from dataclasses import replace

import numpy as np
import pytest

from tabtap.config import AugmentConfig
from tabtap.domain import WHOLE, Action, Lineages, Template
from tabtap.proposal import LineageProposer
from tabtap.stages import Proposer


class Shift:
    """Adds 100 to what it redraws, so that kept and redrawn cells can be told."""

    unseen_folds = (WHOLE,)

    def inpaint_seeded(self, anchors, regenerate, *_, **__):
        rows, mask = anchors[0], regenerate[0]
        return [rows.redrawn(mask, rows.numeric + 100.0, rows.categorical)]


@pytest.fixture
def scene(build_table):
    """Give six rows in which cell j of row i is 10 i + j."""
    columns = [np.arange(6) * 10.0 + j for j in range(4)]
    real = build_table([0, 0, 0, 1, 1, 1], *columns)
    lineages = Lineages(np.arange(6) % 2, crossfit=False)
    important = {WHOLE: np.zeros(4, dtype=bool)}
    config = AugmentConfig.paper().proposal
    return real, LineageProposer(Shift(), lineages, config, important)


def propose(scene, committed, seed=0):
    real, proposer = scene
    action, rng = Action(1, Template.EXPLORE, 0.5, 0.5), np.random.default_rng(seed)
    (candidates,) = proposer.propose(real, committed, np.ones(6), [action], [rng])
    return candidates


def test_the_kernel_is_a_proposer(scene):
    assert isinstance(scene[1], Proposer)


def test_a_batch_has_table_4_s_sixteen_candidates(scene):
    assert len(propose(scene, scene[0].empty())) == 16


def test_candidates_are_their_anchors_but_for_the_redrawn_cells(scene):
    real, _ = scene

    made = propose(scene, real.empty())

    anchors = real.take(made.rows.origin).numeric
    assert np.array_equal(made.rows.numeric, anchors + 100.0 * made.regenerate)
    assert (made.regenerate.sum(axis=1) == 2).all()
    assert made.rows.target.tolist() == [1] * 16


def test_the_batch_depends_on_the_committed_rows(scene):
    real, _ = scene
    committed = replace(real.take(np.array([4])), cells=(np.full(1, -5.0),) * 4)

    before, after = propose(scene, real.empty()), propose(scene, committed)

    assert (before.rows.numeric >= 0).all()
    from_committed = (after.rows.numeric == -5.0).any(axis=1)
    assert 2 <= from_committed.sum() <= 6  # one of four rows of the class
    assert set(after.rows.origin[from_committed]) == {4}


def test_batches_of_two_generators_differ(scene):
    real, _ = scene

    one, other = (propose(scene, real.empty(), seed) for seed in (0, 1))

    assert one.regenerate.tolist() != other.regenerate.tolist()
