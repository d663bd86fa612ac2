import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer_names, roc_auc_score
from stand_ins import Told

from tabtap.domain import Lineages
from tabtap.errors import EvaluatorError, UserInputError
from tabtap.evaluate import EstimatorEvaluator, PanelEvaluator
from tabtap.evaluate.judging import FoldReferee, check_metric, scorable_folds
from tabtap.evaluate.learners import encode
from tabtap.evaluate.metric import metric_of
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
    assert referee_of(real, lineages).name == "LogisticRegression"


@pytest.fixture
def rare(build_table):
    """Give three classes, the last of which only folds 0 and 2 have."""
    label = np.arange(N_REAL) % 2
    label[[np.flatnonzero(fold == FOLD)[0] for fold in (0, 2)]] = 2
    rng = np.random.default_rng(0)
    return build_table(label, label + rng.normal(size=N_REAL))


def test_a_fold_of_which_the_metric_says_nothing_is_left_out_always(rare, lineages):
    referee = referee_of(rare, lineages, scoring="roc_auc_ovr")

    alone, beside = [
        referee.scores(rows) for rows in (rare.empty(), made(rare, lineages))
    ]

    expected = [
        roc_auc_score(
            rare.target[fold == FOLD],
            probabilities_by_hand(rare, lineages, fold, rare.empty()),
            multi_class="ovr",
        )
        for fold in (0, 2)
    ]
    assert alone.overall == pytest.approx(expected)
    assert beside.overall.shape == (2,)
    assert np.isfinite(beside.overall).all()


def test_a_score_per_row_leaves_no_fold_out(rare, lineages):
    scores = referee_of(rare, lineages, scoring="neg_log_loss").scores(rare.empty())

    assert scores.overall.shape == (N_REAL,)


def test_a_panels_learners_leave_out_the_same_folds(rare, lineages):
    referee = referee_of(rare, lineages, PanelEvaluator(), "roc_auc_ovr")

    scores = referee.scores(rare.empty())

    shapes = {part.shape for part in scores.by_learner.values()}
    assert shapes == {scores.overall.shape} == {(2,)}


def test_a_fold_of_one_class_is_left_out_where_its_score_is_no_number(build_table):
    fold, label = np.repeat([0, 1, 2], 4), np.tile([0, 1], 6)
    label[fold == 1] = 0
    real = build_table(label, np.arange(12.0))

    assert scorable_folds(
        metric_of("roc_auc"), real, Lineages(fold, crossfit=True)
    ) == [0, 2]


@pytest.mark.parametrize(
    ("target", "scoring", "said"),
    [
        ([0, 1, 2] * 10, "f1", "cannot score 30 rows of 3 of 3 classes: Target is"),
        ([0, 1, 2] * 10, "roc_auc", "cannot score 30 rows of 3 of 3 classes"),
        ([0, 1] * 15, "neg_mean_squared_error", "scores numbers"),
        (np.arange(30.0), "accuracy", "scores labels"),
        (np.arange(30.0), "roc_auc", "cannot score 30 rows of numbers"),
        (np.arange(30.0) - 9, "neg_mean_squared_log_error", "cannot score 30 rows"),
        ([0] * 29 + [1], "roc_auc", "1 of 3 folds can be scored, .* gives no finite"),
        ([0] * 28 + [1, 2], "roc_auc_ovr", "0 of 3 folds can be scored"),
    ],
)
def test_a_metric_that_cannot_work_is_refused_at_once(
    build_table, lineages, target, scoring, said
):
    real = build_table(target, np.zeros(30))

    with pytest.raises(UserInputError, match=said):
        check_metric(metric_of(scoring), real, lineages)


@pytest.mark.parametrize(
    "target",
    [[0, 1] * 15, [0, 1, 2] * 10, np.arange(30.0)],
    ids=["two classes", "three classes", "numbers"],
)
def test_a_scorer_of_any_name_is_fine_or_refused_with_a_sentence(
    build_table, lineages, target
):
    real = build_table(target, np.zeros(30))
    fine = []

    for scoring in get_scorer_names():
        try:
            check_metric(metric_of(scoring), real, lineages)
        except UserInputError:
            continue
        fine.append(scoring)

    is_label = not isinstance(target, np.ndarray)
    assert {"balanced_accuracy", "f1_macro", "roc_auc_ovr"}.issubset(fine) == is_label
    assert "r2" in fine


def correlation(estimator, rows, truth):
    return np.corrcoef(estimator.predict(rows), truth)[0, 1]


@pytest.mark.parametrize("scoring", ["explained_variance", correlation])
def test_a_metric_that_constant_predictions_cannot_have_is_fine(build_table, scoring):
    real = build_table(np.arange(30.0), np.zeros(30))

    assert scorable_folds(metric_of(scoring), real, Lineages(FOLD, crossfit=True)) == [
        0,
        1,
        2,
    ]


@pytest.mark.parametrize("far", [1e-300, 1e200, 1e308])
def test_targets_of_any_size_can_be_scored(build_table, lineages, far):
    check_metric(metric_of(), build_table([0.0, far] * 15, np.zeros(30)), lineages)


def test_a_referee_that_answers_nonsense_is_called_a_referee(real, lineages):
    def arrays(_contexts, queries):
        return [np.full((len(asked), 2), 0.5) for asked in queries]

    with pytest.raises(EvaluatorError, match=r"The referee 'mute' .*referee='panel'"):
        referee_of(real, lineages, Told(arrays, "mute")).scores(real.empty())
