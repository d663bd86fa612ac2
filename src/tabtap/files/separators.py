"""Which sign separates the cells of a text file.

Each candidate cuts the first lines; the one under which most records have as many
cells as the header wins.  Counting signs would not do: text holds commas too.
"""

from __future__ import annotations

import csv
import re
from typing import NamedTuple

from tabtap.errors import UserInputError, bad_setting
from tabtap.files.file_table import Dialect, Format
from tabtap.files.records import is_blank

CANDIDATES = ("\t", ";", "|", ",")
"""In the order in which they win where nothing tells them apart: nobody writes a tab
into a cell, while a comma is also a decimal sign."""

SHOWN = {",": "','", ";": "';'", "\t": "a tab", "|": "'|'", " ": "a space"}
_SAMPLE_LINES = 400
_SEP_LINE = re.compile(r'"?sep=(.)"?[\r\n]*', re.IGNORECASE)
_SPACES = re.compile(r"\S+( +\S+)+ *[\r\n]*")


class _Cut(NamedTuple):
    """How well a candidate cuts: larger is better."""

    share: float
    n_cells: int
    rank: int
    separator: str


def choose_separator(
    lines: list[str], form: Format, name: str, wanted: str | None
) -> Dialect:
    """Return a dialect with the separator of some lines, and what stands above them.

    Raises
    ------
    UserInputError
        If the header has no separator that is known.
    """
    said = _SEP_LINE.fullmatch(lines[0])
    if said is not None:
        return Dialect(separator=wanted or said[1], n_lines_before=1)
    if wanted is not None:
        return Dialect(separator=_checked(wanted))
    sample = [line for line in lines[:_SAMPLE_LINES] if not is_blank([line])]
    cuts = [_cut(sample, sign, rank) for rank, sign in enumerate(CANDIDATES[::-1])]
    best = max(cuts)
    if best.n_cells >= 2:
        return Dialect(separator=best.separator)
    if len(sample) > 1 and all(_SPACES.fullmatch(line) for line in sample[:20]):
        raise UserInputError(
            f"{name} seems to be separated by spaces, which may also stand inside a "
            "cell. Save it separated by commas, or say that the separator is a space."
        )
    return Dialect(separator="\t" if form == "tsv" else ",")


def shown_separator(separator: str) -> str:
    """Return a separator as it is called in a sentence."""
    return SHOWN.get(separator, repr(separator))


def follows_space(rows: list[list[str]]) -> bool:
    """Whether a space follows each separator, so that it belongs to no cell."""
    later = [cell for row in rows for cell in row[1:] if cell]
    return bool(later) and all(cell.startswith(" ") for cell in later)


def count_cells(line: str, separator: str) -> int:
    """Return into how many cells a separator cuts one line."""
    try:
        return len(next(csv.reader([line], delimiter=separator), []))
    except csv.Error:
        return 0


def _checked(separator: str) -> str:
    if separator in ("\\t", "tab"):
        return "\t"
    if len(separator) != 1 or separator in '"\r\n':
        raise bad_setting(
            "separator", separator, "be one character and no quote", "Try ';'."
        )
    return separator


def _cut(sample: list[str], separator: str, rank: int) -> _Cut:
    try:
        counts = [len(cells) for cells in csv.reader(sample, delimiter=separator)]
    except csv.Error:
        counts = []
    if not counts or counts[0] < 2:
        return _Cut(0.0, 1, rank, separator)
    same = sum(count == counts[0] for count in counts) / len(counts)
    return _Cut(same, counts[0], rank, separator)
