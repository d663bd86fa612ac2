from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from stand_ins import Told, all_zero

from tabtap.config import UtilityConfig
from tabtap.domain import ClassPrediction, Lineages
from tabtap.errors import EvaluatorError
from tabtap.evaluate import EstimatorEvaluator, PanelEvaluator
from tabtap.evaluate.judging import FoldUtility
from tabtap.evaluate.learners import encode
from tabtap.table.table import concat

N_REAL, N_FOLDS = 30, 3


@pytest.fixture
def real(build_table):
    rng = np.random.default_rng(0)
    label = np.arange(N_REAL) % 2
    return build_table(label, label + rng.normal(size=N_REAL), rng.normal(size=N_REAL))


@pytest.fixture(params=[True, False], ids=["crossfit", "paper"])
def lineages(request):
    return Lineages(np.arange(N_REAL) % N_FOLDS, crossfit=request.param)


def utility_of(real, lineages, evaluator=None, **settings):
    evaluator = evaluator or EstimatorEvaluator(LogisticRegression())
    return FoldUtility(
        real, lineages, evaluator, UtilityConfig(**{"focus_fraction": 0.2, **settings})
    )


def made(real, lineages, n_rows=6, seed=0):
    """Make rows of every lineage from real rows that it has seen."""
    rng = np.random.default_rng(seed)
    parts = []
    for member in lineages.members:
        rows = real.take(rng.choice(lineages.seen(member), n_rows))
        cells = tuple(cell + rng.normal(size=n_rows) for cell in rows.cells)
        parts.append(replace(rows, cells=cells).with_origin(unseen_fold=member))
    return concat(parts)


def losses_by_hand(real, lineages, fold, *beside):
    """Refit on the other folds and a lineage's rows; losses and entropies of a fold."""
    own = [lineages.held_by(lineages.judging(fold), rows) for rows in beside]
    context = concat([real.take(np.flatnonzero(lineages.fold != fold)), *own])
    queries = real.take(np.flatnonzero(lineages.fold == fold))
    seen, (unseen,) = encode(context, [queries])
    model = LogisticRegression(random_state=42).fit(seen, context.target)
    p = model.predict_proba(unseen)
    return -np.log(p[np.arange(len(p)), queries.target]), -(p * np.log(p)).sum(axis=1)


def test_the_baseline_answers_every_row_without_its_own_fold(real, lineages):
    committed = made(real, lineages)

    baseline = utility_of(real, lineages).baseline(committed)

    for fold in range(N_FOLDS):
        rows = lineages.asked(fold)
        losses, entropies = losses_by_hand(real, lineages, fold, committed)
        hardest = np.argsort(-entropies)[: int(np.ceil(0.2 * len(rows)))]
        assert baseline.hardness[rows] == pytest.approx(entropies, rel=1e-4)
        assert baseline.uncertainty[rows] == pytest.approx(entropies, rel=1e-4)
        assert baseline.focus[fold].origin.tolist() == rows[hardest].tolist()
        assert baseline.fold_losses[fold] == pytest.approx(losses[hardest], rel=1e-4)


def test_the_gain_is_the_fall_of_the_loss_on_the_same_focus(real, lineages):
    committed, added = made(real, lineages), made(real, lineages, seed=1)
    utility = utility_of(real, lineages)
    baseline = utility.baseline(committed)

    (estimate,) = utility.gains(baseline, [added])

    drops = []
    for fold in range(N_FOLDS):
        before, entropies = losses_by_hand(real, lineages, fold, committed)
        after, _ = losses_by_hand(real, lineages, fold, committed, added)
        hardest = np.argsort(-entropies)[:2]
        drops.append((before - after)[hardest])
    assert estimate.fold_gains == pytest.approx(np.mean(drops, axis=1), rel=1e-3)
    assert estimate.gain == pytest.approx(np.mean(drops), rel=1e-3)


def test_sets_judged_together_gain_what_they_gain_alone(real, lineages):
    utility = utility_of(real, lineages)
    baseline = utility.baseline(real.empty())
    sets = [made(real, lineages, seed=seed) for seed in range(3)]

    together = utility.gains(baseline, [*sets, real.empty()])

    alone = [utility.gains(baseline, [rows])[0] for rows in sets]
    assert [e.gain for e in together[:3]] == [e.gain for e in alone]
    assert together[3].gain == 0.0
    assert together[3].fold_gains == (0.0,) * N_FOLDS


