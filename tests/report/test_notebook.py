"""What a notebook shows of a result: the verdict in a box, and figures."""

from dataclasses import replace

import pytest

from tabtap.errors import UserInputError
from tabtap.report import plot


def test_a_result_shows_its_verdict_and_what_to_do(good, read_page):
    page = read_page(good._repr_html_())

    assert page.mistakes == []
    assert page.text.startswith("Add these 6 rows and train a random forest")
    assert "Test it on real rows only" in page.text


def test_names_of_strangers_are_no_markup_in_the_box(good):
    about = replace(good.about, likely_groups="<b>x</b>")

    box = replace(good, about=about)._repr_html_()

    assert "<b>" not in box
    assert "&lt;b&gt;x&lt;/b&gt;" in box


@pytest.mark.parametrize("part", ["added", "evidence", "gates", "policy", "closeness"])
def test_figures_of_the_report_are_had_by_the_name_of_their_part(good, part, read_page):
    plots = good.plot(part)

    page = read_page(plots._repr_html_())
    assert page.mistakes == []
    assert plots.figures[0].title in repr(plots)
    assert "svg" in [tag for tag, _ in page.elements]
    # The colours that figures take from the page.
    assert "--real: #2a6fad;" in page.elements[0][1]["style"]


def test_the_evidence_is_what_is_shown_unless_asked_otherwise(good):
    assert repr(good.plot()) == repr(plot(good, "evidence"))


def test_a_part_without_figures_is_refused_with_those_that_have_some(refused):
    with pytest.raises(UserInputError, match=r"part='limits' is not .* 'evidence'"):
        refused.plot("limits")
