"""What a page is made of: sections with figures, tables and paragraphs.

Texts are plain: whoever writes the page escapes them.  Only ``Figure.svg`` is markup,
and ``report.drawing`` has made it safe to put into a page as it is.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """One plot."""

    title: str
    """What to see in it, as a sentence without a full stop."""

    svg: str
    """One or more ``<svg>`` elements that follow the colours of the page."""

    alt: str
    """What it shows, for those who do not see it."""

    caption: str = ""
    """How to read it."""


@dataclass(frozen=True, slots=True)
class TableBlock:
    """Rows of text under a header."""

    title: str
    header: tuple[str, ...]

    rows: tuple[tuple[str, ...], ...]
    """As many texts each as the header has."""

    caption: str = ""

    align_right: frozenset[int] = frozenset()
    """Numbers of the columns that hold figures, counted from 0."""


@dataclass(frozen=True, slots=True)
class Text:
    """Paragraphs."""

    paragraphs: tuple[str, ...]


Block = Figure | TableBlock | Text


@dataclass(frozen=True, slots=True)
class Section:
    """One part of the page, under a heading of its own."""

    anchor: str
    """Name that links lead to; letters and hyphens, unique in the page."""

    title: str

    lead: str
    """What the section says, in a sentence or two."""

    blocks: tuple[Block, ...] = ()
