"""What strings and names give away: identifiers, free text, numbers and dates.

Reads from: nothing.  Read by: inference.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence

_ID_WORDS = {"id", "ids", "uuid", "guid", "index", "rowid", "rownumber", "rownum"}
_NAME_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*")
_PADDED = re.compile(r"0\d")
_DATE = re.compile(r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([ T].*)?")

_TEXT_WORDS = 4.0
_TEXT_CHARACTERS = 20.0


def names_an_identifier(name: Hashable) -> bool:
    """Whether a column's name says that it numbers the rows.

    Examples
    --------
    >>> [names_an_identifier(n) for n in ("patientID", "row_id", "Unnamed: 0", "covid")]
    [True, True, True, False]
    """
    if not isinstance(name, str):
        return False
    if name.startswith("Unnamed: "):
        # What pandas calls the row numbers of a file that was saved with its index.
        return True
    return any(part.lower() in _ID_WORDS for part in _NAME_PARTS.findall(name))


def are_numbers(levels: Sequence[str]) -> bool:
    """Whether every string is a number; zero-padded ones are codes, not numbers."""
    if any(_PADDED.match(level) for level in levels):
        return False
    return all(_NUMBER.fullmatch(level) for level in levels)


def are_dates(levels: Sequence[str]) -> bool:
    """Whether every string is written as a date, year first."""
    return all(_DATE.fullmatch(level) for level in levels)


def are_sentences(levels: Sequence[str]) -> bool:
    """Whether strings are prose: several words and not short, on average."""
    words = sum(len(level.split()) for level in levels) / len(levels)
    characters = sum(map(len, levels)) / len(levels)
    return words >= _TEXT_WORDS and characters >= _TEXT_CHARACTERS
