import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from tabtap.domain import Lineages
from tabtap.evaluate import EstimatorEvaluator, PanelEvaluator
from tabtap.evaluate.encoding import encode
from tabtap.evaluate.metric import metric_of
from tabtap.evaluate.referee import FoldReferee
from tabtap.table.table import concat

N_REAL, N_FOLDS = 30, 3
FOLD = np.random.default_rng(3).permutation(np.arange(N_REAL) % N_FOLDS)


@pytest.fixture
def real(build_table):
    rng = np.random.default_rng(0)
    label = np.arange(N_REAL) % 2
    return build_table(label, label + rng.normal(size=N_REAL))


@pytest.fixture(params=[True, False], ids=["crossfit", "paper"])
def lineages(request):
    return Lineages(FOLD, crossfit=request.param)


def referee_of(real, lineages, evaluator=None, scoring="score"):
    evaluator = evaluator or EstimatorEvaluator(LogisticRegression())
    return FoldReferee(real, lineages, evaluator, metric_of(scoring))


def made(real, lineages):
    rng = np.random.default_rng(1)
    return concat(
        [
            real.take(rng.choice(lineages.seen(member), 8)).with_origin(
                unseen_fold=member
            )
            for member in lineages.members
        ]
    )


def probabilities_by_hand(real, lineages, fold, synthetic):
    own = lineages.held_by(lineages.judging(fold), synthetic)
    context = concat([real.take(np.flatnonzero(fold != FOLD)), own])
    seen, (unseen,) = encode(context, [real.take(np.flatnonzero(fold == FOLD))])
    model = LogisticRegression(random_state=42).fit(seen, context.target)
    return model.predict_proba(unseen)


def test_every_real_row_is_scored_in_its_place_without_its_own_fold(real, lineages):
    synthetic = made(real, lineages)

    scores = referee_of(real, lineages).scores(synthetic)

    assert scores.overall.shape == (N_REAL,)
    for fold in range(N_FOLDS):
        rows = np.flatnonzero(fold == FOLD)
        stated = probabilities_by_hand(real, lineages, fold, synthetic)
        likely = stated[np.arange(len(rows)), real.target[rows]]
        expected = (likely + (likely > 0.5)) / 2
        assert scores.overall[rows] == pytest.approx(expected, rel=1e-4)


def test_a_score_per_fold_stays_one_per_fold(real, lineages):
    scores = referee_of(real, lineages, scoring="roc_auc").scores(real.empty())

    expected = [
        roc_auc_score(
            real.target[fold == FOLD],
            probabilities_by_hand(real, lineages, fold, real.empty())[:, 1],
        )
        for fold in range(N_FOLDS)
    ]
    assert scores.overall == pytest.approx(expected)


def test_a_panel_is_also_scored_learner_by_learner(real, lineages):
    scores = referee_of(real, lineages, PanelEvaluator()).scores(real.empty())

    assert list(scores.by_learner) == ["linear", "neighbors", "forest", "boosting"]
    assert np.mean(list(scores.by_learner.values()), axis=0) == pytest.approx(
        scores.overall
    )


def test_a_single_learner_is_not_told_apart(real, lineages):
    assert referee_of(real, lineages).scores(real.empty()).by_learner == {}


def test_rows_of_lineages_that_may_not_stand_beside_a_fold_do_not_count(real):
    lineages = Lineages(FOLD, crossfit=True)
    synthetic = made(real, lineages)
    flipped = synthetic.take(synthetic.unseen_fold != 1)

    with_all = referee_of(real, lineages).scores(synthetic)
    without = referee_of(real, lineages).scores(flipped)

    changed = with_all.overall != without.overall
    assert changed[FOLD == 1].any()
    assert not changed[FOLD != 1].any()


def test_it_is_named_after_who_scores_and_by_what(real, lineages):
    assert referee_of(real, lineages).name == "LogisticRegression: score"
