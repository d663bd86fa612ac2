"""What else can be done with the same rows, as the page tells it."""

from dataclasses import replace

import pytest

from tabtap.domain import Alternative, Measured
from tabtap.report.advice import advice_section

ALONE = Alternative(
    name="linear alone",
    words="Train logistic regression on your rows alone.",
    figure="accuracy",
    value=Measured(0.86, 0.05),
    score=Measured(0.70, 0.04),
    is_enough=True,
)
WITH_ROWS = replace(
    ALONE,
    name="forest with new rows",
    words="Train a random forest on the bigger table.",
    value=Measured(0.89, 0.04),
)
FETCH = Alternative(
    name="tabpfn-v1", words="Use TabPFN v1.", note="Its weights are to be fetched."
)
NO = "no, another way scores higher"


def flat(text):
    return " ".join(text.split())


def test_each_way_has_its_figures_and_whether_it_is_enough(make_result):
    beaten = replace(ALONE, name="stack", words="Average several.", is_enough=False)
    result = make_result(advice=(ALONE, beaten, FETCH))

    (table,) = advice_section(result).blocks

    assert table.header == ("What to do", "Accuracy", "Score", "Is it enough?", "Note")
    assert [tuple(map(flat, row)) for row in table.rows] == [
        (ALONE.words, "0.86 ± 0.05", "0.70 ± 0.04", "yes", ""),
        ("Average several.", "0.86 ± 0.05", "0.70 ± 0.04", NO, ""),
        (FETCH.words, "not measured", "not measured", "not measured", FETCH.note),
    ]


def test_what_is_enough_comes_first_in_the_order_given(make_result):
    beaten = replace(ALONE, is_enough=False)
    stack = replace(ALONE, name="stack", words="Average several.")

    (table,) = advice_section(make_result(advice=(beaten, WITH_ROWS, stack))).blocks

    assert [row[0] for row in table.rows] == [
        WITH_ROWS.words,
        stack.words,
        beaten.words,
    ]


def test_the_lead_says_which_one_to_take(make_result):
    lead = flat(advice_section(make_result(advice=(ALONE, FETCH))).lead)

    assert lead.startswith(
        "Take the first: use logistic regression and no new rows: accuracy 0.86 ± 0.05."
    )


@pytest.mark.parametrize(
    ("option", "said"),
    [
        (WITH_ROWS, "train a random forest on the bigger table (accuracy 0.89 ± 0.04)"),
        (
            replace(ALONE, name="lightgbm leaves=5 alone", words="Train it with 5."),
            "Take the first: train it with 5 (accuracy 0.86 ± 0.05).",
        ),
        (
            replace(
                ALONE, name="forest alone", figure="RMSE", value=Measured(52.13, 3)
            ),
            "use a random forest and no new rows: RMSE 52.1 ± 3.0.",
        ),
    ],
    ids=["with rows", "a setting", "regression"],
)
def test_any_way_can_be_the_first(make_result, option, said):
    assert said in flat(advice_section(make_result(advice=(option,))).lead)


def test_rows_that_are_not_needed_are_said_not_to_be(named, good):
    assert "this way needs none of them" in advice_section(named).lead
    assert "needs none" not in advice_section(good).lead


def test_where_nothing_was_measured_nothing_is_recommended(make_result):
    assert "none is recommended" in advice_section(make_result(advice=(FETCH,))).lead
