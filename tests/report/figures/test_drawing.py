import re
from xml.etree import ElementTree

import matplotlib
import pytest

from tabtap.report.drawing import (
    COLOURS,
    GOOD,
    REAL,
    SYNTHETIC,
    Layout,
    clean,
    draw,
    key,
    label,
    panels,
    stacked,
)

SVG = "{http://www.w3.org/2000/svg}"


def _paint(axes):
    axes.plot([1, 2, 3], [3, 1, 2], "o", color=REAL)
    axes.plot([1, 2, 3], [1, 2, 3], "D", color=SYNTHETIC)
    axes.fill_between([1, 2], 0, 1, color=GOOD, alpha=0.4)
    axes.text(2, 2, "a $ & <b> \u4e2d", weight="bold")


@pytest.fixture(scope="module")
def drawing():
    return draw(_paint, name="one", title='what <to> "see" & say')


def test_a_figure_is_one_element_that_says_what_is_to_be_seen(drawing):
    root = ElementTree.fromstring(drawing)

    assert root.tag == f"{SVG}svg"
    assert root.get("role") == "img"
    assert root[0].tag == f"{SVG}title"
    assert root[0].text == 'what <to> "see" & say'


def test_a_figure_scales_with_the_page(drawing):
    root = ElementTree.fromstring(drawing)

    assert root.get("viewBox") == "0 0 340 230"
    assert root.get("width") is None
    assert root.get("height") is None
    assert "max-width:425px" in root.get("style")


def test_every_colour_is_the_pages(drawing):
    assert not any(colour in drawing for colour in COLOURS)
    assert all(f"var(--{n})" in drawing for n in ("real", "synthetic", "good"))
    assert re.findall(r":#[0-9a-f]{6}", drawing) == []


def test_text_stays_text_in_the_font_of_the_page(drawing):
    texts = [e.text for e in ElementTree.fromstring(drawing).iter(f"{SVG}text")]

    assert "a $ & <b> \u4e2d" in texts
    assert "font-family" not in drawing
    assert "DejaVu" not in drawing
    assert "font-weight" in drawing


def test_no_rule_of_style_reaches_the_rest_of_the_page(drawing):
    assert list(ElementTree.fromstring(drawing).iter(f"{SVG}style")) == []


def _ids(svg):
    root = ElementTree.fromstring(svg)
    return {e.get("id") for e in root.iter() if e.get("id")}


def test_two_figures_share_no_id(drawing):
    other = draw(_paint, name="two", title="the same")

    assert _ids(drawing)
    assert _ids(drawing).isdisjoint(_ids(other))


def test_every_reference_leads_somewhere(drawing):
    root = ElementTree.fromstring(drawing)
    wanted = {e.get("href")[1:] for e in root.iter() if e.get("href")}
    wanted |= {e.get("clip-path")[5:-1] for e in root.iter() if e.get("clip-path")}

    assert wanted == _ids(drawing)


def test_the_same_plot_gives_the_same_text(drawing):
    assert draw(_paint, name="one", title='what <to> "see" & say') == drawing


def test_the_users_own_settings_neither_matter_nor_change(drawing):
    with matplotlib.rc_context({"font.size": 30, "text.color": "red"}):
        same = draw(_paint, name="one", title='what <to> "see" & say')

        assert matplotlib.rcParams["font.size"] == 30

    assert same == drawing


def test_a_mark_is_described_once_for_all_of_its_places(drawing):
    root = ElementTree.fromstring(drawing)
    groups = [g for g in root.iter(f"{SVG}g") if len(g) == 3]

    assert len(groups) == 2
    assert all(use.get("style") is None for group in groups for use in group)
    assert all("var(--" in group.get("style") for group in groups)


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("a\x00b\n\t c", "a b c"),
        ("\u202egnorw", "gnorw"),
        ("\ud800x", "?x"),
        ("long name", "long…"),
        (("t", 1), "('t',…"),
        ("\u05d0\u05d1", "\u2068\u05d0\u05d1\u2069"),
    ],
    ids=["control", "direction", "surrogate", "long", "tuple", "right to left"],
)
def test_any_name_becomes_one_line_of_text(text, cleaned):
    assert clean(text, 6) == cleaned


def test_a_line_that_was_cleaned_is_not_changed_again():
    once = clean("\u05d0\u05d1 \u200f x", 30)

    assert clean(once, 30) == once


def test_a_label_is_cut_to_its_panel():
    layout = Layout(width=100, left=0, top=40)

    svg = draw(
        lambda axes: label(axes, ("n" * 50, "r" * 50), layout),
        name="cut",
        title="cut",
        layout=layout,
    )

    assert "n" * 12 + "…" in svg
    assert "r" * 16 + "…" in svg


def test_panels_fill_the_page_from_the_left(drawing):
    both = ElementTree.fromstring(panels([drawing, drawing], min_width=200))

    assert len(both) == 2
    assert "minmax(min(200px,100%),1fr)" in both.get("style")


def test_a_key_names_every_mark():
    entries = [
        ("real", {"color": REAL, "marker": "o"}),
        ("new", {"bar": True, "color": SYNTHETIC}),
        ("line", {"color": GOOD}),
    ]

    svg = stacked(key(entries, name="key"))

    texts = [e.text for e in ElementTree.fromstring(svg).iter(f"{SVG}text")]
    assert texts == ["real", "new", "line"]
    assert "var(--real)" in svg
    assert "var(--synthetic)" in svg
