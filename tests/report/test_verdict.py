"""The verdict of every kind of result, in words."""

from dataclasses import replace

import numpy as np
import pytest

from tabtap.domain import Bound, Measured
from tabtap.report.verdict import cards_of, meaning_of, score_meaning, verdict_of
from tabtap.result.why import Case, case_of, deciding, metric_name

THIN = "\u202f"

CASES = {
    "good": Case.SHOWN,
    "named": Case.SHOWN,
    "mean": Case.SHOWN,
    "older": Case.SHOWN,
    "too small": Case.TOO_SMALL,
    "harmless": Case.SHOWN,
    "harmful": Case.HARMFUL,
    "regression": Case.SHOWN,
    "forgotten": Case.SHOWN,
    "interrupted": Case.SHOWN,
    "by folds": Case.SHOWN,
    "all forgotten": Case.REMOVED,
    "paper": Case.PAPER,
    "paper refused": Case.REFUSED,
    "unproven": Case.UNPROVEN,
    "refused": Case.REFUSED,
    "unmeasured": Case.REFUSED,
    "barren": Case.BARREN,
    "unchecked": Case.UNCHECKED,
    "out of time": Case.UNCHECKED,
    "budget 0": Case.UNASKED,
}


def words(result):
    verdict = verdict_of(result)
    said = " ".join([verdict.headline, *verdict.sentences])
    return " ".join(said.replace(THIN, " ").split())


@pytest.mark.parametrize("name", CASES)
def test_each_result_is_told_as_what_it_is(every_case, name):
    assert case_of(every_case[name]) is CASES[name]


def test_a_shown_gain_names_the_learner_its_figures_and_the_confidence(good):
    assert words(good) == (
        "Add these 6 rows and train a random forest Train a random forest on the "
        "bigger table: accuracy 0.84 \u2192 0.89; without new rows the best is "
        "logistic regression with 0.86. On real rows that neither learner nor "
        "generator had seen, the score that decides rose from 0.70 to 0.75: with 90 % "
        "confidence in this check (75 % for the run as a whole) by at least 0.024."
    )


def test_a_named_learner_is_held_against_itself(named):
    assert words(named).startswith(
        "Add these 6 rows and train LightGBM Train LightGBM on the bigger table: "
        "accuracy 0.84 \u2192 0.89 (change +0.05 \u00b1 0.02). On real rows"
    )


def test_a_way_that_needs_no_rows_is_told_beside_the_promise(named, good):
    assert (
        "You may do as well without new rows: train logistic regression on your rows "
        "alone (accuracy 0.86 \u00b1 0.05)."
    ) in words(named)
    assert "without new rows:" not in words(good)  # training with them comes first


def test_a_way_without_rows_that_is_better_is_told_as_that(make_result, named):
    alone, with_rows = named.advice
    alone = replace(alone, score=Measured(0.80, 0.01))
    beaten = replace(with_rows, is_enough=False)
    result = make_result(
        named.certificates, rows=(0,), referee="lightgbm", advice=(alone, beaten)
    )

    assert "You can do better still without new rows: train logistic" in words(result)


def test_a_setting_of_the_learner_that_does_as_well_is_told(make_result, named):
    setting = replace(
        named.advice[0],
        name="lightgbm min_child_samples=5 alone",
        words="Train LightGBM with min_child_samples=5 on your rows alone.",
    )
    advice = (named.advice[0], setting, named.advice[1])
    result = make_result(named.certificates, rows=(0,), advice=advice)

    assert "or train LightGBM with min_child_samples=5 on your rows alone" in (
        words(result)
    )


def test_a_mean_of_learners_is_told_as_a_mean(mean):
    assert words(mean).startswith(
        "Add these 6 rows On the bigger table the usual learners do better on average: "
        "accuracy 0.84 \u2192 0.89 (change +0.03 \u00b1 0.02)."
    )


def test_an_older_result_is_told_by_its_score(older):
    assert words(older) == (
        "Add these 6 rows Adding these 6 rows to the 24 real rows makes the usual "
        "learners better on average. On real rows that neither learner nor generator "
        "had seen, the score that decides rose from 0.70 to 0.75: with 90 % confidence "
        "in this check (75 % for the run as a whole) by at least 0.024."
    )


