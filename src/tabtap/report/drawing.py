"""Plots as SVG text that takes its colours and its font from the page; plain charts.

A figure is drawn with colours that only stand for those of the page, which has two
themes.  Figures are narrow, and several are laid side by side by ``panels``: a wide one
would be too small to read on a phone.
"""

from __future__ import annotations

import hashlib
import io
import math
import re
import unicodedata
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Literal
from xml.etree import ElementTree

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

REAL = "#a10001"
SYNTHETIC = "#a10002"
INK = "#a10003"
MUTED = "#a10004"
GRID = "#a10005"
GOOD = "#a10006"
BAD = "#a10007"

COLOURS = {
    REAL: "var(--real)",
    SYNTHETIC: "var(--synthetic)",
    INK: "var(--ink)",
    MUTED: "var(--muted)",
    GRID: "var(--grid)",
    GOOD: "var(--good)",
    BAD: "var(--bad)",
}
"""What the page must define, for what figures are drawn with."""

FONT_SIZE = 12.0

_JOINERS = "\u200c\u200d"
"""Invisible signs that shape those beside them, in Persian or in emoji."""

_UNFIT = ("Cs", "Co", "Cn")
"""Signs that are no signs; XML may not hold some of them."""

_SETTINGS: Any = {
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "tabtap",
    "text.parse_math": False,  # a column may be called "$"
    "font.family": ["DejaVu Sans"],  # comes with matplotlib; only measures the text
    "font.size": FONT_SIZE,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "axes.edgecolor": GRID,
    "axes.labelcolor": MUTED,
    "axes.spines.left": False,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": FONT_SIZE,
    "axes.axisbelow": True,
    "text.color": INK,
    "xtick.color": GRID,
    "ytick.color": GRID,
    "xtick.labelcolor": MUTED,
    "ytick.labelcolor": MUTED,
    "xtick.labelsize": FONT_SIZE - 1,
    "ytick.labelsize": FONT_SIZE - 1,
    "xtick.major.size": 3,
    "ytick.major.size": 0,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "legend.frameon": False,
    "path.simplify": True,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Size of a figure and room around its axes, in pixels."""

    width: int = 340
    height: int = 230
    left: int = 12
    right: int = 12
    top: int = 12
    bottom: int = 28

    stretch: float = 1.25
    """How much wider than drawn it may be shown."""

    @property
    def box(self) -> tuple[float, float, float, float]:
        """Left, bottom, width and height of the axes, as shares of the figure."""
        across = self.width - self.left - self.right
        along = self.height - self.top - self.bottom
        return (
            self.left / self.width,
            self.bottom / self.height,
            across / self.width,
            along / self.height,
        )


def draw(
    paint: Callable[[Axes], object],
    *,
    name: str,
    title: str,
    layout: Layout | None = None,
) -> str:
    """Draw a plot and return it as one ``<svg>`` element.

    Parameters
    ----------
    paint : callable
        Puts the plot into the axes that it is given, with the colours of this module.
    name : str
        What no other figure of the page is called.
    title : str
        What is to be seen, for those who do not see it.
    layout : Layout, optional
        Size and margins.

    Examples
    --------
    >>> svg = draw(lambda axes: axes.plot([1, 2], color=REAL), name="line", title="Up")
    >>> svg.startswith("<svg"), "var(--real)" in svg, "Up" in svg
    (True, True, True)
    """
    layout = layout or Layout()
    with matplotlib.rc_context(), warnings.catch_warnings():
        # Texts in any script: the page has the fonts, matplotlib only measures.
        warnings.filterwarnings("ignore", message="Glyph|.*missing from")
        matplotlib.rcdefaults()  # the user's own style is for the user's own plots
        matplotlib.rcParams.update(_SETTINGS)
        # One unit of length for figures, fonts and the page: 72 dots to the inch.
        figure = Figure(figsize=(layout.width / 72, layout.height / 72), dpi=72)
        paint(figure.add_axes(layout.box))
        written = io.StringIO()
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        canvas: Any = FigureCanvasSVG(figure)
        canvas.print_svg(written, metadata=nothing)
    return page_svg(
        written.getvalue(),
        name=name,
        title=_one_line(title, without=_UNFIT),
        colours=COLOURS,
        max_width=round(layout.width * layout.stretch),
    )


def panels(figures: Sequence[str], *, min_width: int = 230) -> str:
    """Lay figures side by side, as many in a line as the page is wide enough for.

    Parameters
    ----------
    figures : sequence of str
        What ``draw`` returned.
    min_width : int
        A line holds as many as leave each this many pixels.
    """
    style = (
        "display:grid;gap:1rem 1.25rem;align-items:start;grid-template-columns:"
        f"repeat(auto-fit,minmax(min({min_width}px,100%),1fr))"
    )
    return f'<div class="panels" style="{escape(style)}">{"".join(figures)}</div>'


def stacked(*parts: str) -> str:
    """Put figures one above the other."""
    return f'<div class="stacked">{"".join(parts)}</div>'


def clean(text: object, width: int = 400) -> str:
    r"""Return any name or value as one line of text that XML can hold.

    Examples
    --------
    >>> clean("a\x00 b\n c"), clean("a very long name", 8)
    ('a b c', 'a very…')
    """
    line = _cut(_one_line(str(text), without=("Cf", *_UNFIT)), width)
    if any(unicodedata.bidirectional(sign) in ("R", "AL") for sign in line):
        # What is written from right to left must not turn the text around it.
        return f"\u2068{line}\u2069"
    return line


def _one_line(text: str, without: Sequence[str]) -> str:
    whole = text.encode("utf-8", "replace").decode("utf-8")
    kept = (
        " " if unicodedata.category(sign) in ("Cc", "Zl", "Zp") else sign
        for sign in whole
        if sign in _JOINERS or unicodedata.category(sign) not in without
    )
    return " ".join("".join(kept).split())


def _cut(line: str, width: int) -> str:
    return line if len(line) <= width else line[: width - 1].rstrip() + "…"


def label(axes: Axes, texts: tuple[str, str], layout: Layout) -> None:
    """Write a panel's name and, under it, what is to be said of it.

    Parameters
    ----------
    axes : matplotlib Axes
        Axes of the panel, with at least 36 pixels above them.
    texts : tuple of str
        Name and remark; cut to the panel's width.
    layout : Layout
        The panel's.
    """
    name: dict[str, Any] = {"weight": "bold", "size": FONT_SIZE}
    remark: dict[str, Any] = {"color": MUTED, "size": FONT_SIZE - 1}
    # Pixels of a sign: bold ones are wider.
    kinds = ((name, 19, 7.3), (remark, 4, 5.8))
    for text, (settings, height, pixels) in zip(texts, kinds, strict=True):
        n_signs = int((layout.width - layout.left) / pixels)
        axes.annotate(
            _cut(_one_line(text, without=_UNFIT), n_signs),
            (0, 1),
            xycoords="axes fraction",
            xytext=(0, height),
            textcoords="offset points",
            **settings,
        )


def key(entries: Sequence[tuple[str, dict[str, Any]]], *, name: str) -> str:
    """Return one line that says which mark stands for what.

    Parameters
    ----------
    entries : sequence of (str, dict)
        Text, and how ``Axes.plot`` draws the mark; with ``bar=True`` a filled patch
        in the settings of ``Axes.fill_between``.
    name : str
        What no other figure of the page is called.
    """
    widths = [34 + 0.6 * FONT_SIZE * len(text) for text, _ in entries]
    layout = Layout(
        width=round(sum(widths)), height=20, left=0, right=0, top=0, bottom=0, stretch=1
    )

    def paint(axes: Axes) -> None:
        axes.set_axis_off()
        axes.set(xlim=(0, layout.width), ylim=(0, layout.height))
        start = 2.0
        for (text, settings), width in zip(entries, widths, strict=True):
            style = dict(settings)
            if style.pop("bar", False):
                axes.fill_between([start, start + 16], 4, 14, **style)
            else:
                ends = [start + 8] if "marker" in style else [start, start + 16]
                axes.plot(ends, [9] * len(ends), **style)
            axes.text(start + 22, 5, text, color=INK, size=FONT_SIZE - 0.5)
            start += width

    said = ", ".join(text for text, _ in entries)
    return draw(paint, name=name, title=f"Key: {said}", layout=layout)


# ---- What matplotlib draws, as small SVG that lives in a page and follows its colours.
#
# matplotlib writes a document of its own. Inside a page its style sheet would reach all
# elements, two drawings would share ids, and fonts and colours would not be the page's.


_SVG = "http://www.w3.org/2000/svg"
_LINK = "{http://www.w3.org/1999/xlink}href"
_DECIMALS = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")
_FAMILY = re.compile(r"font-family:[^;]*;?\s*")
_SHORTHAND = re.compile(r"font:\s*(?:(\d+|bold)\s+)?([\d.]+px)[^;]*")
_REFERENCE = re.compile(r"url\(#([^)]+)\)")
_NO_TURN = re.compile(r"rotate\(-?0 [^)]*\)")
_COLOUR = re.compile(r"#[0-9a-f]{6}")


def page_svg(
    drawn: str, *, name: str, title: str, colours: Mapping[str, str], max_width: int
) -> str:
    """Return one ``<svg>`` element to be put into a page as it is.

    Parameters
    ----------
    drawn : str
        The document that matplotlib wrote.
    name : str
        What no other figure of the page is called: ids are made of it.
    title : str
        What the figure shows, for those who do not see it.
    colours : mapping of str to str
        The page's colour for every ``#rrggbb`` that was drawn with.
    max_width : int
        Widest it may become, in pixels of the page; it shrinks as far as need be.
    """
    root = ElementTree.fromstring(drawn)
    for element in root.iter():
        element.tag = element.tag.removeprefix(f"{{{_SVG}}}")
    _drop_useless(root)
    _bare_root(root, title, max_width)
    _rename_ids(root, hashlib.sha256(name.encode()).hexdigest()[:8])
    for element in root.iter():
        _shorten(element, colours)
    for element in root.iter():
        _hoist_style(element)
    _unwrap_groups(root)
    return ElementTree.tostring(root, encoding="unicode")


def _bare_root(root: ElementTree.Element, title: str, max_width: int) -> None:
    box = root.attrib["viewBox"]
    root.attrib.clear()
    root.attrib.update(
        {
            "xmlns": _SVG,
            "viewBox": box,
            "role": "img",
            "stroke-linejoin": "round",
            "style": f"display:block;width:100%;height:auto;max-width:{max_width}px",
        }
    )
    said = ElementTree.Element("title")
    said.text = title
    root.insert(0, said)


def _drop_useless(root: ElementTree.Element) -> None:
    """Remove the style sheet, what is invisible and what is empty then."""
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag == "style" or child.get("style") == "fill: none":
                parent.remove(child)
    for child in list(root):
        if child.tag == "defs" and not len(child):
            root.remove(child)


def _rename_ids(root: ElementTree.Element, prefix: str) -> None:
    """Keep the ids that something refers to, under names of this figure's own."""
    wanted: dict[str, str] = {}
    for element in root.iter():
        target = element.attrib.pop(_LINK, "").removeprefix("#")
        if target:
            element.set("href", "#" + _known(wanted, target, prefix))
        clip = _REFERENCE.fullmatch(element.get("clip-path", ""))
        if clip:
            element.set("clip-path", f"url(#{_known(wanted, clip[1], prefix)})")
    for element in root.iter():
        own = element.attrib.pop("id", None)
        if own in wanted:
            element.set("id", wanted[own])


def _known(wanted: dict[str, str], target: str, prefix: str) -> str:
    return wanted.setdefault(target, f"f{prefix}-{len(wanted)}")


def _shorten(element: ElementTree.Element, colours: Mapping[str, str]) -> None:
    attributes = element.attrib
    for name in ("d", "x", "y", "width", "height", "transform", "style"):
        if name in attributes:
            attributes[name] = _DECIMALS.sub(_two_places, attributes[name])
    if "d" in attributes:
        attributes["d"] = re.sub(r"\s*([A-Za-z])\s*", r"\1", attributes["d"]).strip()
    if "transform" in attributes:
        turned = _NO_TURN.sub("", attributes.pop("transform")).strip()
        attributes.update({"transform": turned} if turned else {})
    if "style" in attributes:
        attributes["style"] = _page_style(attributes["style"], colours)
    if element.tag not in ("text", "title"):
        element.text = None
    element.tail = None


def _page_style(style: str, colours: Mapping[str, str]) -> str:
    style = _FAMILY.sub("", _SHORTHAND.sub(_font_parts, style)).strip("; ")
    style = re.sub(r"([:;]) ", r"\1", style)
    return _COLOUR.sub(lambda found: colours.get(found[0], found[0]), style)


def _font_parts(found: re.Match[str]) -> str:
    """Return weight and size alone: matplotlib before 3.10 writes all in one."""
    weight = f"font-weight: {found[1]}; " if found[1] else ""
    return f"{weight}font-size: {found[2]}"


def _two_places(found: re.Match[str]) -> str:
    return f"{float(found[0]):.2f}".rstrip("0").rstrip(".").replace("-0.", "-.")


def _hoist_style(element: ElementTree.Element) -> None:
    """Say once for all what the marks of a group have in common."""
    styles = {child.get("style") for child in element}
    is_marks = all(child.tag == "use" for child in element)
    common = next(iter(styles), None)
    if len(element) < 2 or not is_marks or len(styles) > 1 or common is None:
        return
    if "style" in element.attrib:
        return
    element.set("style", common)
    for child in element:
        del child.attrib["style"]


def _unwrap_groups(root: ElementTree.Element) -> None:
    """Replace groups that say nothing by what is in them."""
    for parent in list(root.iter()):
        parent[:] = [kept for child in list(parent) for kept in _unwrapped(child)]


def _unwrapped(element: ElementTree.Element) -> list[ElementTree.Element]:
    if element.tag != "g" or element.attrib:
        return [element]
    return [kept for child in element for kept in _unwrapped(child)]


# ---- Two plain charts: bars, and gains with their error bars.
#
# Names stand above their bars and not beside them, so that long ones fit on a phone.


ROW = 44
"""Pixels of one row: its name and what stands under it."""

_MARKS = {"good": (GOOD, "o"), "open": (MUTED, "X"), "bad": (BAD, "v")}
_NAME_WIDTH = 46
_SMALL = FONT_SIZE - 1
_INDENT = 14  # half of a tick label that stands at the very left


@dataclass(frozen=True, slots=True)
class Bar:
    """One named length, or two: of real rows and of synthetic ones."""

    name: str
    length: float
    text: str
    second: float | None = None
    second_text: str = ""
    is_end: bool = False
    """Whether it is what all the others lead to."""


@dataclass(frozen=True, slots=True)
class Interval:
    """One named gain with the error bar that goes with it."""

    name: str
    gain: float
    low: float
    high: float
    text: str
    mark: Literal["good", "open", "bad"]
    """Whether it is above what it must exceed, cannot be told, or is below."""


def bar_chart(bars: Sequence[Bar], *, name: str, title: str) -> str:
    """Draw named lengths; those of real and synthetic rows in their colours."""
    two = any(bar.second is not None for bar in bars)
    longest = max([1e-12, *(max(b.length, b.second or 0.0) for b in bars)])

    def paint(axes: Axes) -> None:
        _rows(axes, [bar.name for bar in bars], left=2)
        axes.set(xlim=(0, 1.28 * longest), xticks=[])
        axes.spines["bottom"].set_visible(False)
        for place, bar in enumerate(bars):
            top = place + (0.42 if two else 0.4)
            first = REAL if two else (SYNTHETIC if bar.is_end else MUTED)
            _bar(axes, top, bar.length, bar.text, first)
            if bar.second is not None:
                _bar(axes, top + 0.27, bar.second, bar.second_text, SYNTHETIC)

    layout = _layout(len(bars), left=2, bottom=6, row=ROW + 8 if two else ROW - 4)
    svg = draw(paint, name=name, title=title, layout=layout)
    if not two:
        return svg
    marks = [("real", {"bar": True, "color": REAL, "linewidth": 0})]
    marks.append(("synthetic", {"bar": True, "color": SYNTHETIC, "linewidth": 0}))
    return stacked(key(marks, name=f"{name} key"), svg)


def interval_chart(
    intervals: Sequence[Interval], *, name: str, title: str, bar: float = 0.0
) -> str:
    """Draw gains with their error bars, beside what they have to exceed."""
    ends = [end for i in intervals for end in (i.low, i.gain, i.high)]

    def paint(axes: Axes) -> None:
        _rows(axes, [interval.name for interval in intervals])
        _scale(axes, [0.0, bar, *ends])
        left, right = axes.get_xlim()
        for place, interval in enumerate(intervals):
            line, (tone, shape) = place + 0.62, _MARKS[interval.mark]
            _note(axes, place, interval.text)
            # Row by row, so that the line does not run through the names.
            beside = [place + 0.4, place + 0.86]
            axes.plot([bar, bar], beside, color=MUTED, linewidth=1.4, linestyle=":")
            if math.isnan(interval.gain):
                continue
            low, high = max(interval.low, left), min(interval.high, right)
            axes.plot([low, high], [line] * 2, color=tone, linewidth=2.5)
            for end in {interval.low, interval.high} - {interval.gain}:
                if math.isfinite(end):
                    axes.plot(end, line, "|", color=tone, markersize=12, mew=2)
            axes.plot(interval.gain, line, shape, color=tone, markersize=8)

    return draw(paint, name=name, title=title, layout=_layout(len(intervals)))


def _layout(
    n_rows: int, *, left: int = _INDENT, bottom: int = 26, row: int = ROW
) -> Layout:
    return Layout(
        width=360,
        height=n_rows * row + bottom + 8,
        left=left,
        right=14,
        top=8,
        bottom=bottom,
        stretch=1.2,
    )


def _rows(axes: Axes, names: Sequence[str], left: int = _INDENT) -> None:
    """Lay out one row per name, from top to bottom, each one unit high."""
    axes.set(ylim=(len(names), 0), yticks=[])
    for place, text in enumerate(names):
        axes.annotate(
            clean(text, _NAME_WIDTH),
            (0, place + 0.26),
            xycoords=axes.get_yaxis_transform(),
            xytext=(2 - left, 0),
            textcoords="offset points",
            color=INK,
            size=_SMALL,
        )


def _bar(axes: Axes, top: float, length: float, text: str, colour: str) -> None:
    axes.barh(top + 0.12, length, height=0.22, color=colour, linewidth=0)
    axes.annotate(
        text,
        (length, top + 0.12),
        xytext=(5, 0),
        textcoords="offset points",
        va="center",
        color=MUTED,
        size=_SMALL,
    )


def _note(axes: Axes, place: int, text: str) -> None:
    """Write a row's figure at the right, on the line of its name."""
    axes.text(
        1,
        place + 0.26,
        text,
        transform=axes.get_yaxis_transform(),
        ha="right",
        color=MUTED,
        size=_SMALL,
    )


def _scale(axes: Axes, values: Sequence[float]) -> None:
    finite = [value for value in values if math.isfinite(value)] or [0.0, 1.0]
    low, high = min(finite), max(finite)
    room = 0.06 * (high - low) or 0.05 * max(abs(high), 1.0)
    axes.set(xlim=(low - room, high + room))
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.grid(axis="x", color=GRID)
