from xml.etree import ElementTree

from tabtap.report.drawing import page_svg

OLD = """<svg xmlns="http://www.w3.org/2000/svg"
 xmlns:xlink="http://www.w3.org/1999/xlink" width="9pt" height="9pt" viewBox="0 0 9 9">
 <defs><style type="text/css">*{stroke-linejoin: round}</style></defs>
 <g id="figure_1"><g id="patch_1"><path d="M 0 9 L 9.123456 -0.5 z" style="fill: none"/>
 </g><g id="text_1"><text style="font: 700 11px 'DejaVu Sans', serif; fill: #a10001"
 transform="rotate(-0 2 3)">:ns0= &lt;b&gt;</text></g>
 <path id="m1" d="M 0 1.987654 L 2 3" style="stroke: #a10001; stroke-width: 1.123"/>
 <use xlink:href="#m1" x="1.23456" y="2"/></g></svg>"""


def _page():
    return page_svg(
        OLD, name="n", title="t", colours={"#a10001": "var(--real)"}, max_width=90
    )


def test_fonts_written_in_one_word_lose_their_family_only():
    text = ElementTree.fromstring(_page()).find(".//{*}text")

    assert text.get("style") == "font-weight:700;font-size:11px;fill:var(--real)"
    assert text.get("transform") is None
    assert text.text == ":ns0= <b>"


def test_numbers_are_shortened_and_what_is_invisible_is_dropped():
    root = ElementTree.fromstring(_page())

    paths = [(e.get("d"), e.get("style")) for e in root.findall(".//{*}path")]
    assert paths == [("M0 1.99L2 3", "stroke:var(--real);stroke-width:1.12")]
    assert root.find("{*}use").get("x") == "1.23"
    assert root.findall(".//{*}style") == []


def test_links_need_no_second_namespace():
    page = _page()

    assert "xlink" not in page
    root = ElementTree.fromstring(page)
    assert root.find("{*}use").get("href") == "#" + root.find("{*}path").get("id")
