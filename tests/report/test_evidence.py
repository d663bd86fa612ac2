"""Checks as people read them: in plain figures, learner by learner, beside copies."""

from dataclasses import replace

import numpy as np
import pytest

from tabtap.domain import Bound, Measured
from tabtap.domain import Figure as PlainFigure
from tabtap.report.blocks import Figure, TableBlock, Text
from tabtap.report.evidence import (
    copies_blocks,
    coverage_words,
    effect_blocks,
    effects_title,
    evidence_section,
    figure_blocks,
)
from tabtap.result.why import deciding

THIN = "\u202f"


def flat(row):
    return tuple(" ".join(cell.split()) for cell in row)


def tables(section):
    return {b.title: b for b in section.blocks if isinstance(b, TableBlock)}


def test_every_check_is_in_the_table(good):
    rows = tables(evidence_section(good))["Every check"].rows

    assert [row[:4] for row in rows] == [
        ("1", "refused, may be chance", "Random forest", "6"),
        ("2", "let in", "Random forest", "6"),
    ]
    assert rows[1][6:8] == ("+0.050", "0.024")


def test_a_mean_and_an_older_result_have_no_column_of_learners(mean, older):
    for result in (mean, older):
        assert "Learner" not in tables(evidence_section(result))["Every check"].header


BESIDE = {"real": np.zeros(24), "before": np.ones(24), "after": np.ones(24)}
WORSE = PlainFigure("accuracy", True, *[Measured(0.8, 0.1)] * 3, Measured(-0.1, 0.1))  # noqa: FBT003


@pytest.mark.parametrize(
    ("claims", "said"),
    [
        ({"committed": False, "shown": True}, "refused, too small to matter"),
        ({"committed": False, "evidence": BESIDE}, "refused, adds nothing"),
        ({"committed": False, "figures": (WORSE,)}, "refused, accuracy gets worse"),
        ({"committed": False, "n_rows": 0}, "refused, no rows left"),
        (
            {"committed": False, "shown": False, "over_real": Bound(0, 0.1, 0.9)},
            "refused, no gain",
        ),
    ],
    ids=["too small", "adds nothing", "worse", "no rows", "no gain"],
)
def test_a_refusal_has_its_reason(make_result, good, claims, said):
    result = make_result([replace(good.certificates[1], **claims)])

    (row,) = tables(evidence_section(result))["Every check"].rows

    assert row[1] == said


def test_where_coverage_is_published_is_said_without_figures(every_case):
    for name in ("good", "paper"):
        said = coverage_words(every_case[name])

        assert "docs/results/answers.md" in said
        assert not any(sign.isdigit() for sign in said)


def test_the_gain_is_shown_in_figures_that_people_use(good):
    (table,) = figure_blocks(good)

    assert table.title == "In the figures people use"
    assert table.header[1:] == (
        "Best without",
        "Learner without",
        "Learner with",
        "Change",
    )
    assert [flat(row) for row in table.rows] == [
        ("Accuracy", "0.86 ± 0.09", "0.84 ± 0.08", "0.89 ± 0.09", "+0.03 ± 0.02"),
        (
            "Log loss",
            "0.50 ± 0.05",
            "0.60 ± 0.06",
            "0.45 ± 0.04",
            "\u22120.05 ± 0.02",
        ),
    ]
    assert "Best without new rows: Logistic regression." in table.caption
    assert f"90{THIN}% interval" in table.caption
    assert "share of rows whose label was predicted right; larger" in table.caption


def test_a_learner_that_is_held_against_itself_has_no_column_twice(named):
    (table,) = figure_blocks(named)

    assert table.header == ("Figure", "Without new rows", "With them", "Change")
    assert flat(table.rows[0]) == (
        "Accuracy",
        "0.84 ± 0.08",
        "0.89 ± 0.09",
        "+0.05 ± 0.02",
    )
    assert "Learner: LightGBM." in table.caption


def test_a_figure_that_could_not_be_measured_is_said_not_to_be(make_result, good):
    nan = Measured(float("nan"), float("nan"))
    blank = replace(deciding(good).figures[0], name="AUC", change=nan)
    check = replace(deciding(good), figures=(blank,))

    (table,) = figure_blocks(make_result([check], rows=(0,)))

    assert table.rows[0][-1] == "not measured"


def test_rows_that_were_not_added_are_said_not_to_be(refused):
    (table,) = figure_blocks(refused)

    assert "This set of rows was not added." in table.caption


