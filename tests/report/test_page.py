"""The page as text: whole, self-contained, in order, and safe with any name."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from tabtap.errors import UserInputError
from tabtap.report import report_html, write_report
from tabtap.table import read_frame

CASES = [
    "good",
    "named",
    "too small",
    "mean",
    "older",
    "regression",
    "forgotten",
    "all forgotten",
    "interrupted",
    "by folds",
    "paper",
    "paper refused",
    "unproven",
    "refused",
    "barren",
    "unmeasured",
    "unchecked",
    "out of time",
    "budget 0",
]
HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</style></svg><script>alert(2)</script>",
    "{{ 7 * 7 }}{% raw %}",
    "'single' & \"double\"",
    "\U0001f427 penguin \u202e turned",
    "x" * 3000,
    "nul\x00 and bell\x07",
    "$\\frac{1}{2}$",
    "https://example.org/licence",
]
EVENT = re.compile(r"on[a-z]+")


@pytest.fixture
def hostile(make_result, good):
    """A table whose every name and level would like to be something else."""
    frame = pd.DataFrame({name: np.arange(24.0) for name in HOSTILE})
    frame["level"] = (HOSTILE * 3)[:24]
    frame["<b>target</b>"] = [HOSTILE[0], HOSTILE[1], HOSTILE[6]] * 8
    return make_result(
        good.certificates,
        real=read_frame(frame, "<b>target</b>", kinds={"level": "category"}),
        rows=(0, 1, 2),
        steps=good.steps,
        rules=tuple(HOSTILE[:3]),
        notes=tuple(HOSTILE),
        licences={HOSTILE[0]: HOSTILE[9]},
        referee=HOSTILE[1],
    )


@pytest.mark.parametrize("name", CASES)
class TestEveryPage:
    def test_is_well_formed(self, page_of, read_page, name):
        page = read_page(page_of(name))

        assert page.mistakes == []

    def test_has_each_id_once_and_links_only_to_them(self, page_of, read_page, name):
        page = read_page(page_of(name))

        links = [a["href"] for tag, a in page.elements if tag in ("a", "use")]
        labels = [a["aria-labelledby"] for _, a in page.elements if _labelled(a)]
        assert len(page.ids) == len(set(page.ids))
        assert {link.removeprefix("#") for link in links} <= set(page.ids)
        assert set(labels) <= set(page.ids)

    def test_has_its_headings_in_order(self, page_of, read_page, name):
        levels = read_page(page_of(name)).headings

        assert levels[0] == 1
        assert levels.count(1) == 1
        assert max(np.diff(levels)) <= 1

    def test_says_no_nan(self, page_of, read_page, name):
        text = read_page(page_of(name)).text

        assert not re.search(r"\b(nan|inf)\b", text)

    def test_runs_nothing_and_loads_nothing(self, page_of, read_page, name):
        assert _reaches_out(page_of(name), read_page) == []


def test_nothing_in_a_table_becomes_markup(hostile, read_page):
    page = report_html(hostile, title=HOSTILE[2])

    reader = read_page(page)
    assert reader.mistakes == []
    assert _reaches_out(page, read_page) == []
    assert "<b>target</b>" in reader.text
    assert "<script>alert(1)</script>" in reader.text
    assert "{{ 7 * 7 }}" in reader.text
    assert "\x00" not in page


def test_a_name_that_cannot_be_written_is_still_shown(make_result, good, tmp_path):
    labels = pd.Series(["lone \ud800", "b"] * 12, dtype=object)
    frame = pd.DataFrame({"x": np.arange(24.0), "y": labels})
    odd = make_result(good.certificates, real=read_frame(frame, "y"), rows=(0,))

    path = write_report(odd, tmp_path / "r.html")

    assert "lone ?" in path.read_text(encoding="utf-8")


def test_a_large_table_gives_a_page_that_can_be_sent_by_mail(make_result, good):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(500, 77))).add_prefix("protein ")
    frame["y"] = [f"class {k % 8}" for k in range(500)]
    large = make_result(
        good.certificates,
        real=read_frame(frame, "y"),
        rows=range(500),
        steps=[replace(good.steps[0], step=k, window=k // 32) for k in range(384)],
    )

    assert len(report_html(large).encode()) < 1_000_000


def test_equal_results_give_equal_pages(good, page_of):
    assert report_html(good) == page_of("good")


def test_the_page_says_what_it_is_in_its_title(every_case, page_of):
    named = report_html(every_case["budget 0"], title="Ward 7")

    assert "<title>Augmentation report: state</title>" in page_of("budget 0")
    assert "<title>Ward 7</title>" in named


def test_the_verdict_comes_before_everything_else(page_of, read_page):
    text = read_page(page_of("good")).text

    assert text.index("Add these 6 rows") < text.index("What was added")


def test_without_rows_the_advice_comes_first_and_without_advice_it_is_left_out(
    page_of, read_page
):
    parts = {
        name: [
            a["id"] for tag, a in read_page(page_of(name)).elements if tag == "section"
        ]
        for name in ("good", "refused", "older")
    }

    assert parts["refused"][:2] == ["verdict", "advice"]
    assert parts["good"].index("advice") > parts["good"].index("evidence")
    assert "advice" not in parts["older"]


def test_a_page_without_rows_has_the_same_parts(page_of, read_page):
    parts = [
        [a["id"] for tag, a in read_page(page_of(name)).elements if tag == "section"]
        for name in ("good", "refused")
    ]

    assert parts[0][0] == "verdict"
    assert set(parts[1]) <= set(parts[0])
    assert {"verdict", "evidence", "gates", "record", "limits"} <= set(parts[1])


def test_writing_returns_the_path_and_replaces_what_was_there(
    every_case, page_of, tmp_path
):
    path = tmp_path / "report.html"
    path.write_text("old")

    written = write_report(every_case["budget 0"], str(path))

    assert written == path
    assert path.read_text(encoding="utf-8") == page_of("budget 0")
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]


def test_without_force_a_file_stays_as_it_is(good, tmp_path):
    path = tmp_path / "report.html"
    path.write_text("old")

    with pytest.raises(UserInputError, match=r"already\. Pass another path, or force"):
        write_report(good, path, force=False)

    assert path.read_text() == "old"


def test_a_folder_or_a_missing_one_is_refused_with_the_way_out(good, tmp_path):
    with pytest.raises(UserInputError, match=r"is a folder\. Pass the path of a file"):
        write_report(good, tmp_path)
    with pytest.raises(UserInputError, match="Create it first"):
        write_report(good, tmp_path / "none" / "report.html")


def _labelled(attributes):
    return "aria-labelledby" in attributes


def _reaches_out(page, read_page):
    """Return whatever would run, or would load something from somewhere."""
    reader = read_page(page)
    found = [tag for tag, _ in reader.elements if tag in _ACTIVE]
    for tag, attributes in reader.elements:
        found += [name for name in attributes if EVENT.fullmatch(name)]
        for name in ("src", "href", "xlink:href", "action", "srcset", "data"):
            if not (attributes.get(name) or "#").startswith(("#", "data:")):
                found.append(f"{tag} {name}")
        found += _foreign_urls(attributes.get("style") or "")
        found += _foreign_urls(attributes.get("clip-path") or "")
    for sheet in re.findall(r"<style>(.*?)</style>", page, flags=re.DOTALL):
        found += _foreign_urls(sheet) + re.findall(r"@import|@font-face", sheet)
    if "default-src 'none'" not in page:
        found.append("no policy")
    return found


def _foreign_urls(style):
    return [url for url in re.findall(r"url\((.*?)\)", style) if url[:1] != "#"]


_ACTIVE = {"script", "iframe", "object", "embed", "link", "form", "img", "base"}
