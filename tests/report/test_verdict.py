"""The verdict of every kind of result, in words."""

from dataclasses import replace

import pytest

from tabtap.domain import Bound
from tabtap.report.verdict import cards_of, meaning_of, score_meaning, verdict_of
from tabtap.result.why import Case, case_of, deciding, metric_name

THIN = "\u202f"

CASES = {
    "good": Case.SHOWN,
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
    return " ".join([verdict.headline, *verdict.sentences]).replace(THIN, " ")


@pytest.mark.parametrize("name", CASES)
def test_each_result_is_told_as_what_it_is(every_case, name):
    assert case_of(every_case[name]) is CASES[name]


def test_a_shown_gain_is_said_with_scores_bound_and_confidence(good):
    assert words(good) == (
        "Add these 6 rows Adding these 6 rows to the 24 real rows makes the usual "
        "learners better on average: on real rows they had not seen, the score rose "
        "from 0.70 to 0.75; with 90 % confidence by at least 0.024."
    )


def test_the_last_check_that_was_passed_decides(good):
    assert deciding(good).window == 1


def test_of_refused_checks_the_one_with_the_highest_bound_is_told(refused):
    assert deciding(refused).window == 0


def test_a_refused_run_says_do_not_augment_and_how_near_it_was(refused):
    assert words(refused) == (
        "Do not augment: your table is returned as it was None of 2 sets of new rows "
        "was shown to help. The nearest changes the score of the usual learners from "
        "0.70 to 0.71, which may be chance: with 90 % confidence nothing better than "
        "\u22120.020 can be promised."
    )


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


def test_a_gain_below_what_was_asked_for_is_said_to_be_that(make_result, refused):
    check = deciding(refused)
    small = make_result([_with(check, Bound(0.01, 0.004, 0.9))])

    assert "confidence by 0.0060: less than was asked for" in words(small)


def test_a_loss_is_not_called_chance(make_result, refused):
    worse = make_result([_with(deciding(refused), Bound(-0.02, 0.01, 0.9))])

    assert "no better than your real rows alone" in words(worse)


def test_a_learner_of_the_users_own_is_named(make_result, good):
    check = _with(deciding(good), deciding(good).over_real, scorer="LGBMClassifier")
    own = make_result([check], rows=(0,), referee="LGBMClassifier")

    assert "Add this row Adding this row to the 24 real rows makes LGBMClassifier " in (
        words(own)
    )
    assert "on average" not in words(own)


def test_cards_show_rows_scores_bound_and_checks(good):
    cards = [(card.label, card.value) for card in cards_of(good)]

    assert cards == [
        ("Rows added", "6"),
        ("Score on unseen real rows", "0.70 \u2192 0.75"),
        ("Gain, at least", "+0.024"),
        ("Checks passed", "1 of 2"),
    ]


@pytest.mark.parametrize("name", ["unproven", "budget 0", "unchecked", "unmeasured"])
def test_no_card_shows_a_score_that_was_not_measured(every_case, name):
    labels = {card.label for card in cards_of(every_case[name])}

    assert labels <= {"Rows added", "Checks passed"}


def test_the_meaning_names_the_folds_and_what_is_not_claimed(good):
    means, means_not = meaning_of(good)

    assert "cut in 5 parts" in means.text
    assert "privacy" in means_not.text
    assert "never to test" in means_not.text


@pytest.mark.parametrize(
    ("name", "metric", "said"),
    [
        ("good", "score", "the probability that was given to the right one"),
        ("regression", "score", "0.5 if it is one standard deviation off"),
        ("by folds", "roc_auc", "taken fold by fold"),
    ],
)
def test_what_a_score_is_depends_on_task_and_scoring(every_case, name, metric, said):
    result = every_case[name]

    assert metric_name(result) == metric
    assert said in score_meaning(result)


def _with(check, bound, **claims):
    return replace(check, over_real=bound, **claims)
