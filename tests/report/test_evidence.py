"""Checks as people read them, and how often bounds hold."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from tabtap.domain import Bound
from tabtap.report.blocks import TableBlock
from tabtap.report.evidence import (
    CROSSFIT_CHECKS,
    CROSSFIT_HELD,
    CROSSFIT_PROMISED,
    PAPER_CHECKS,
    PAPER_HELD,
    PAPER_PROMISED,
    coverage_words,
    evidence_section,
)

CALIBRATION = Path(__file__).parents[2] / "docs" / "results" / "calibration.md"


def tables(section):
    return {b.title: b for b in section.blocks if isinstance(b, TableBlock)}


def test_every_check_is_in_the_table(good):
    rows = tables(evidence_section(good))["Every check"].rows

    assert [row[:3] for row in rows] == [
        ("1", "refused, may be chance", "6"),
        ("2", "let in", "6"),
    ]
    assert rows[1][5:7] == ("+0.050", "0.024")


@pytest.mark.parametrize(
    ("claims", "said"),
    [
        ({"committed": False, "shown": True}, "refused, adds nothing"),
        ({"committed": False, "n_rows": 0}, "refused, no rows left"),
        (
            {"committed": False, "shown": False, "over_real": Bound(0, 0.1, 0.9)},
            "refused, no gain",
        ),
    ],
    ids=["adds nothing", "no rows", "no gain"],
)
def test_a_refusal_has_its_reason(make_result, good, claims, said):
    result = make_result([replace(good.certificates[1], **claims)])

    (row,) = tables(evidence_section(result))["Every check"].rows

    assert row[1] == said


def test_coverage_is_as_it_was_published():
    page = CALIBRATION.read_text(encoding="utf-8")
    published = {}
    for protocol in ("crossfit", "paper"):
        found = re.search(
            rf"\| {protocol} +\| +as certified \| +([\d.]+) \| ([\d.]+) ± "
            r"[\d.]+ \| +(\d+) \|",
            page,
        )
        published[protocol] = tuple(map(float, found.groups()))

    assert published == {
        "crossfit": (
            pytest.approx(100 * CROSSFIT_PROMISED),
            pytest.approx(100 * CROSSFIT_HELD),
            CROSSFIT_CHECKS,
        ),
        "paper": (
            pytest.approx(100 * PAPER_PROMISED),
            pytest.approx(100 * PAPER_HELD),
            PAPER_CHECKS,
        ),
    }


def test_coverage_is_not_claimed_for_other_yardsticks(every_case):
    assert "That was measured with the usual learners" in coverage_words(
        every_case["by folds"]
    )
    assert "That was measured" not in coverage_words(every_case["good"])


def test_no_checks_is_no_evidence(every_case):
    section = evidence_section(every_case["budget 0"])

    assert section.blocks == ()
    assert "No set of rows was checked" in section.lead
