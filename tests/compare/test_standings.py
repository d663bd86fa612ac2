"""How methods stand, and what is advised, where the answers are known."""

from dataclasses import replace

import numpy as np
import pytest

from tabtap.compare.advice import advice, headline, recommend
from tabtap.compare.standings import AskedRows, summarise
from tabtap.domain.judgement import PANEL_MEAN
from tabtap.errors import TapError

# ---- Standings.


def test_a_method_stands_by_the_best_learner_against_the_best_without_its_rows(
    coins, record, sure
):
    real = record("Real", linear=sure(70), forest=sure(60))
    smote = record("SMOTE", linear=sure(65), forest=sure(90))

    comparison = summarise([real, smote], coins)

    assert comparison.of("Real").learner == "linear"
    assert comparison.of("SMOTE").learner == "forest"
    assert comparison.of("SMOTE").plain.value == pytest.approx(0.9)
    assert comparison.of("SMOTE").plain_gain.value == pytest.approx(0.2)
    # Sure and right scores 0.98, the mean of 1 and 0.96; sure and wrong 0.18.
    assert comparison.of("SMOTE").gain.value == pytest.approx(0.2 * 0.8)


def test_a_named_learner_is_compared_with_itself(coins, record, sure):
    real = record("Real", linear=sure(70), forest=sure(60))
    smote = record("SMOTE", forest=sure(65))

    comparison = summarise([real, smote], coins, "forest")

    assert [s.learner for s in comparison.standings] == ["forest", "forest"]
    assert comparison.of("SMOTE").plain_gain.value == pytest.approx(0.05)


def test_the_panel_is_compared_by_its_mean(coins, record, sure):
    real = record("Real", linear=sure(70), forest=sure(60))
    smote = record("SMOTE", linear=sure(60), forest=sure(80))

    comparison = summarise([real, smote], coins, PANEL_MEAN)

    assert comparison.of("SMOTE").learner == "panel"
    assert comparison.of("Real").plain.value == pytest.approx(0.65)
    assert comparison.of("SMOTE").plain_gain.value == pytest.approx(0.05)


