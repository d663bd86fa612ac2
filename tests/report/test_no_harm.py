"""Groups that may not be harmed: what result, page and sheet say of them."""

from dataclasses import replace

from tabtap.report import report_html
from tabtap.report.evidence import group_blocks
from tabtap.report.verdict import verdict_of


def test_a_pool_that_a_group_would_pay_for_is_told_as_such(harmful):
    assert harmful.verdict == "no_gain"
    assert "the only pool was shown to help, but not everybody" in harmful.why
    assert (
        "the group place (south) is estimated to lose 0.041 ± 0.05, more than the 0.02 "
        "allowed"
    ) in harmful.why
    assert "too few rows to tell of place (east)" in harmful.why
    assert "too small to matter" not in harmful.why


def test_the_page_says_who_would_pay_in_its_first_lines(harmful, read_page):
    verdict = verdict_of(harmful)

    text = " ".join(verdict.sentences)
    assert verdict.headline.startswith("A gain that a group would pay for")
    assert "the group place (south) is estimated to lose 0.041" in text
    page = read_page(report_html(harmful))
    assert page.mistakes == []
    assert "refused, harms a group" in page.text
    assert "A set of rows gains on the whole, and a group would pay for it" in page.text


def test_the_page_has_every_group_with_its_bar(harmful):
    (table,) = group_blocks(harmful)

    assert [row[0] for row in table.rows] == [
        "place: north",
        "place: south",
        "place: east",
    ]
    assert [row[-1] for row in table.rows] == [
        "gains",
        "harmed",
        "too few rows to tell",
    ]
    assert "0.05" in table.rows[1][2]
    assert "not added" in table.caption


def test_rows_that_harm_nobody_are_told_and_of_whom_it_is_not_known(harmless):
    told = (
        "f the groups of place that could be told none is estimated to lose more than"
    )

    text = " ".join(verdict_of(harmless).sentences)
    assert f"{told} 0.02" in harmless.why
    assert f"{told} 0.02" in text
    assert "oo few rows to tell of place (east)" in text


def test_where_every_group_could_be_told_no_exception_is_made(harmless):
    (check,) = harmless.certificates
    told = replace(check, groups=check.groups[:1])

    why = replace(harmless, certificates=(told,)).why

    assert "no group of place is estimated to lose more than 0.02" in why


def test_a_result_without_named_groups_has_no_word_on_them(good):
    assert group_blocks(good) == []
    assert "group of" not in good.why


def test_the_sheet_has_every_group_of_every_check(harmful):
    (check,) = harmful.datasheet()["certificates"]

    north, south, east = check["groups_not_to_be_harmed"]
    assert (south["column"], south["value"], south["rows"]) == ("place", "south", 11)
    assert (south["change"], south["margin"]) == (-0.041, 0.05)
    assert [g["verdict"] for g in (north, south, east)] == [
        "gains",
        "harmed",
        "too few rows to tell",
    ]
    assert east["change"] is None
