from dataclasses import replace

import numpy as np
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer_names, roc_auc_score
from stand_ins import Told, all_zero, same_for_all

from tabtap.config import UtilityConfig
from tabtap.domain import ClassPrediction, Lineages, ValuePrediction
from tabtap.errors import EvaluatorError, UserInputError
from tabtap.evaluate import EstimatorEvaluator, PanelEvaluator
from tabtap.evaluate.evaluators import PANEL, PanelPrediction
from tabtap.evaluate.judging import (
    FoldReferee,
    FoldUtility,
    ask,
    check_metric,
    hardest_rows,
)
from tabtap.evaluate.learners import encode
from tabtap.evaluate.metric import metric_of
from tabtap.table.table import concat

# ---- What rows are worth.


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


# ---- The hardest rows.


@pytest.mark.parametrize(
    ("n_rows", "fraction", "n_kept"),
    [(10, 0.2, 2), (8, 0.2, 2), (4, 0.2, 1), (1, 0.2, 1), (5, 1.0, 5), (3, 0.0, 1)],
)
def test_a_share_of_the_rows_is_kept_rounded_up_and_never_none(
    n_rows, fraction, n_kept
):
    assert len(hardest_rows(np.arange(n_rows, dtype=float), fraction)) == n_kept


def test_equally_hard_rows_keep_their_order():
    assert hardest_rows(np.array([1.0, 2.0, 1.0, 2.0]), 1.0).tolist() == [1, 3, 0, 2]


@given(
    hardness=st.lists(st.floats(0, 10), min_size=1, max_size=30),
    fraction=st.floats(0.01, 1.0),
)
def test_no_row_left_out_is_harder_than_one_that_is_kept(hardness, fraction):
    kept = hardest_rows(np.array(hardness), fraction)

    left = np.delete(np.array(hardness), kept)
    assert len(set(kept.tolist())) == len(kept)
    assert left.size == 0 or left.max() <= np.array(hardness)[kept].min()


def test_no_rows_are_refused():
    with pytest.raises(UserInputError, match="fewer folds or more rows"):
        hardest_rows(np.zeros(0), 0.2)


def test_a_hardness_that_is_not_a_number_is_refused_with_its_row():
    with pytest.raises(UserInputError, match="NaN for query row 2"):
        hardest_rows(np.array([0.1, 0.2, np.nan]), 0.2)


# ---- Asking an evaluator, and what it may not answer.


@pytest.fixture
def pairs(build_table):
    table = build_table([0, 1, 0], np.zeros(3))
    return (
        [table, table.take(np.arange(2))],
        [table, table.take(np.arange(1))],
        table,
    )


even = same_for_all(0.5).predict


def test_sound_answers_are_passed_on(pairs):
    answers = ask(Told(even), *pairs)

    assert [len(answer) for answer in answers] == [3, 1]


def test_an_iterator_of_answers_will_do(pairs):
    assert len(ask(Told(lambda c, q: iter(even(c, q))), *pairs)) == 2


def test_an_evaluator_that_raises_is_named_with_what_it_was_given(pairs):
    def fail(_contexts, _queries):
        raise ZeroDivisionError("by 0")

    with pytest.raises(EvaluatorError, match="'mine' failed on 2 contexts of 2 to 3"):
        ask(Told(fail), *pairs)


@pytest.mark.parametrize(
    "answer",
    [
        lambda c, q: even(c, q)[:1],
        lambda c, q: even(c, q)[::-1],
        lambda c, q: even(c, q) * 2,
    ],
    ids=["too few", "in another order", "too many"],
)
def test_answers_to_other_queries_are_refused(pairs, answer):
    with pytest.raises(EvaluatorError, match="one prediction per pair"):
        ask(Told(answer), *pairs)


@pytest.mark.parametrize(
    "nonsense",
    [
        lambda _: None,
        lambda _: 3.0,
        lambda _: [0.5, 0.5],
        lambda queries: [np.zeros((len(q), 2)) for q in queries],
    ],
    ids=["nothing", "a number", "numbers", "arrays"],
)
def test_what_is_no_prediction_is_the_evaluator_s_fault(pairs, nonsense):
    with pytest.raises(EvaluatorError, match="The evaluator 'mine'"):
        ask(Told(lambda _c, q: nonsense(q)), *pairs)


def shaped(*shape, fill=0.5):
    return lambda _c, q: [ClassPrediction(np.full((len(x), *shape), fill)) for x in q]