def test_no_rows_are_not_asked_about(real, lineages):
    utility = utility_of(real, lineages)
    baseline = utility.baseline(real.empty())

    def refuse(contexts, queries):
        raise AssertionError(f"{len(contexts)} contexts, {len(queries)} queries")

    silent = replace(utility, evaluator=Told(refuse))

    assert silent.gains(baseline, [real.empty()])[0].gain == 0.0
    assert silent.gains(baseline, []) == []
    assert silent.foresee(real.empty()) is None


def test_many_committed_rows_are_thinned_evenly_in_questions(real, lineages):
    committed = made(real, lineages, n_rows=40)

    baseline = utility_of(real, lineages, max_committed=5).baseline(committed)

    for fold, context in enumerate(baseline.contexts):
        own = lineages.held_by(lineages.judging(fold), committed)
        beside = context.take(np.arange(20, len(context)))  # after two folds of ten
        assert len(beside) == 5
        for cell, all_cells in zip(beside.cells, own.cells, strict=True):
            # From first to last: 0, 9.75, 19.5, 29.25 and 39, rounded.
            assert cell.tolist() == all_cells[[0, 10, 20, 29, 39]].tolist()


def test_candidates_are_foreseen_in_their_order(real, lineages):
    rows = made(real, lineages)
    shuffled = np.random.default_rng(2).permutation(len(rows))
    utility = utility_of(real, lineages)

    straight, mixed = utility.foresee(rows), utility.foresee(rows.take(shuffled))

    assert len(straight) == len(rows)
    assert mixed.probabilities == pytest.approx(straight.probabilities[shuffled])


def test_a_candidate_is_foreseen_by_folds_apart_from_its_ancestor_s(real, lineages):
    rows = made(real, lineages)

    stated = utility_of(real, lineages).foresee(rows).probabilities

    for place in range(len(rows)):
        apart = {lineages.fold[rows.origin[place]], rows.unseen_fold[place]}
        context = real.take(~np.isin(lineages.fold, list(apart)))
        seen, (unseen,) = encode(context, [rows.take(np.array([place]))])
        model = LogisticRegression(random_state=42).fit(seen, context.target)
        assert stated[place] == pytest.approx(model.predict_proba(unseen)[0], rel=1e-4)


def test_a_candidate_without_ancestor_is_foreseen_by_what_its_lineage_has_seen(
    real, lineages
):
    rows = made(real, lineages)
    orphans = replace(rows, origin=np.full(len(rows), -1))

    stated = utility_of(real, lineages).foresee(orphans).probabilities

    member = lineages.members[0]
    context = real.take(lineages.seen(member))
    mine = np.flatnonzero(rows.unseen_fold == member)
    seen, (unseen,) = encode(context, [rows.take(mine)])
    model = LogisticRegression(random_state=42).fit(seen, context.target)
    assert stated[mine] == pytest.approx(model.predict_proba(unseen), rel=1e-4)


def test_with_two_folds_candidates_are_foreseen_by_the_one_that_was_seen(real):
    lineages = Lineages(np.arange(N_REAL) % 2, crossfit=True)
    rows = made(real, lineages)

    stated = utility_of(real, lineages).foresee(rows).probabilities

    assert stated.shape == (len(rows), 2)
    assert np.isfinite(stated).all()


def test_a_panel_foresees_with_one_voice(real, lineages):
    foreseen = utility_of(real, lineages, PanelEvaluator()).foresee(
        made(real, lineages, n_rows=2)
    )

    assert isinstance(foreseen, ClassPrediction)


def test_regression_is_counted_in_the_real_targets_deviations(build_table, lineages):
    rng = np.random.default_rng(0)
    target = 1000 * rng.normal(size=N_REAL)
    real = build_table(target, rng.normal(size=N_REAL))

    baseline = utility_of(real, lineages, Told(all_zero)).baseline(real.empty())

    assert baseline.hardness == pytest.approx(np.abs(target) / target.std())
    assert np.concatenate(baseline.fold_losses).max() == pytest.approx(
        (np.abs(target).max() / target.std()) ** 2
    )


@pytest.mark.parametrize("stated", [np.nan, [np.nan, 0.5]])
def test_an_evaluator_that_answers_no_numbers_is_refused_at_the_baseline(
    real, lineages, stated
):
    def mute(_contexts, queries):
        return [
            ClassPrediction(np.resize(np.array(stated, float), (len(q), 2)))
            for q in queries
        ]

    with pytest.raises(EvaluatorError, match="'mute' answered NaN"):
        utility_of(real, lineages, Told(mute, "mute")).baseline(real.empty())
