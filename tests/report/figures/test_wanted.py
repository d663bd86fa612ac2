from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from tabtap.domain import (
    Action,
    Bound,
    Certificate,
    Feedback,
    LearnerState,
    StepRecord,
    Template,
)
from tabtap.report.blocks import TableBlock, Text
from tabtap.report.wanted import row_scores, wanted_section
from tabtap.table import read_frame

N = 60
LABEL = np.resize(["cat", "cat", "dog"], N)
REAL = np.where(LABEL == "dog", 0.3, 0.8)
AFTER = np.where(LABEL == "dog", 0.5, 0.9)


def check(*, committed, **evidence):
    return Certificate(
        window=0,
        protocol="crossfit",
        scorer="panel",
        pool_sha256="",
        n_rows=1,
        n_judged=5,
        score_real=0.6,
        score_before=0.6,
        score_after=0.7,
        over_incumbent=Bound(0.1, 0.0, 0.5),
        over_real=Bound(0.1, 0.05, 0.9),
        shown=committed,
        look=1,
        committed=committed,
        reason="",
        evidence=evidence or {"real": REAL, "before": REAL, "after": AFTER},
    )


def step(*uncertainty):
    doubts = np.array(uncertainty)
    state = LearnerState(doubts, doubts, np.ones(2), 0.5, doubts >= 0)
    action = Action(0, Template.EXPLORE, 0.5, 0.5)
    return StepRecord(0, 0, state, action, 8, {}, 8, np.nan, np.nan, Feedback.NONE)


@pytest.fixture(scope="module")
def real():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=N), "z": np.arange(N) / 7, "y": LABEL})
    return read_frame(frame, "y")


@pytest.fixture(scope="module")
def make(real, result_of):
    return lambda **claims: result_of(real, real.take(np.arange(2)), **claims)


def test_targets_are_listed_worst_first_with_scores_and_doubts(make):
    result = make(certificates=(check(committed=True),), steps=(step(0.2, 0.7),))

    table = wanted_section(result).blocks[0]

    assert table.header == ("Target", "Real rows", "Mean score", "Uncertainty")
    assert table.rows == (("dog", "20", "0.50", "0.70"), ("cat", "40", "0.90", "0.20"))
    lowest = f"score lowest: 0.50 against {AFTER.mean():.2f} overall"
    assert table.title == f"Rows whose y is dog {lowest}"
    assert "with the rows that were added" in table.caption


def test_a_refused_pool_does_not_count(make):
    checks = (check(committed=False), check(committed=False))

    scores = row_scores(make(certificates=checks))
    caption = wanted_section(make(certificates=checks)).blocks[0].caption

    assert scores.tolist() == REAL.tolist()
    assert "from real rows alone" in caption


def test_the_last_pool_that_was_committed_counts(make):
    checks = (check(committed=True), check(committed=False, real=REAL, after=REAL))

    assert row_scores(make(certificates=checks)).tolist() == AFTER.tolist()


def test_rows_that_were_forgotten_have_no_score(make):
    result = make(certificates=(check(committed=True),), steps=(step(0.2, 0.7),))

    left = result.forget([0, 5])

    kept = np.delete(AFTER, [0, 5])
    assert row_scores(left).tolist() == kept.tolist()
    assert wanted_section(left).blocks[0].rows[0][1] == "19"


def test_scores_by_fold_leave_the_doubts(make):
    by_fold = check(committed=True, real=REAL[:5], after=AFTER[:5])

    section = wanted_section(make(certificates=(by_fold,), steps=(step(0.2, 0.7),)))

    (table,) = section.blocks
    assert table.header == ("Target", "Real rows", "Uncertainty")
    assert table.rows[0] == ("dog", "20", "0.70")
    said = "The judge is least sure of rows whose y is dog: uncertainty 0.70"
    assert table.title == said


def test_a_region_that_stands_out_is_told(make, real):
    low = real.numeric[:, 1] > 5.0
    scores = np.where(low, 0.2, 0.8)

    section = wanted_section(make(certificates=(check(committed=True, after=scores),)))

    table = section.blocks[1]
    assert isinstance(table, TableBlock)
    assert table.title == "Rows score lowest where z above 5"
    assert table.rows[0][1:] == (str(low.sum()), "0.20", f"{scores.mean():.2f}")


def test_where_no_region_stands_out_it_is_said(make):
    scores = np.random.default_rng(3).random(N)

    section = wanted_section(make(certificates=(check(committed=True, after=scores),)))

    assert isinstance(section.blocks[1], Text)
    assert section.blocks[1].paragraphs[0].startswith("No region of the table")


def test_a_run_that_measured_nothing_says_so(make):
    section = wanted_section(make())

    assert section.lead.startswith("Nothing was measured")
    assert section.blocks == ()


def test_scores_that_are_no_numbers_are_not_used(make):
    broken = check(committed=True, after=np.full(N, np.nan))

    assert row_scores(make(certificates=(broken,))) is None


def test_ranges_of_a_regression_target_carry_its_name(result_of):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=N), "cost": np.arange(N) * 10.0})
    table = read_frame(frame, "cost", n_bins=3)
    scores = np.linspace(1, 0, N)
    checks = (check(committed=True, after=scores),)

    block = wanted_section(result_of(table, table.empty(), certificates=checks)).blocks[
        0
    ]

    assert block.rows[0][0].startswith("cost above 3")
    assert block.title.startswith("Rows with cost above 3")


def test_families_are_held_out_together(make):
    family = np.arange(N) // 15
    low = family == 3
    checks = (check(committed=True, after=np.where(low, 0.1, 0.9)),)
    result = make(certificates=checks)

    alone = replace(result, about=replace(result.about, groups=family))

    assert isinstance(wanted_section(result).blocks[1], TableBlock)
    assert isinstance(wanted_section(alone).blocks[1], Text)
