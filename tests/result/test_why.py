from dataclasses import replace

import pytest

from tabtap.domain import Alternative, Bound, Figure, Measured
from tabtap.loop import Stop
from tabtap.result.why import _change, advice_line

OWN_SCORE = "score: half of it accuracy, half 1 less half the Brier score"


def test_an_augmented_table_states_learner_rows_gain_and_confidence(result):
    last = result.certificates[-1]

    assert result.verdict == "augment"
    assert result.why == (
        "Train one on the bigger table. 9 synthetic rows were added to the 12 real "
        "ones, because with them the score on real rows that neither learner nor "
        f"generator had seen goes from 0.5 to {last.score_after:.3g}, of "
        f"which a gain of {last.over_real.gain:.3g} is believed, at "
        f"least {last.over_real.lower:.3g} (16 % of the loss) with 92.5 % "
        "confidence in this check (90 % "
        f"for the run as a whole) (the rows help one, other; {OWN_SCORE}); "
        f"{len(result.certificates)} of {len(result.certificates)} pools passed the "
        "check, and the run ended because "
        "the budget is reached. A new row carries up to 4 of 4 cells of one real row "
        "unchanged (two real rows share at most 1), so guard the new rows like the "
        "real."
    )


def figure(name="accuracy", *, larger=True, change=0.03):
    best, without, after = 0.86, 0.8, 0.86 + change
    return Figure(
        name,
        larger,
        Measured(best, 0.04),
        Measured(without, 0.05),
        Measured(after, 0.04),
        Measured(change, 0.02),
    )


def told(result, **changes):
    last = replace(result.certificates[-1], **changes)
    return replace(result, certificates=(*result.certificates[:-1], last))


def test_the_promise_is_said_in_the_figure_that_people_read(result):
    other = told(result, learner="forest", best_alone="linear", figures=(figure(),))
    same = told(result, learner="forest", best_alone="forest", figures=(figure(),))

    assert other.why.startswith(
        "Train a random forest on the bigger table: accuracy 0.8 -> 0.89; without new "
        "rows the best is logistic regression with 0.86 (difference +0.03 ± 0.02). 9 "
    )
    assert same.why.startswith(
        "Train a random forest on the bigger table: accuracy 0.8 -> 0.89 (+0.03 ± "
        "0.02). 9 synthetic"
    )


def test_whom_rows_help_and_harm_is_said_by_their_bars(result):
    effects = {
        "linear": Bound(0.1, 0.05, 0.95),
        "forest": Bound(-0.1, 0.05, 0.95),
        "network": Bound(0.01, 0.05, 0.95),
    }

    assert (
        "(the rows help linear, harm forest and show no effect on network; score"
    ) in told(result, effects=effects).why


def test_copies_are_named_where_they_do_as_well(result):
    copies = Bound(0.02, 0.01, 0.95)

    def said(gain):
        over = Bound(gain, 0.01, 0.95)
        return told(result, copies=copies, over_copies=over).why

    assert "copies of your real rows do as well (gain 0.02 ± 0.01)" in said(-0.001)
    assert "copies of your real rows are not shown to do worse" in said(0.005)
    assert "copies" not in said(0.05)


def advised(result, name):
    option = Alternative(
        name=name,
        words="Train it.",
        figure="accuracy",
        value=Measured(0.88, 0.05),
        score=Measured(0.9, 0.05),
        is_enough=True,
    )
    return replace(result, about=replace(result.about, advice=(option,)))


def test_a_setting_that_does_the_same_is_named(result):
    known = advised(result, "lightgbm min_child_samples=5 alone")

    one = told(known, learners={"lightgbm": "LGBMClassifier()"})

    assert (
        "min_child_samples=5 does the same without new rows (accuracy 0.88)" in one.why
    )


def test_a_setting_of_another_learner_does_not_do_the_same(result):
    known = advised(result, "small_leaves alone")

    boosting = told(known, learners={"boosting": "HistGradientBoostingClassifier()"})
    forest = told(known, learners={"forest": "RandomForestClassifier()"})

    assert "min_samples_leaf=5 does the same without new rows" in boosting.why
    assert "min_samples_leaf" not in forest.why