def test_choosing_a_learner_is_paid_for(coins, record):
    """Of two, one is right in the first half, the other in the second."""
    early = np.where(np.arange(100) < 50, 0.8, 0.2)
    two = replace(coins, fold=np.arange(100) // 50)
    real = record("Real", linear=np.full(100, 0.45), early=early, late=1 - early)
    smote = record("SMOTE", linear=np.full(100, 0.3), early=early, late=1 - early)

    standing = summarise([real, smote], two).of("SMOTE")

    # In either half the one that is right in the other half is trained.
    assert standing.score == pytest.approx(0.18)


def test_in_every_cut_a_learner_is_chosen_by_its_other_parts(coins, record):
    """Of two, one is right in the first half, the other in the second."""
    early = np.where(np.arange(100) < 50, 0.8, 0.2)
    halves, pairs = np.arange(100) // 50, np.arange(100) // 2 % 2
    two = replace(coins, fold=np.stack([halves, pairs]))
    real = record("Real", linear=np.full(100, 0.45), early=early, late=1 - early)
    smote = record("SMOTE", linear=np.full(100, 0.3), early=early, late=1 - early)

    standing = summarise([real, smote], two).of("SMOTE")

    # By halves the wrong one is trained everywhere, by pairs it is in one half.
    assert standing.score == pytest.approx((0.18 + 0.58) / 2)


def test_a_gain_counts_from_the_size_that_is_worth_having(coins, record, sure):
    records = [record("Real", forest=sure(50)), record("SMOTE", forest=sure(80))]

    small, large = (
        summarise(records, coins, "forest", min_gain=size) for size in (0.2, 0.4)
    )

    assert recommend(small).method == "SMOTE"
    assert recommend(large) is None
    assert "a gain too small to matter" in advice(large)


def test_a_method_that_added_no_rows_is_that_of_real_rows(coins, record, sure):
    real = record("Real", linear=sure(70), forest=sure(60))
    idle = record("TAP", n_rows=0, linear=sure(70), forest=sure(60))

    comparison = summarise([real, idle], coins)

    assert comparison.of("TAP").gain.value == 0.0
    assert comparison.of("TAP").learner == "linear"


def test_repeats_of_one_row_are_averaged(coins, record):
    pair = AskedRows(coins.rows.take(np.arange(2)), np.zeros(2, int))
    records = [
        record("Real", forest=[0.2, 0.8]),
        record("Real", split=1, forest=[0.2, 0.8]),
        record("SMOTE", forest=[0.8, 0.8]),
        record("SMOTE", split=1, forest=[0.2, 0.8]),
    ]

    comparison = summarise(records, pair)

    assert comparison.scores["SMOTE"].tolist() == pytest.approx([0.58, 0.98])
    assert comparison.of("SMOTE").plain_gain.value == pytest.approx(0.25)


def test_rows_of_a_group_count_once(coins, record, sure):
    mended = np.where(np.arange(100) < 10, 0.8, sure(60))
    records = [record("Real", forest=sure(60)), record("SMOTE", forest=mended)]
    tens = replace(coins, groups=np.arange(100) // 10)

    alone = summarise(records, coins).of("SMOTE")
    together = summarise(records, tens).of("SMOTE")

    assert alone.is_shown
    assert together.gain.value == alone.gain.value
    assert not together.is_shown  # one group of ten is better, which may be chance


def test_rows_that_were_asked_by_turns_are_less_sure(coins, record, sure):
    records = [record("Real", forest=sure(60)), record("SMOTE", forest=sure(70))]
    by_turns = replace(coins, n_trained_folds=5)

    file, cut = (summarise(records, rows).of("SMOTE") for rows in (coins, by_turns))

    # Nadeau and Bengio's factor of five folds: the root of 1 + 5 / 4.
    assert cut.gain.margin == pytest.approx(1.5 * file.gain.margin)
    assert cut.plain_gain.margin == pytest.approx(1.5 * file.plain_gain.margin)


def test_a_method_whose_worker_died_added_nothing(coins, record, sure):
    dead = {
        "cell": {"method": "CTGAN", "split": 0},
        "failure": {"reason": "the worker died"},
    }

    comparison = summarise([record("Real", forest=sure(60)), dead], coins)

    assert comparison.of("CTGAN").gain.value == 0.0
    assert comparison.of("CTGAN").n_rows == 0
    assert comparison.of("CTGAN").failures == ("the worker died",)


def test_learners_that_cannot_be_trained_at_all_end_the_comparison(coins):
    dead = {
        "cell": {"method": "Real", "split": 0},
        "failure": {"reason": "no such thing"},
    }

    with pytest.raises(TapError, match="real rows alone: no such thing"):
        summarise([dead], coins)


# ---- Advice.


def told(coins, *records, promise="best"):
    comparison = summarise(records, coins, promise)
    return comparison, advice(comparison)


def test_no_new_rows_are_advised_if_nothing_is_better(coins, record, sure):
    comparison, text = told(
        coins,
        record("Real", linear=sure(60)),
        record("SMOTE", linear=sure(0)),
    )

    assert recommend(comparison) is None
    assert text.startswith(
        "Use logistic regression and no new rows: accuracy 0.6 ± 0.0818."
    )
    assert text.endswith("No method did better than your own rows alone.")


def test_a_gain_that_may_be_chance_is_not_advised(coins, record, sure):
    comparison, text = told(
        coins, record("Real", forest=sure(60)), record("TAP", forest=sure(61))
    )

    assert recommend(comparison) is None
    assert "TAP with a random forest did best, accuracy 0.6 -> 0.61, " in text
    assert "a gain of +1.0 ± 1.7 points (score +0.008 ± 0.013)" in text
    assert text.endswith("which may be chance.")


def test_a_gain_that_is_too_small_to_matter_is_not_advised(coins, record, sure, rng):
    slightly = sure(60) + 0.001 + 0.0001 * rng.random(100)

    comparison, text = told(
        coins, record("Real", forest=sure(60)), record("TAP", forest=slightly)
    )

    assert comparison.of("TAP").is_shown
    assert recommend(comparison) is None
    assert text.endswith("a gain too small to matter.")


def test_a_gain_that_costs_accuracy_is_not_advised(coins, record):
    """Ninety right answers get surer, ten that were barely right get wrong."""
    last = np.arange(100) >= 90
    before, after = np.full(100, 0.51), np.where(last, 0.49, 0.99)

    comparison, text = told(
        coins, record("Real", forest=before), record("TAP", forest=after)
    )

    assert comparison.of("TAP").is_shown
    assert recommend(comparison) is None
    assert "accuracy 1 -> 0.9, a loss of 10.0 ± " in text
    assert text.endswith("but the accuracy is estimated to get worse.")


def test_the_cheapest_of_equals_is_enough(coins, record, sure):
    comparison, text = told(
        coins,
        record("Real", linear=sure(60), forest=sure(50)),
        record("SMOTE", seconds=0.1, linear=sure(50), forest=sure(80)),
        record("TAP", seconds=30.0, linear=sure(50), forest=sure(81)),
    )

    assert recommend(comparison).method == "SMOTE"
    assert text.startswith(
        "Train a random forest on your rows and those of SMOTE: accuracy 0.6 "
        "(logistic regression, no new rows) -> 0.8, a gain of +20.0 ± "
    )
    assert "TAP did best" in text
    assert "costs 30 CPU seconds instead of 0" in text


def test_a_method_that_is_shown_to_be_better_is_worth_its_price(coins, record, sure):
    comparison, text = told(
        coins,
        record("Real", forest=sure(60)),
        record("Copies", seconds=0.1, forest=sure(70)),
        record("TAP + teacher", seconds=30.0, forest=sure(95)),
    )

    assert recommend(comparison).method == "TAP + teacher"
    assert text.startswith(
        "Train a random forest on the table that tabtap augment makes: "
        "accuracy 0.6 -> 0.95, a gain of +35.0 ± "
    )


def test_who_is_bound_to_a_learner_hears_that_another_does_as_well_without_rows(
    coins, record, sure
):
    _, text = told(
        coins,
        record("Real", boosting=sure(60), forest=sure(81)),
        record("Copies", boosting=sure(80)),
        promise="boosting",
    )

    assert text.startswith("Train boosting on your rows repeated: accuracy 0.6 -> 0.8")
    assert text.endswith(
        "A random forest on your rows alone does as well: accuracy 0.81."
    )


@pytest.mark.parametrize(("n_right", "is_said"), [(62, False), (90, True)])
def test_another_learner_is_named_without_new_rows_only_if_it_is_better(
    coins, record, sure, n_right, is_said
):
    _, text = told(
        coins,
        record("Real", boosting=sure(60), forest=sure(n_right)),
        record("Copies", boosting=sure(60)),
        promise="boosting",
    )

    assert text.startswith("Use boosting and no new rows")
    assert ("A random forest on your rows alone does better" in text) == is_said


def test_one_that_learned_nothing_from_others_is_not_said_to_be_as_good(
    coins, record, sure
):
    """Boosting with rows is shown to beat the forest without, so nothing is said."""
    _, text = told(
        coins,
        record("Real", boosting=sure(60), forest=sure(65)),
        record("Copies", boosting=sure(95)),
        promise="boosting",
    )

    assert "on your rows alone" not in text


def test_real_rows_alone_can_be_asked_for(coins, record, sure):
    _, text = told(coins, record("Real", linear=sure(60)))

    assert text.endswith("No method was compared.")


def test_a_gain_in_regression_is_told_in_percent_of_the_rmse(make_table, rng):
    truth = rng.normal(size=200)
    asked = AskedRows(make_table(truth), np.arange(200) // 40)
    error = 2.0 + rng.random(200)

    def answered(method, share):
        return {
            "cell": {"method": method, "split": 0},
            "asked": list(range(200)),
            "answers": {"linear": truth + share * error},
            "n_rows": 10,
            "failure": None,
            "costs": {"cpu_seconds": {}},
        }

    comparison = summarise([answered("Real", 1.0), answered("SMOTE", 0.75)], asked)

    assert headline(comparison).startswith("Train ridge regression on your rows and")
    assert "a gain of +25.0 ± " in advice(comparison)
    assert " % of the RMSE" in advice(comparison)
    assert comparison.of("Real").plain.value == pytest.approx(
        np.sqrt(np.mean(error**2))
    )


def test_groups_that_went_untested_are_told_as_tabtap_augment_tells_them(
    coins, record, sure
):
    comparison = summarise([record("Real", forest=sure(60))], coins, "forest")

    told = replace(comparison, likely_groups="patient")

    assert headline(comparison) == "Use a random forest and no new rows"
    assert headline(told) == f"{headline(comparison)}. No new 'patient' was tested."
    first, second, *_ = advice(told).split(". ")
    assert first.startswith("Use a random forest and no new rows: accuracy 0.6 ±")
    assert second == "No new 'patient' was tested"
    assert advice(told).endswith("with groups='patient' it would be.")
