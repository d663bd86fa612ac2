"""The first page: what to do, what not to believe, and some of the rows."""

import re
from dataclasses import replace

import numpy as np
import pytest

from tabtap.report import report_html
from tabtap.report.front import examples_section, means_not, next_steps


def test_rows_that_help_are_to_be_trained_on_and_never_tested_on(good):
    train, test, other = next_steps(good)

    assert train.startswith("Train a random forest on the bigger table")
    assert test.startswith("Test it on real rows only")
    assert "--learner" in other


def test_a_named_learner_is_not_asked_for_again(named):
    assert not any("--learner" in step for step in next_steps(named))


@pytest.mark.parametrize(
    ("case", "first"),
    [
        ("refused", "Use logistic regression and no new rows"),
        ("barren", "Train on the table as it is"),
        ("unchecked", "Run again"),
        ("budget 0", "Run again"),
        ("paper", "Measure on real rows of your own"),
        ("unproven", "Measure on real rows of your own"),
    ],
)
def test_every_other_case_says_what_to_do_first(every_case, case, first):
    assert next_steps(every_case[case])[0].startswith(first)


def test_a_changed_base_rate_is_told_and_an_unchanged_one_is_not(good, make_result):
    # Of 24 rows 8 are ill; three of six new ones are.
    assert (
        "from 33.3\u202f% to 36.7\u202f%" in dict(means_not(good))["Changed base rate"]
    )
    same = make_result(good.certificates, rows=(0, 1, 2, 3, 16, 17))
    assert "Changed base rate" not in dict(means_not(same))


def test_privacy_is_spoken_of_only_where_there_are_rows(good, refused):
    assert "shows real values" in dict(means_not(good))["Privacy"]
    assert "Privacy" not in dict(means_not(refused))


def test_groups_are_told_as_given_missing_or_likely(good, make_result):
    given = make_result(groups=np.repeat(np.arange(12), 2))
    likely = replace(good, about=replace(good.about, likely_groups="patient"))

    assert "kept apart" in dict(means_not(given))["New groups"]
    assert "No new patient was tested" in dict(means_not(likely))["New groups"]
    assert "too good" in dict(means_not(good))["New groups"]


def test_five_rows_stand_above_their_nearest_real_ones(good):
    section = examples_section(good)

    (table,) = section.blocks
    assert section.title == "Five of the new rows"
    assert table.header == ("Row", "state", "dose", "place")
    # The rows of this result are copies, so a row equals its neighbour.
    assert [row[0] for row in table.rows[:2]] == ["New\u00a00, a copy", "Real\u00a00"]
    assert len(table.rows) == 10
    assert table.rows[0][1:] == table.rows[1][1:]


def test_everything_else_is_folded_and_its_links_lead_inside(good, read_page):
    page = report_html(good)

    folded = page.split('<details class="part">')[1:]
    assert len(folded) == 11
    assert all(re.search(r'<section id="[a-z]+"', part) for part in folded)
    assert page.index('id="examples"') < page.index('<details class="part">')
    assert "Each part was predicted by learners" in read_page(page).text


def test_what_stood_out_in_the_table_is_told_beside_the_verdict(make_result):
    noted = make_result(notes=("'patient' looks like groups.",))

    assert dict(means_not(noted))["Note"] == "'patient' looks like groups."
