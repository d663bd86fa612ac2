"""Rows by class, and why a run stopped."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from tabtap.loop import Stop
from tabtap.report.blocks import Figure
from tabtap.report.course import added_section, shares_of
from tabtap.table import read_frame

THIN = "\u202f"


def titles(section):
    return [b.title for b in section.blocks if isinstance(b, Figure)]


def test_rows_are_counted_by_class(good):
    shares = [(s.name, s.n_real, s.n_synthetic) for s in shares_of(good)]

    assert shares == [("healthy", 16, 3), ("ill", 8, 3)]


def test_the_title_names_the_share_that_moved_most(good):
    # 16 of 24 are 66.7 %, 19 of 30 are 63.3 %; of two shares both move alike.
    (title,) = titles(added_section(good))

    assert title.replace(THIN, " ") == (
        "The share of rows whose state is healthy falls from 66.7 % to 63.3 %"
    )


def test_an_unchanged_mix_is_said_to_be_one(make_result, good):
    even = make_result(good.certificates, rows=(0, 1, 16))

    assert titles(added_section(even)) == ["The new rows keep the mix of the real ones"]


def test_target_ranges_of_numbers_are_named_by_their_ends(every_case):
    result = every_case["regression"]

    shares = shares_of(result)

    assert shares[0].name == f"up to {result.real.schema.target.edges[0]:g}"
    assert sum(share.n_real for share in shares) == 24
    assert sum(share.n_synthetic for share in shares) == 6


@pytest.mark.parametrize(
    ("stop", "said"),
    [
        (Stop.BUDGET, "that many rows had been let in"),
        (Stop.PATIENCE, "several sets in a row were refused"),
        (Stop.TIME, "its time was over"),
        (Stop.STEPS, "it had used all of its steps"),
        (Stop.LEVEL, "more rows no longer added to the gain"),
        (Stop.INTERRUPT, "the run was interrupted"),
    ],
    ids=lambda part: getattr(part, "name", ""),
)
def test_the_lead_says_why_the_run_stopped(good, stop, said):
    assert said in added_section(replace(good, stop=stop)).lead


def test_many_classes_are_all_in_the_table_and_the_largest_in_the_chart(
    make_result, good
):
    labels = [f"class {k:02d}" for k in range(20) for _ in range(1 + (k < 12))]
    frame = pd.DataFrame({"x": np.arange(32.0), "y": labels})
    many = make_result(good.certificates, real=read_frame(frame, "y"), rows=(0,))

    chart, table = added_section(many).blocks

    assert len(table.rows) == 20
    assert "class 11" in chart.svg
    assert "class 12" not in chart.svg
    assert "8 more are in the table" in chart.caption
