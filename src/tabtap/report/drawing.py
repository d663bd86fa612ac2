"""Plots as SVG text that takes its colours and its font from the page.

A figure is drawn with colours that only stand for those of the page, which has two
themes.  Figures are narrow, and several are laid side by side by ``panels``: a wide one
would be too small to read on a phone.
"""

from __future__ import annotations

import io
import unicodedata
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from tabtap.report.markup import page_svg

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