def test_an_error_that_falls_is_a_gain(every_case):
    assert (
        "Train a random forest on the bigger table: RMSE 52.1 \u2192 49.0 (change "
        "\u22123.10 \u00b1 0.02); without new rows it is the best as well."
    ) in words(every_case["regression"])


def test_the_confidence_of_the_run_is_told_only_where_it_differs(make_result, good):
    check = _with(deciding(good), Bound(0.05, 0.0251, 0.75))

    assert "with 75 % confidence by at least" in words(make_result([check], rows=(0,)))


def test_copies_that_do_as_well_are_told(make_result, good):
    check = replace(
        deciding(good),
        copies=Bound(0.04, 0.01, 0.95),
        over_copies=Bound(0.0, 0.02, 0.95),
    )
    told = words(make_result([check], rows=(0,)))

    assert (
        "As many copies of your real rows do as well (gain 0.04 \u00b1 0.01)." in told
    )
    assert "copies" not in words(good)


def test_a_gain_of_next_to_nothing_is_not_written_in_powers_of_ten(make_result, good):
    check = _with(deciding(good), Bound(0.3, 0.3 - 4e-6, 0.9))
    result = make_result([check], rows=(0,))

    assert "by at least a trifle" in words(result)
    assert cards_of(result)[-1].value == "> 0"


def test_the_last_check_that_was_passed_decides(good):
    assert deciding(good).window == 1


def test_of_refused_checks_the_one_with_the_highest_bound_is_told(refused):
    assert deciding(refused).window == 0


def test_a_refused_run_says_what_to_do_instead_and_how_near_it_was(refused):
    assert words(refused) == (
        "Do not augment: your table is returned as it was Use logistic regression and "
        "no new rows: accuracy 0.86 \u00b1 0.05. None of 2 sets of new rows was shown "
        "to help. The nearest, 6 rows, brings a random forest to accuracy 0.89, where "
        "the best without new rows, logistic regression, has 0.86. The score goes from "
        "0.70 to 0.71, which may be chance: with 90 % confidence in this check (75 % "
        "for the run as a whole) all that is known is that they do not lose more than "
        "0.020."
    )


def test_a_gain_too_small_to_matter_is_told_as_that(too_small):
    told = words(too_small)

    assert told.startswith(
        "A gain, too small to matter: your table is returned as it was Use logistic "
        "regression and no new rows: accuracy 0.86 \u00b1 0.05. The set, 6 rows, brings"
    )
    assert (
        "The score goes from 0.700 to 0.704: an estimated gain of 0.0040, with 90 % "
        "confidence in this check (75 % for the run as a whole) at least 0.0030, and "
        "it is worth having only if accuracy is estimated to gain 1 point or more."
    ) in told
    assert "min_gain" in meaning_of(too_small)[0].text


def test_rows_that_lower_the_accuracy_are_said_not_to_be_let_in(make_result, good):
    worse = replace(deciding(good).figures[0], change=Measured(-0.02, 0.01))
    check = replace(deciding(good), committed=False, figures=(worse,))

    told = words(make_result([check]))

    assert told.startswith("Do not augment")
    assert "estimated to make the accuracy worse are not let in" in told


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("forgotten", "Since then 2 real rows and 1 synthetic row made of them were"),
        (
            "all forgotten",
            "No synthetic rows are left The run had added 6 rows. All of",
        ),
        ("interrupted", "The run was interrupted; more rows might have been tried."),
        ("paper", "Measure the gain on rows of your own before you rely on it"),
        (
            "paper refused",
            "change the loss of tabpfn-v1 by \u22120.30, with an error bar",
        ),
        ("unproven", "no record of a check that says whether they help"),
        ("unmeasured", "could not be measured: the scores are not numbers"),
        ("barren", "the gate \u201cdiversity\u201d refused most, 16."),
        ("unchecked", "The run was interrupted before any new rows could be checked"),
        ("out of time", "The time budget was over before any new rows"),
        ("budget 0", "The budget of this run is 0 rows"),
    ],
)
def test_an_unusual_result_is_told_truly(every_case, name, said):
    assert said in words(every_case[name])


def test_only_a_shown_gain_is_called_good(every_case):
    good = {n for n, result in every_case.items() if verdict_of(result).tone == "good"}

    assert good == {name for name, case in CASES.items() if case is Case.SHOWN}


