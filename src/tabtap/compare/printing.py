"""A table of words, written for terminals, Markdown, CSV and LaTeX."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from tabtap.wording import plain

_GAP = "  "
_LATEX_SIGNS = {
    "\\": r"\textbackslash{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
}


@dataclass(frozen=True, slots=True)
class TextTable:
    """Cells as text, with what is to be said about them."""

    title: str
    """May be empty; then a page shows the cells alone."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()

    n_labels: int = 1
    """Columns on the left that name a row; the others are figures."""


def as_text(table: TextTable, width: int | None = None) -> str:
    """Return a table for a terminal: aligned, with as few lines as will do.

    Where it is wider than ``width``, columns of figures follow below, the labels beside
    them again.
    """
    widths = _widths(table, least=0)
    blocks = []
    for columns in _blocks(widths, table.n_labels, width):
        shown = [widths[column] for column in columns]
        lines = [
            _align(table, [line[column] for column in columns], shown).rstrip()
            for line in _lines(table)
        ]
        rule = _GAP.join("-" * width for width in shown)
        blocks.append("\n".join([lines[0], rule, *lines[1:]]))
    return plain("\n".join([table.title, "", "\n\n".join(blocks), *table.notes]))


def as_markdown(table: TextTable) -> str:
    """Return a table for a page, which also reads well as it is."""
    table = _escape_bars(table)
    widths = _widths(table, least=3)
    rule = [
        "-" * width if column < table.n_labels else "-" * (width - 1) + ":"
        for column, width in enumerate(widths)
    ]
    lines = [_align(table, line, widths, " | ") for line in _lines(table)]
    shown = [f"| {line} |" for line in [lines[0], " | ".join(rule), *lines[1:]]]
    notes = ["", *(f"- {note}" for note in table.notes)] if table.notes else []
    title = [f"**{table.title}**", ""] if table.title else []
    return plain("\n".join([*title, *shown, *notes]))


def as_csv(table: TextTable) -> str:
    """Return the cells alone."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(_lines(table))
    return plain(out.getvalue().rstrip("\n"))


def as_latex(table: TextTable) -> str:
    """Return a table in the style of the paper's (package ``booktabs``)."""
    n_figures = len(table.header) - table.n_labels
    spec = "l" * table.n_labels + "r" * n_figures
    header, *rows = [" & ".join(map(_latex, line)) + r" \\" for line in _lines(table)]
    return "\n".join(
        [
            r"\begin{table}[ht]",
            r"\centering",
            rf"\caption{{{_latex(table.title)}}}",
            rf"\begin{{tabular}}{{{spec}}}",
            r"\toprule",
            header,
            r"\midrule",
            *rows,
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
        ]
    )


FORMATS: Mapping[str, Callable[[TextTable], str]] = MappingProxyType(
    {"text": as_text, "markdown": as_markdown, "csv": as_csv, "latex": as_latex}
)
"""Ways to write a table, by name."""


def _escape_bars(table: TextTable) -> TextTable:
    header, *rows = [
        tuple(cell.replace("|", r"\|") for cell in line) for line in _lines(table)
    ]
    return replace(table, header=header, rows=tuple(rows))


def _lines(table: TextTable) -> list[tuple[str, ...]]:
    return [table.header, *table.rows]


def _widths(table: TextTable, *, least: int) -> list[int]:
    columns = zip(*_lines(table), strict=True)
    return [max(least, *map(len, column)) for column in columns]


def _blocks(widths: Sequence[int], n_labels: int, most: int | None) -> list[list[int]]:
    """Return the columns that stand side by side, labels first in each block."""
    labels = list(range(n_labels))
    blocks = [[*labels]]
    for column in range(n_labels, len(widths)):
        used = sum(widths[other] + len(_GAP) for other in blocks[-1])
        is_full = most is not None and used + widths[column] > most
        if is_full and len(blocks[-1]) > n_labels:
            blocks.append([*labels])
        blocks[-1].append(column)
    return blocks


def _align(
    table: TextTable, line: Sequence[str], widths: Sequence[int], gap: str = _GAP
) -> str:
    return gap.join(
        cell.ljust(width) if column < table.n_labels else cell.rjust(width)
        for column, (cell, width) in enumerate(zip(line, widths, strict=True))
    )


def _latex(text: str) -> str:
    return "".join(_LATEX_SIGNS.get(sign, sign) for sign in plain(text))