def test_every_figure_is_told_without_rows_and_with_them(result):
    figures = (figure(), figure("log loss", larger=False, change=-0.2))

    same = told(result, learner="forest", best_alone="forest", figures=figures)
    other = told(result, learner="forest", best_alone="linear", figures=figures)

    assert (
        " Without rows -> with the rows: accuracy 0.86 ± 0.04 -> 0.89 ± 0.04; log loss "
        "0.86 ± 0.04 -> 0.66 ± 0.04."
    ) in same.why
    assert "The best without -> with the rows: accuracy 0.86" in other.why


def test_without_a_gain_the_best_thing_to_do_comes_first(make_result, classes):
    refused = make_result(classes, gain=-0.01)
    option = Alternative(
        name="linear alone",
        words="Train logistic regression on your rows alone.",
        figure="accuracy",
        value=Measured(0.861, 0.05),
        score=Measured(0.9, 0.05),
        is_enough=True,
    )

    why = replace(refused, about=replace(refused.about, advice=(option,))).why

    assert why.startswith(
        "Train logistic regression on your rows alone (accuracy 0.861 ± 0.05). No rows "
        "were added: none of"
    )


def test_the_paper_s_rule_is_told_apart_with_its_weakness(make_result, classes):
    result = make_result(classes, protocol="paper", confidence=0.95)

    assert "estimated to lower the loss of stand-in: accuracy by" in result.why
    assert "more than its error bar of" in result.why
    assert "at 95 % confidence (the paper's rule, whose" in result.why
    assert "nan" not in result.why


@pytest.mark.parametrize("protocol", ["crossfit", "paper"])
def test_no_gain_names_the_best_pool_and_what_stopped_the_run(
    make_result, classes, protocol
):
    result = make_result(classes, gain=-0.01, protocol=protocol)

    n_pools = len(result.certificates)
    assert result.verdict == "no_gain"
    assert result.why.startswith(
        f"No rows were added: none of {n_pools} pools was shown to help; the best one "
    )
    assert " -0.0" in result.why
    assert result.why.endswith("because several windows in a row were refused.")


def test_a_gain_that_may_be_chance_is_told_from_one_that_is_too_small(
    make_result, classes
):
    none = make_result(classes, gain=-0.01)
    chance = told(none, over_real=Bound(0.01, 0.02, 0.925))
    small = make_result(classes, min_gain=0.5)

    best = small.certificates[-1]
    assert (
        "one) changes the score by 0.01 ± 0.02 over the best without them at 92.5 % "
        "confidence, which may be chance"
    ) in chance.why
    assert "which is no gain (" in none.why
    assert small.verdict == "gain_too_small"
    assert "was shown to help, by too little to matter; the best one (" in small.why
    assert "confidence, a gain too small to matter (the rows help one" in small.why
    assert best.shown


def test_a_gain_whose_plain_figure_falls_is_no_gain(make_result, classes):
    refused = make_result(classes, min_gain=0.5)
    falling = tuple(
        replace(c, figures=(figure(change=-0.02),)) for c in refused.certificates
    )

    result = replace(refused, certificates=falling)

    assert result.verdict == "no_gain"
    assert "but the accuracy is estimated to get worse, by 0.02" in result.why


def test_a_budget_of_zero_is_reason_enough(make_result, classes):
    result = make_result(classes, budget=0)

    assert result.why == "No rows were added: the budget is 0."


def test_no_time_at_all_is_said(make_result, classes):
    result = make_result(classes, time_budget=0.0)

    assert result.stop is Stop.TIME
    assert result.why == (
        "No rows were added: the time budget is over, before any pool could be checked."
    )


def test_gates_that_refuse_everything_are_named(make_result, classes):
    result = make_result(classes, none_pass=True)

    assert result.why == (
        "No rows were added: in 2 windows none of 24 proposed rows passed the gates; "
        "the gate 'copies' refused most, 24."
    )


def test_scores_that_are_not_numbers_are_said(make_result, classes):
    result = make_result(classes, gain=float("nan"))

    assert "could not be measured, as the scores are not numbers" in result.why