def test_a_loss_is_not_called_chance(make_result, refused):
    worse = make_result([_with(deciding(refused), Bound(-0.02, 0.01, 0.9))])

    assert "no better than your real rows alone" in words(worse)


def test_a_learner_of_the_users_own_is_named(make_result, named):
    check = replace(
        deciding(named), learner="LGBMClassifier", best_alone="LGBMClassifier"
    )
    own = make_result([check], rows=(0,), referee="LGBMClassifier")

    assert "Add this row and train LGBMClassifier " in words(own)
    assert "on average" not in words(own)


def shown(cards):
    return [(c.label, " ".join(c.value.split()), c.note) for c in cards]


SURE = f"with 90{THIN}% confidence in this check (75{THIN}% for the run as a whole)"


def test_cards_show_rows_the_plain_figure_its_change_and_the_promise(good):
    assert shown(cards_of(good)) == [
        ("Rows added", "6", "beside 24 real rows; 1 of 2 sets passed"),
        (
            "Accuracy on unseen real rows",
            "0.86 \u2192 0.89",
            "without: Logistic regression; with: Random forest",
        ),
        (
            "Change in accuracy",
            "+0.03 \u00b1 0.02",
            f"more is better; 90{THIN}% interval",
        ),
        (
            "Promised gain of the score, at least",
            "+0.024",
            f"{SURE}; estimate +0.050",
        ),
    ]


def test_cards_of_a_refusal_promise_nothing(refused, too_small):
    labels = [card.label for card in cards_of(refused)]

    assert labels[-1] == "Gain of the score"
    assert cards_of(refused)[-1].value == "none shown"
    assert cards_of(refused)[1].note.endswith("; not added")
    assert cards_of(too_small)[-1].label == "Shown gain of the score, at least"


def test_cards_of_an_older_result_show_its_score(older):
    assert [card[:2] for card in shown(cards_of(older))] == [
        ("Rows added", "6"),
        ("Score on unseen real rows", "0.70 \u2192 0.75"),
        ("Promised gain of the score, at least", "+0.024"),
    ]


def test_of_an_error_less_is_better(every_case):
    cards = shown(cards_of(every_case["regression"]))

    assert cards[1][:2] == ("RMSE on unseen real rows", "52.1 \u2192 49.0")
    assert cards[2][2].startswith("less is better")


@pytest.mark.parametrize("name", ["unproven", "budget 0", "unchecked", "unmeasured"])
def test_no_card_shows_a_score_that_was_not_measured(every_case, name):
    labels = {card.label for card in cards_of(every_case[name])}

    assert labels == {"Rows added"}


def test_the_meaning_names_the_folds_and_what_is_not_claimed(good):
    means, means_not = meaning_of(good)

    assert "cut in 5 parts, up to 4 times anew" in means.text
    once = replace(good, folds=np.zeros((1, 24), dtype=np.int64))
    assert "cut in 5 parts. Each" in meaning_of(once)[0].text
    assert "held against the best without them" in means.text
    assert "privacy" in means_not.text
    assert "never to test" in means_not.text


@pytest.mark.parametrize(
    ("name", "metric", "said"),
    [
        ("good", "score", "1 less half the Brier score"),
        ("mean", "score", "Each learner is scored and the mean is taken."),
        ("regression", "score", "0 if it is one standard deviation off"),
        ("by folds", "roc_auc", "for all real rows together"),
        ("older", "score", "that of an earlier version of tabtap"),
    ],
)
def test_what_a_score_is_depends_on_task_and_scoring(every_case, name, metric, said):
    result = every_case[name]

    assert metric_name(result) == metric
    assert said in score_meaning(result)


def _with(check, bound, **claims):
    return replace(check, over_real=bound, **claims)


def test_a_likely_group_column_is_in_the_headline(good):
    about = replace(good.about, likely_groups="patient")

    told = verdict_of(replace(good, about=about))

    assert told.headline.endswith("; no new patient was tested")


def test_a_gain_that_is_drawn_in_is_told_as_measured_and_as_believed(make_result, good):
    check = replace(
        deciding(good), usual=0.12, score_real=0.7, score_after=0.9,
        over_real=Bound(0.05, 0.0251, 0.75),
    )  # fmt: skip

    said = words(make_result([check], rows=(0,)))

    assert (
        "rose from 0.70 to 0.90. A gain of 0.050 of that is believed, with 75 % "
        "confidence at least 0.024."
    ) in said
