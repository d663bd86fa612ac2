"""No lineage ever sees the fold it is judged by, whatever stage it is handed to."""

from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stand_ins import Listener, same_for_all

from tabtap.config import UtilityConfig
from tabtap.domain import Lineages, RefereeScores
from tabtap.evaluate.judging import FoldReferee, FoldUtility
from tabtap.evaluate.metric import metric_of
from tabtap.loop import CrossfitCommitment


def is_real(table, real):
    """Rows that no lineage made: their cells are those of the row they descend from."""
    return (table.unseen_fold == -1) & (table.cells[0] == real.cells[0][table.origin])


@pytest.fixture(params=[1, 3], ids=["one action", "three actions"])
def listening(request, make_world):
    """Run with the real utility and referee over an evaluator that listens."""

    def random_worth(_action, rng, n_rows):
        return 2 + rng.random(n_rows)  # unlike any real cell, which is at most 1

    world = make_world(random_worth, n_folds=4, actions_per_batch=request.param)
    scene = world.scene
    listener = Listener(same_for_all(1 / 3))
    utility = FoldUtility(scene.real, scene.lineages, listener, UtilityConfig())
    referee = FoldReferee(scene.real, scene.lineages, listener, metric_of("score"))

    def improving(synthetic, only=None):
        scores = FoldReferee.scores(referee, synthetic, only)
        # Pretend that it helps, so that rows are committed.
        helped = {
            k: part + 0.001 * len(synthetic) for k, part in scores.by_learner.items()
        }
        return RefereeScores(helped)

    class Improving:
        name = "improving"
        learners: ClassVar[dict] = {}
        scores = staticmethod(improving)

    gates = replace(scene.stages.gatekeeper, needs_prediction=True)
    commitment = CrossfitCommitment(scene.real, Improving(), scene.config.commit)
    stages = replace(
        scene.stages, utility=utility, gatekeeper=gates, commitment=commitment
    )
    world.scene = replace(scene, stages=stages)
    world.run()
    return world, listener


def test_queries_are_answered_without_their_fold_and_its_descendants(listening):
    world, listener = listening
    real, fold = world.scene.real, world.scene.lineages.fold
    n_beside = 0

    for context, queries in listener.asked:
        if not is_real(queries, real).all():
            continue  # candidates, see below
        (judged,) = set(fold[queries.origin])
        beside = ~is_real(context, real)
        n_beside += beside.sum()
        assert judged not in fold[context.origin]
        assert set(context.unseen_fold[beside]) <= {judged}
    assert n_beside > 0


def test_candidates_are_foreseen_without_their_ancestor_and_their_unseen_fold(
    listening,
):
    world, listener = listening
    real, fold = world.scene.real, world.scene.lineages.fold
    n_foreseen = 0

    for context, queries in listener.asked:
        if is_real(queries, real).any():
            continue
        n_foreseen += len(queries)
        (unseen,), (home,) = set(queries.unseen_fold), set(fold[queries.origin])
        assert is_real(context, real).all()
        assert {unseen, home}.isdisjoint(fold[context.origin])
    assert n_foreseen > 0


def test_gates_are_shown_nothing_of_the_fold(listening):
    world, _ = listening
    fold = world.scene.lineages.fold
    shown = world.scene.stages.gatekeeper.shown

    assert any(len(context.kept) for _, context in shown)
    for candidates, context in shown:
        (member,) = set(candidates.rows.unseen_fold)
        assert member not in fold[context.real.origin]
        assert member not in fold[context.kept.origin]
        assert set(context.kept.unseen_fold) <= {member}
        assert len(context.residuals) == len(context.real)
        assert len(context.prediction) == len(candidates)


@settings(max_examples=50, deadline=None)
@given(
    fold=st.lists(st.integers(0, 4), min_size=6, max_size=20).filter(
        lambda fold: set(fold) == set(range(max(fold) + 1)) and max(fold) > 0
    )
)
def test_every_real_row_is_judged_by_a_lineage_that_has_not_seen_it(fold):
    lineages = Lineages(np.array(fold), crossfit=True)

    for row, own in enumerate(fold):
        assert row not in lineages.seen(lineages.judging(own))
        assert row in lineages.asked(own)
    seen = [set(lineages.seen(member)) for member in lineages.members]
    assert set.union(*seen) == set(range(len(fold)))