def numbers(mean, variance):
    return lambda _c, q: [
        ValuePrediction(np.resize(mean, len(x)), np.resize(variance, len(x))) for x in q
    ]


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        (shaped(1), r"shape \(3, 1\), but there are 2 classes"),
        (shaped(3), r"shape \(3, 3\), but there are 2 classes"),
        (shaped(), r"shape \(3,\), but there are 2 classes"),
        (shaped(2, fill=np.nan), "NaN as a probability"),
        (numbers(1.0, 1.0), "numbers when it was asked for probabilities"),
    ],
    ids=["too few", "too many", "no columns", "NaN", "numbers"],
)
def test_probabilities_that_are_none_are_refused(pairs, answer, fault):
    with pytest.raises(EvaluatorError, match=f"'mine' answered .*{fault}"):
        ask(Told(answer), *pairs)


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        (numbers(np.nan, 1.0), "NaN as a mean"),
        (numbers(0.0, np.nan), "NaN as a variance"),
        (even, "probabilities of classes when it was asked for numbers"),
        (
            lambda _c, q: [
                ValuePrediction(np.zeros((len(x), 1)), np.ones(len(x))) for x in q
            ],
            r"a mean of shape \(3, 1\)",
        ),
    ],
    ids=["mean", "variance", "labels", "a column"],
)
def test_numbers_that_are_none_are_refused(build_table, answer, fault):
    real = build_table([0.0, 2.0, 5.0], np.zeros(3))

    with pytest.raises(EvaluatorError, match=f"'mine' answered {fault}"):
        ask(Told(answer), [real], [real], real)


def test_every_member_of_a_panel_is_looked_at(pairs):
    def answer(contexts, queries):
        good, bad = even(contexts, queries), shaped(2, fill=np.nan)(contexts, queries)
        return [
            PanelPrediction({"good": g, "bad": b})
            for g, b in zip(good, bad, strict=True)
        ]

    with pytest.raises(EvaluatorError, match="NaN as a probability"):
        ask(Told(answer), *pairs)


def test_errors_of_numbers_are_counted_in_the_real_rows_deviations(build_table):
    real = build_table([0.0, 4.0], np.zeros(2))  # deviation 2
    query = build_table([2.0], np.zeros(1))

    (answer,) = ask(Told(numbers(6.0, 1.0)), [real], [query], real)

    assert answer.losses(query) == pytest.approx([4.0])


@pytest.mark.parametrize("answer", [lambda _c, _q: 1 / 0, shaped(1)])
@pytest.mark.parametrize(
    ("role", "name", "other"),
    [
        ("evaluator", "mine", "ensemble"),
        ("evaluator", "ensemble", "holdout"),
        ("referee", "mine", "panel"),
        ("referee", "panel", "holdout"),
    ],
)
def test_the_way_out_is_another_one_in_the_same_role(pairs, answer, role, name, other):
    foreign = Told(answer)
    foreign.name = name

    with pytest.raises(EvaluatorError) as caught:
        ask(foreign, *pairs, role=role)

    assert str(caught.value).startswith(f"The {role} {name!r} ")
    assert f"such as {role}={other!r}." in str(caught.value)


@pytest.mark.parametrize("error", [UserInputError("use fewer rows"), MemoryError()])
def test_errors_that_say_themselves_what_to_do_pass_through(pairs, error):
    def fail(_contexts, _queries):
        raise error

    with pytest.raises(type(error)) as caught:
        ask(Told(fail), *pairs)
    assert caught.value is error


# ---- The referee.


FOLD = np.random.default_rng(3).permutation(np.arange(N_REAL) % N_FOLDS)


@pytest.fixture
def one_column(build_table):
    rng = np.random.default_rng(0)
    label = np.arange(N_REAL) % 2
    return build_table(label, label + rng.normal(size=N_REAL))


@pytest.fixture(params=[True, False], ids=["crossfit", "paper"])
def shuffled(request):
    return Lineages(FOLD, crossfit=request.param)


def referee_of(one_column, shuffled, evaluator=None, scoring="score"):
    evaluator = evaluator or EstimatorEvaluator(LogisticRegression())
    return FoldReferee(one_column, shuffled, evaluator, metric_of(scoring))


def descendants(one_column, shuffled):
    rng = np.random.default_rng(1)
    return concat(
        [
            one_column.take(rng.choice(shuffled.seen(member), 8)).with_origin(
                unseen_fold=member
            )
            for member in shuffled.members
        ]
    )


def probabilities_by_hand(one_column, shuffled, fold, synthetic):
    own = shuffled.held_by(shuffled.judging(fold), synthetic)
    context = concat([one_column.take(np.flatnonzero(fold != FOLD)), own])
    seen, (unseen,) = encode(context, [one_column.take(np.flatnonzero(fold == FOLD))])
    model = LogisticRegression(random_state=42).fit(seen, context.target)
    return model.predict_proba(unseen)


def test_every_real_row_is_scored_in_its_place_without_its_own_fold(
    one_column, shuffled
):
    synthetic = descendants(one_column, shuffled)

    (scores,) = referee_of(one_column, shuffled).scores(synthetic).by_learner.values()

    assert scores.shape == (N_REAL,)
    for fold in range(N_FOLDS):
        rows = np.flatnonzero(fold == FOLD)
        stated = probabilities_by_hand(one_column, shuffled, fold, synthetic)
        truth = one_column.target[rows]
        unlikely = 1 - stated[np.arange(len(rows)), truth]
        right = stated.argmax(axis=1) == truth
        assert scores[rows] == pytest.approx((right + 1 - unlikely**2) / 2, rel=1e-4)


