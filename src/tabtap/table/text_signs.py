"""What strings and names give away: identifiers, free text, numbers and dates.

Numbers and times can be written in ways that nobody can read without guessing: is
03/04/2020 in March or in April?  They are recognised, to be told, and never converted.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from typing import NamedTuple

_ID_WORDS = {"id", "ids", "uuid", "guid", "index", "rowid", "rownumber", "rownum"}
_NAME_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*")
_PADDED = re.compile(r"0\d")
_DATE = re.compile(r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([ T].*)?")

_TEXT_WORDS = 4.0
_TEXT_CHARACTERS = 20.0

_BLANK = "\u0020\u00a0\u202f"
_POINT = rf"(?:(?:\d{{1,3}}(?:[,'{_BLANK}]\d{{3}})+|\d+)(?:\.\d*)?|\.\d+)"
_COMMA = rf"(?:(?:\d{{1,3}}(?:[.'{_BLANK}]\d{{3}})+|\d+)(?:,\d*)?|,\d+)"
_CURRENCY = (
    r"(?:[A-Z]{0,3}[$\u20ac\u00a3\u00a5\u20b9\u20bd\u20a9\u20ba]|USD|EUR|GBP|CHF|JPY|CNY|INR"
    r"|SEK|NOK|DKK|PLN|kr|z\u0142)"
)
_FORMS = {
    "percentages": r"[+-]?{number}\s?%",
    "money": r"[+-]?(?:{currency}\s?[+-]?{number}|{number}\s?{currency})",
}
_DAY = re.compile(r"(\d{1,2})([/.-])(\d{1,2})\2(\d{4}|\d{2})([ T].*)?")
_CLOCK = re.compile(r"\d{1,3}:[0-5]\d(:[0-5]\d(\.\d+)?)?(\s?[AaPp][Mm])?")

_SECONDS = " + ':00'"
_NEARLY_ALL = 0.9
"""Share of the strings that must be written alike; the others may stand for holes."""


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


class Writing(NamedTuple):
    """How numbers or times are written in some strings."""

    what: str
    """What they are, in the plural."""

    example: str

    code: str
    """The pandas call that reads them, with ``{}`` for the column."""


def read_writing(levels: Sequence[str]) -> Writing | None:
    """Return what strings mean that are numbers or times to a person; or None.

    Plain numbers and dates with the year first are among them; zero-padded codes and
    words are not.

    Examples
    --------
    >>> read_writing(["12.5%", "7%"]).what
    'percentages'
    >>> read_writing(["31/12/2020", "1/2/2021"]).code.format("day")
    "pd.to_datetime(day, format='%d/%m/%Y')"
    >>> read_writing(["north", "south"]) is None
    True
    """
    if not levels:
        return None
    if are_numbers(levels):
        return Writing("numbers", levels[0], "pd.to_numeric({})")
    if are_dates(levels):
        return Writing("dates", levels[0], "pd.to_datetime({})")
    cells = [level.strip() for level in levels]
    return _signed(cells) or _plain_with_commas(cells) or _days(cells) or _clock(cells)


def _signed(cells: Sequence[str]) -> Writing | None:
    """Read percentages and money, with a decimal point or with a decimal comma."""
    for what, form in _FORMS.items():
        found = {
            sign: _alike(form.format(number=number, currency=_CURRENCY), cells)
            for sign, number in ((".", _POINT), (",", _COMMA))
        }
        signs = [sign for sign, alike in found.items() if alike]
        if signs:
            sign = signs[0] if len(signs) == 1 else _decimal_sign(what, cells)
            return Writing(what, found[sign][0], _number_code(sign))
    return None


def _decimal_sign(what: str, cells: Sequence[str]) -> str:
    """Return the likelier sign where three digits follow each: 1.200 can be both."""
    has_point = any("." in cell for cell in cells)
    if what == "percentages":
        # Nobody has thousands of percent; three decimals happen.
        return "." if has_point or not any("," in cell for cell in cells) else ","
    return "," if has_point else "."


def _plain_with_commas(cells: Sequence[str]) -> Writing | None:
    if not any("," in cell for cell in cells) or any(map(_PADDED.match, cells)):
        return None
    if alike := _alike(rf"[+-]?{_POINT}", cells):
        what = "numbers with commas between thousands"
        return Writing(what, alike[0], _number_code("."))
    if alike := _alike(rf"[+-]?{_COMMA}", cells):
        return Writing("numbers with decimal commas", alike[0], _number_code(","))
    return None


def _number_code(sign: str) -> str:
    if sign == ".":
        return r"pd.to_numeric({}.str.replace(r'[^\d.-]', '', regex=True))"
    return (
        r"pd.to_numeric({}.str.replace(r'[^\d,-]', '', regex=True)"
        ".str.replace(',', '.'))"
    )


def _days(cells: Sequence[str]) -> Writing | None:
    alike = [found for found in map(_DAY.fullmatch, cells) if found and _is_day(found)]
    if len(alike) < _NEARLY_ALL * len(cells):
        return None
    _, sign, _, year, clock = alike[0].groups()
    what = "dates with the year last"
    is_month_first = any(int(found[3]) > 12 for found in alike)
    if clock:
        order = "" if is_month_first else ", dayfirst=True"
        return Writing(what, alike[0][0], f"pd.to_datetime({{}}{order})")
    last = "%Y" if len(year) == 4 else "%y"
    day_first, month_first = (
        f"'{sign.join((*order, last))}'" for order in (("%d", "%m"), ("%m", "%d"))
    )
    if is_month_first:
        return Writing(what, alike[0][0], f"pd.to_datetime({{}}, format={month_first})")
    doubt = "" if any(int(found[1]) > 12 for found in alike) else f" (or {month_first})"
    code = f"pd.to_datetime({{}}, format={day_first}){doubt}"
    return Writing(what, alike[0][0], code)


def _is_day(found: re.Match[str]) -> bool:
    """Whether three numbers can be a date; 1.2.10 is rather a version."""
    first, second = sorted((int(found[1]), int(found[3])))
    has_long_year = len(found[4]) == 4 or found[2] == "/"
    return 1 <= first <= 12 and second <= 31 and has_long_year


def _clock(cells: Sequence[str]) -> Writing | None:
    alike = _alike(_CLOCK.pattern, cells)
    if not alike:
        return None
    example = alike[0]
    if example[-1] in "Mm":
        blank = " " if " " in example else ""
        seconds = ":%S" if example.count(":") == 2 else ""
        code = f"pd.to_datetime({{}}, format='%I:%M{seconds}{blank}%p')"
    else:
        code = f"pd.to_timedelta({{}}{'' if example.count(':') == 2 else _SECONDS})"
    return Writing("times", example, code)


def _alike(pattern: str, cells: Sequence[str]) -> list[str]:
    """Return the cells of a form if nearly all of them have it, else none."""
    form = re.compile(pattern)
    found = [cell for cell in cells if form.fullmatch(cell)]
    return found if len(found) >= _NEARLY_ALL * len(cells) else []