def test_each_learner_has_its_bar_and_what_can_be_told(good):
    figure, table = effect_blocks(good)

    assert "Logistic regression: \u22120.040, harmed" in figure.alt
    assert "Random forest: +0.080, helped" in figure.alt
    assert [flat(row) for row in table.rows] == [
        ("Logistic regression", "0.720", "0.680", "\u22120.04 ± 0.01"),
        ("Random forest", "0.680", "0.760", "+0.08 ± 0.05"),
    ]


def test_learners_are_compared_with_real_rows_alone(make_result, good):
    later = replace(good.certificates[1], learners_before={"linear": 0.9})
    result = make_result([good.certificates[0], later], rows=(0,))

    table = effect_blocks(result)[1]

    assert [row[1] for row in table.rows] == ["0.720", "0.680"]


HELPED, HARMED, OPEN = (Bound(g, 0.01, 0.95) for g in (0.05, -0.05, 0.0))


@pytest.mark.parametrize(
    ("name", "effects", "said"),
    [
        (
            "good",
            (HARMED, HELPED),
            "A random forest gains from the new rows; 1 of 2 learners is shown to gain "
            "and 1 to lose",
        ),
        (
            "good",
            (OPEN, OPEN),
            "A random forest beats the best without new rows, by the check; by the "
            "bars of single learners, none of 2 learners is shown to gain",
        ),
        (
            "mean",
            (HELPED, HELPED),
            "The learners gain on average; one by one, 2 of 2 learners are shown to "
            "gain",
        ),
        (
            "refused",
            (OPEN, HELPED),
            "1 of 2 learners is shown to gain, yet it is not shown that the best "
            "without new rows is beaten",
        ),
        (
            "refused",
            (HARMED, OPEN),
            "None of 2 learners is shown to gain, 1 is shown to lose",
        ),
        (
            "too small",
            (OPEN, HELPED),
            "1 of 2 learners is shown to gain; the gain is too small to matter",
        ),
    ],
)
def test_the_title_on_learners_agrees_with_the_verdict(every_case, name, effects, said):
    result = every_case[name]
    named_effects = dict(zip(("linear", "forest"), effects, strict=True))
    check = replace(deciding(result), effects=named_effects)

    assert effects_title(result, check) == said


def test_a_single_learner_is_not_drawn_again(named):
    assert effect_blocks(named) == []


def test_an_older_result_has_scores_of_learners_without_bars(older):
    (table,) = effect_blocks(older)

    assert table.rows[0] == ("Logistic regression", "0.720", "0.680", "\u22120.040")
    assert table.caption == "No error bars of single learners are on record."
    assert figure_blocks(older) == []
    assert copies_blocks(older) == []


def test_copies_stand_beside_every_check(good):
    (table,) = copies_blocks(good)

    assert [flat(row) for row in table.rows] == [
        ("1", "+0.010", "+0.01 ± 0.02", "+0.04 ± 0.01"),
        ("2", "+0.050", "+0.01 ± 0.02", "+0.04 ± 0.01"),
    ]


@pytest.mark.parametrize(
    ("over", "said"),
    [
        (HELPED, "the new rows are better than as many copies of real rows."),
        (Bound(0.05, 0.1, 0.95), "as many copies of real rows are not shown to do"),
        (HARMED, "as many copies of real rows do no worse than new ones."),
    ],
    ids=["better", "cannot be told", "no better"],
)
def test_what_copies_show_is_said(make_result, good, over, said):
    check = replace(deciding(good), over_copies=over)

    (table,) = copies_blocks(make_result([check], rows=(0,)))

    assert said in table.caption


def test_the_rule_names_what_is_worth_having_and_the_plain_figure(good, older):
    said, before = (
        " ".join(
            p
            for b in evidence_section(r).blocks
            if isinstance(b, Text)
            for p in b.paragraphs
        )
        for r in (good, older)
    )

    assert "accuracy is estimated to gain 1 point or more, and it adds" in said
    assert "accuracy" not in before


def test_a_gain_too_small_did_not_fail_to_clear_the_bar(too_small):
    titles = [
        b.title for b in evidence_section(too_small).blocks if isinstance(b, Figure)
    ]

    assert "The only set of rows gains too little to matter" in titles


def test_no_checks_is_no_evidence(every_case):
    section = evidence_section(every_case["budget 0"])

    assert section.blocks == ()
    assert "No set of rows was checked" in section.lead
