from dataclasses import replace

import pytest

from tabtap.loop import Stop

OWN_SCORE = "score: half being right, half the probability given to the truth"


def test_an_augmented_table_states_rows_referee_gain_and_confidence(result):
    last = result.certificates[-1]

    assert result.verdict == "augment"
    assert result.why == (
        "9 synthetic rows were added to the 12 real ones, because with them the score "
        "of stand-in: accuracy on real rows that it had not seen goes from 0.5 to "
        f"{last.score_after:.3g}, a gain of at least {last.over_real.lower:.3g} with "
        f"95 % confidence (by learner: one {last.over_real.gain:+.3f}, other "
        f"{last.over_real.gain:+.3f}; {OWN_SCORE}); {len(result.certificates)} of "
        f"{len(result.certificates)} pools passed the check, and the run ended because "
        "the budget is reached."
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

    assert result.verdict == "no_gain"
    assert result.why.startswith(
        "No rows were added: none of 3 pools was shown to help; the best one "
    )
    assert " -0.0" in result.why
    assert result.why.endswith("because several windows in a row were refused.")


def test_a_gain_that_may_be_chance_is_told_from_one_that_is_too_small(
    make_result, classes
):
    chance = make_result(classes, gain=-0.01)
    small = make_result(classes, min_gain=0.5)

    best = max(chance.certificates, key=lambda c: c.over_real.lower).over_real
    assert (
        f"by {best.gain:.3g} over the 12 real rows alone, which may be chance (at "
        f"{100 * best.confidence:.4g} % confidence nothing better than "
        f"{best.lower:.3g} can be promised; by learner: one {best.gain:+.3f}, other "
        f"{best.gain:+.3f}; {OWN_SCORE}), and the run ended"
    ) in chance.why
    assert ": less than was asked for (by learner: one +0." in small.why
    assert f"; {OWN_SCORE}), and the run ended" in small.why


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
        "No rows were added: in 3 windows none of 36 proposed rows passed the gates; "
        "the gate 'copies' refused most, 36."
    )


def test_scores_that_are_not_numbers_are_said(make_result, classes):
    result = make_result(classes, gain=float("nan"))

    assert "could not be measured, as the scores are not numbers" in result.why


def test_one_row_is_one_row(make_result, classes):
    result = make_result(classes, budget=1)

    assert result.why.startswith(
        "1 synthetic row was added to the 12 real ones, because with it the score"
    )
    assert "1 of 1 pool passed" in result.why


def test_what_was_forgotten_is_said_beside_the_figures_of_the_run(result):
    parent = int(result.parent_indices[0])
    n_gone = int((result.parent_indices == parent).sum())

    less = result.forget(parent)

    assert less.why.startswith(result.why.removesuffix("."))
    rows = "1 synthetic row" if n_gone == 1 else f"{n_gone} synthetic rows"
    assert less.why.endswith(
        f"; since then real row {parent} and {rows} that descended from it were "
        "removed, and the figures describe the table before."
    )


def test_pools_too_small_to_deliver_a_row_are_told_from_pools_of_no_use(
    make_result, classes
):
    refused = make_result(classes, gain=-0.01)
    small = tuple(replace(c, n_rows=0) for c in refused.certificates)

    result = replace(refused, certificates=small)

    assert result.why == (
        "No rows were added: none of 3 pools held enough rows for one to be delivered."
    )


def test_learners_are_compared_with_real_rows_not_with_the_pool_before(result):
    first, *_, last = result.certificates
    uneven = replace(last, learners_after={"one": 0.75, "other": 0.38})

    why = replace(result, certificates=(*result.certificates[:-1], uneven)).why

    # On real rows alone they score 0.5 and 0.4; with the incumbent they score more.
    assert first.learners_before == pytest.approx({"one": 0.5, "other": 0.4})
    assert last.learners_before["one"] > 0.5
    assert "(by learner: one +0.250, other -0.020; score" in why


@pytest.mark.parametrize(
    ("gains", "said"),
    [
        ((2e-5, -1e-6), "one +2e-05, other -1e-06"),
        ((0.2, -0.0004), "one +0.200, other +0.000"),
        ((12345.6, -3.0), "one +1.23e+04, other -3"),
    ],
    ids=["tiny", "none beside a gain", "in the target's own unit"],
)
def test_gains_of_learners_are_written_so_that_they_can_be_compared(
    result, gains, said
):
    (*before, last), alone = result.certificates, {"one": 0.5, "other": 0.4}
    after = {name: alone[name] + gain for name, gain in zip(alone, gains, strict=True)}
    first = replace(before[0], learners_before=alone)
    changed = (first, *before[1:], replace(last, learners_after=after))

    assert f"(by learner: {said};" in replace(result, certificates=changed).why


def test_a_single_learner_needs_no_list_of_learners(result):
    bare = tuple(
        replace(c, learners_before={}, learners_after={}) for c in result.certificates
    )

    why = replace(result, certificates=bare).why

    assert f"95 % confidence ({OWN_SCORE}); " in why


def test_the_score_of_numbers_is_said_in_words_too(make_result, numbers):
    why = make_result(numbers).why

    assert why.count("score: 1 / (1 + squared error), errors in standard dev") == 1


def test_a_yardstick_of_the_user_s_own_is_named_and_not_explained(result):
    scorer = f"{result.about.referee} by roc_auc"
    named = tuple(replace(c, scorer=scorer) for c in result.certificates)

    why = replace(result, certificates=named).why

    assert f"the score of {scorer} on real rows" in why
    assert "half being right" not in why


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
        "none of 3 pools was shown to help; there is no room for a gain, as the score "
        f"of {scorer} with the 12 real rows alone is 1 already, and the run ended"
    )
    assert (said in why) is is_full