def test_a_row_is_scored_once_in_each_partition_and_the_mean_is_taken(one_column):
    other = np.random.default_rng(4).permutation(FOLD)
    nothing = one_column.empty()

    def scores(*partitions):
        lineages = Lineages(np.array(partitions), crossfit=True)
        return referee_of(one_column, lineages).scores(nothing)

    both, first, second = scores(FOLD, other), scores(FOLD), scores(other)

    name = "LogisticRegression"
    mean = (first.by_learner[name] + second.by_learner[name]) / 2
    assert both.by_learner[name] == pytest.approx(mean)
    assert both.answers[name][1] == pytest.approx(second.answers[name][0])


def test_a_score_of_all_rows_is_shared_out_among_them(one_column, shuffled):
    referee = referee_of(one_column, shuffled, scoring="roc_auc")

    (scores,) = referee.scores(one_column.empty()).by_learner.values()

    stated = np.empty(N_REAL)
    for fold in range(N_FOLDS):
        parts = probabilities_by_hand(one_column, shuffled, fold, one_column.empty())
        stated[fold == FOLD] = parts[:, 1]
    assert scores.shape == (N_REAL,)
    assert scores.mean() == pytest.approx(roc_auc_score(one_column.target, stated))


def test_a_panel_is_scored_learner_by_learner(one_column, shuffled):
    referee = referee_of(one_column, shuffled, PanelEvaluator())

    scores = referee.scores(one_column.empty())
    one = referee.scores(one_column.empty(), ["forest"])

    assert tuple(scores.by_learner) == PANEL
    assert one.by_learner["forest"] == pytest.approx(scores.by_learner["forest"])
    assert list(one.choices()) == ["forest"]
    assert list(scores.choices()) == ["panel"]
    assert scores.choices()["panel"] == pytest.approx(
        np.mean(list(scores.by_learner.values()), axis=0)
    )


def test_learners_are_told_with_class_settings_and_version(one_column, shuffled):
    told = referee_of(one_column, shuffled, PanelEvaluator(share=0.8)).learners

    assert tuple(told) == PANEL
    assert "min_samples_leaf=5" in told["small_leaves"]  # as one would train it
    assert told["forest"].startswith("RandomForestClassifier(")
    assert told["forest"].endswith(f"scikit-learn {sklearn.__version__}")


def test_rows_of_lineages_that_may_not_stand_beside_a_fold_do_not_count(one_column):
    shuffled = Lineages(FOLD, crossfit=True)
    synthetic = descendants(one_column, shuffled)
    flipped = synthetic.take(synthetic.unseen_fold != 1)

    with_all = referee_of(one_column, shuffled).scores(synthetic)
    without = referee_of(one_column, shuffled).scores(flipped)

    name = "LogisticRegression"
    changed = with_all.by_learner[name] != without.by_learner[name]
    assert changed[FOLD == 1].any()
    assert not changed[FOLD != 1].any()


def test_it_is_named_after_who_scores_and_by_what(one_column, shuffled):
    assert referee_of(one_column, shuffled).name == "LogisticRegression"


@pytest.mark.parametrize(
    ("target", "scoring", "said"),
    [
        ([0, 1, 2] * 10, "f1", "cannot score 30 rows of 3 of 3 classes: Target is"),
        ([0, 1, 2] * 10, "roc_auc", "cannot score 30 rows of 3 of 3 classes"),
        ([0, 1] * 15, "neg_mean_squared_error", "scores numbers"),
        (np.arange(30.0), "accuracy", "scores labels"),
        (np.arange(30.0), "roc_auc", "cannot score 30 rows of numbers"),
        (np.arange(30.0) - 9, "neg_mean_squared_log_error", "cannot score 30 rows"),
    ],
)
def test_a_metric_that_cannot_work_is_refused_at_once(
    build_table, target, scoring, said
):
    one_column = build_table(target, np.zeros(30))

    with pytest.raises(UserInputError, match=said):
        check_metric(metric_of(scoring), one_column)


@pytest.mark.parametrize(
    "target",
    [[0, 1] * 15, [0, 1, 2] * 10, np.arange(30.0)],
    ids=["two classes", "three classes", "numbers"],
)
def test_a_scorer_of_any_name_is_fine_or_refused_with_a_sentence(build_table, target):
    one_column = build_table(target, np.zeros(30))
    fine = []

    for scoring in get_scorer_names():
        try:
            check_metric(metric_of(scoring), one_column)
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
    one_column = build_table(np.arange(30.0), np.zeros(30))

    check_metric(metric_of(scoring), one_column)


@pytest.mark.parametrize("far", [1e-300, 1e200, 1e308])
def test_targets_of_any_size_can_be_scored(build_table, far):
    check_metric(metric_of(), build_table([0.0, far] * 15, np.zeros(30)))


def test_a_referee_that_answers_nonsense_is_called_a_referee(one_column, shuffled):
    def arrays(_contexts, queries):
        return [np.full((len(asked), 2), 0.5) for asked in queries]

    with pytest.raises(EvaluatorError, match=r"The referee 'mute' .*referee='panel'"):
        referee_of(one_column, shuffled, Told(arrays, "mute")).scores(
            one_column.empty()
        )