def test_one_row_is_one_row(make_result, classes):
    result = make_result(classes, budget=1, min_gain=0.0)

    assert result.why.startswith(
        "Train one on the bigger table. 1 synthetic row was added to the 12 real ones, "
        "because with it the score"
    )
    assert "1 of 1 pool passed" in result.why


def test_what_was_forgotten_is_said_beside_the_figures_of_the_run(result):
    parent = int(result.parent_indices[0])
    n_gone = int((result.parent_indices == parent).sum())

    less = result.forget(parent)

    of_the_run, _, _ = result.why.partition(". A new row carries")
    assert less.why.startswith(of_the_run)
    rows = "1 synthetic row" if n_gone == 1 else f"{n_gone} synthetic rows"
    assert (
        f"; since then real row {parent} and {rows} that descended from it were "
        "removed, and the figures describe the table before."
    ) in less.why


def test_pools_too_small_to_deliver_a_row_are_told_from_pools_of_no_use(
    make_result, classes
):
    refused = make_result(classes, gain=-0.01)
    small = tuple(replace(c, n_rows=0) for c in refused.certificates)

    result = replace(refused, certificates=small)

    assert result.why == (
        "No rows were added: none of 2 pools held enough rows for one to be delivered."
    )


def test_the_score_of_numbers_is_said_in_words_too(make_result, numbers):
    why = make_result(numbers).why

    assert why.count("score: 1 less the squared error in variances of the target") == 1


def test_a_yardstick_of_the_user_s_own_is_named_and_not_explained(result):
    scorer = f"{result.about.referee} by roc_auc"
    named = tuple(replace(c, scorer=scorer) for c in result.certificates)

    why = replace(result, certificates=named).why

    assert "Brier" not in why


@pytest.mark.parametrize(
    ("score", "metric", "is_full"),
    [
        (1.0, "", True),
        (0.9996, "", True),
        (0.999, "", False),
        (1.0, " by roc_auc", True),
        (1.0, " by profit", False),
    ],
)
def test_a_score_that_cannot_rise_leaves_no_room(
    make_result, classes, score, metric, is_full
):
    refused = make_result(classes, gain=-0.01)
    scorer = f"{refused.about.referee}{metric}"
    full = tuple(
        replace(c, score_real=score, scorer=scorer) for c in refused.certificates
    )

    why = replace(refused, certificates=full).why

    said = (
        "none of 2 pools was shown to help; there is no room for a gain, as the score "
        "with the 12 real rows alone is 1 already, and the run ended"
    )
    assert (said in why) is is_full


def test_a_single_pool_is_called_the_only_one(make_result, classes):
    refused = make_result(classes, gain=-0.01)
    alone = replace(refused, certificates=refused.certificates[:1])

    assert alone.why.startswith(
        "No rows were added: the only pool was not shown to help; it ("
    )
    assert alone.why.endswith("and the run ended with it.")


def test_new_groups_are_said_not_to_be_tested_where_a_column_looks_like_them(result):
    about = replace(result.about, likely_groups="patient")

    why = replace(result, about=about).why

    assert (
        "Rows of one 'patient' stood on both sides of the checks, so nothing is said "
        "of a new 'patient'; with groups='patient' it would be."
    ) in why


@pytest.mark.parametrize(
    ("is_enough", "said"),
    [
        (True, "Train it (accuracy 1 in every row)."),
        (False, "Train it (accuracy 1 in every row; another way is shown to score"),
    ],
)
def test_advice_of_a_perfect_accuracy_has_no_bar_and_is_never_called_less(
    is_enough, said
):
    option = Alternative(
        name="it alone",
        words="Train it.",
        figure="accuracy",
        value=Measured(1.0, 0.0),
        is_enough=is_enough,
    )

    assert advice_line(option).startswith(said)


def test_a_figure_that_no_row_changed_is_said_to_be_the_same():
    flat = Measured(1.0, 0.0)
    same = replace(
        figure(),
        **dict.fromkeys(("best_alone", "without", "with_rows"), flat),
        change=Measured(0.0, 0.0),
    )

    assert _change(same) == "no change in any row"
