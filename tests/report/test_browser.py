"""The page in Chromium: what people see, on a phone, in the dark, and on paper."""

import pytest

WIDTHS = {"phone": 400, "desk": 1400}
PAIRS = ("h1", ".about", ".verdict h2", ".sentence", ".card dt", ".card .value")
PAIRS += ("nav a", ".lead", "h3", "figcaption", "thead th", "tbody td", "footer p")
PAIRS += (".plot svg text", ".brand", ".meaning p")


@pytest.fixture
def open_page(browser, page_of, tmp_path):
    """Open the page of a result; what it said and asked for is noted beside it."""
    contexts = []

    def open_(name, *, width=1400, scheme="light"):
        path = tmp_path / "report.html"
        path.write_text(page_of(name), encoding="utf-8")
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme
        )
        contexts.append(context)
        page = context.new_page()
        page.heard, page.asked = [], []
        page.on("console", lambda message: page.heard.append(message.text))
        page.on("pageerror", lambda error: page.heard.append(str(error)))
        page.on("request", lambda request: page.asked.append(request.url))
        page.goto(path.as_uri())
        return page

    yield open_
    for context in contexts:
        context.close()


SHOWN = ("good", "named", "regression", "too small", "refused", "paper", "budget 0")


@pytest.mark.parametrize("name", SHOWN)
@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS)
def test_the_page_fits_is_silent_and_asks_for_nothing(open_page, name, width):
    page = open_page(name, width=width)

    wide = page.evaluate("document.documentElement.scrollWidth")
    assert page.heard == []
    assert page.asked == [page.url]  # the file itself
    assert wide <= width


@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS)
def test_every_figure_can_be_seen_and_has_words(open_page, width):
    page = open_page("good", width=width)

    boxes = page.eval_on_selector_all(
        ".plot svg", "all => all.map(x => x.getBoundingClientRect().toJSON())"
    )
    words = page.eval_on_selector_all(
        ".plot", "all => all.map(x => x.getAttribute('aria-label'))"
    )
    assert len(boxes) >= 6
    assert all(box["width"] > 100 and box["height"] > 10 for box in boxes)
    assert all(box["right"] <= width for box in boxes)
    assert all(len(text) > 20 for text in words)


@pytest.mark.parametrize("name", ["good", "named", "regression", "refused", "harmful"])
@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS)
def test_all_that_matters_is_in_the_first_two_screens(open_page, name, width):
    page = open_page(name, width=width)

    top = page.evaluate(
        "document.querySelector('details.part').getBoundingClientRect().top"
    )

    assert 0 < top <= 2 * 900


def test_a_table_that_goes_on_beyond_the_screen_casts_a_shadow(open_page):
    page = open_page("good", width=400)

    hidden, shadows = page.eval_on_selector(
        "#examples .scroll, .scroll",
        "x => [x.scrollWidth - x.clientWidth,"
        " getComputedStyle(x).backgroundAttachment]",
    )

    assert hidden >= 0
    assert shadows == "local, local, scroll, scroll"


def test_four_cards_stand_two_by_two_on_a_middling_screen(open_page):
    page = open_page("good", width=1000)

    tops = page.eval_on_selector_all(
        ".card", "all => all.map(x => Math.round(x.getBoundingClientRect().top))"
    )

    assert [tops.count(top) for top in sorted(set(tops))] == [2, 2]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["good", "refused", "paper"])
def test_text_stands_out_from_its_ground(open_page, contrast, name, scheme):
    page = open_page(name, scheme=scheme)

    ratios = {
        selector: min(page.evaluate(contrast, selector), default=None)
        for selector in PAIRS
    }
    seen = {selector: ratio for selector, ratio in ratios.items() if ratio}
    assert len(seen) >= len(PAIRS) - 3  # a page without rows lacks some figures
    assert {s: round(ratio, 2) for s, ratio in seen.items() if ratio < 4.5} == {}


def test_the_dark_page_has_other_colours(open_page):
    colours = [
        open_page("good", scheme=scheme).evaluate(
            "[getComputedStyle(document.body).backgroundColor,"
            " getComputedStyle(document.querySelector('.plot svg text')).fill]"
        )
        for scheme in ("light", "dark")
    ]

    assert colours[0][0] != colours[1][0]
    assert colours[0][1] != colours[1][1]


def test_the_keyboard_reaches_the_verdict_and_every_table(open_page):
    page = open_page("good", width=400)
    page.evaluate("document.querySelectorAll('details').forEach(x => x.open = true)")
    reached = []

    for _ in range(200):
        page.keyboard.press("Tab")
        reached.append(
            page.evaluate(
                "[document.activeElement.className, document.activeElement.tagName,"
                " document.activeElement.getAttribute('aria-labelledby')]"
            )
        )

    shown = page.eval_on_selector_all(
        ".scroll", "all => all.filter(x => x.checkVisibility()).length"
    )
    tables = {label for name, _, label in reached if name == "scroll"}
    assert reached[0][:2] == ["skip", "A"]
    assert len(tables) == shown > 3
    assert "SUMMARY" in {tag for _, tag, _ in reached}


def test_the_skip_link_leads_to_the_verdict(open_page):
    page = open_page("good")

    page.keyboard.press("Tab")
    page.keyboard.press("Enter")

    assert page.evaluate("document.activeElement.id") == "main"


def test_on_paper_everything_is_open_and_light(open_page):
    page = open_page("good", scheme="dark")

    page.emulate_media(media="print")
    shown = page.evaluate(
        "[...document.querySelectorAll('details table')]"
        ".map(x => x.getBoundingClientRect().height)"
    )
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")

    assert shown
    assert min(shown) > 40  # a heading and a row, not a folded one
    assert ground == "rgb(255, 255, 255)"
    assert page.pdf().startswith(b"%PDF")
