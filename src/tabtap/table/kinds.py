"""Which kind a column is, by rules that a person can check and override.

Each rule has its reason beside it.  The first that applies wins; ``kinds=`` in
``read_frame`` wins over all of them.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from tabtap.errors import Problem, bad_setting
from tabtap.table.cells import RawColumn
from tabtap.table.problems import (
    MIN_ROWS,
    all_missing,
    call,
    infinite,
    quote,
    refuse,
    told,
)
from tabtap.table.schema import Kind

MAX_FEW_VALUES = 10
"""Integers with more distinct values than this are treated as a scale."""

MIN_ROWS_PER_VALUE = 3
"""Each value must be met this often, on average, to be learned as a level."""

_NEARLY_ALL = 0.95
_MOSTLY = 0.5
_FIRST_YEAR, _LAST_YEAR = 1900, 2100


def infer_kind(raw: RawColumn) -> Kind:
    """Return the kind that the first matching rule gives, or raise why it has none."""
    check_values(raw)
    if len(raw.distinct) == 1:
        # With holes the holes carry information; without, there is nothing to learn.
        return Kind.CATEGORY if raw.markers else Kind.CONSTANT
    if raw.family == "bool":
        return Kind.BOOLEAN
    if raw.family == "category":
        # Declared by the user, who knows better than any rule below.
        return Kind.CATEGORY
    if raw.family == "text":
        return _infer_text(raw)
    if raw.family == "other":
        return _infer_other(raw)
    return _infer_number(raw)


def check_values(raw: RawColumn) -> None:
    """Raise if a column has no value at all, or an infinite one."""
    if not raw.present.any():
        raise all_missing(raw.name)
    if raw.family == "float" and np.isinf(raw.values).any():
        row = int(np.isinf(raw.values).argmax())
        raise infinite(raw.name, float(raw.values[row]), row)


def is_few_valued(raw: RawColumn) -> bool:
    """Whether there are so few distinct values that each is better seen as a level."""
    n_distinct = len(raw.distinct)
    return n_distinct <= MAX_FEW_VALUES and _is_met_often(raw)


def are_few_texts(n_levels: int, n_rows: int) -> bool:
    """Whether strings are so few, in so many rows, that they are levels for sure."""
    return n_levels <= MAX_FEW_VALUES and n_levels <= _MOSTLY * n_rows


def _is_met_often(raw: RawColumn) -> bool:
    return len(raw.seen) >= MIN_ROWS_PER_VALUE * len(raw.distinct)


def _infer_number(raw: RawColumn) -> Kind:
    if raw.family == "time":
        # Two dates are two waves of a study; a date between them never happened.
        two = len(raw.distinct) == 2 and _is_met_often(raw)
        return Kind.CATEGORY if two else Kind.DATETIME
    if not raw.is_whole:
        # Two numbers are a flag, however they are written.
        two = len(raw.distinct) == 2 and _is_met_often(raw)
        return Kind.CATEGORY if two else Kind.CONTINUOUS
    if len(raw.distinct) == 2 or is_few_valued(raw):
        return Kind.CATEGORY
    if names_an_identifier(raw.name):
        # Numbers of things: new ones mean nothing, so known ones are repeated at most.
        return Kind.IDENTIFIER if _share_distinct(raw) > _NEARLY_ALL else Kind.CATEGORY
    return Kind.IDENTIFIER if _counts_rows(raw) else Kind.INTEGER


def _counts_rows(raw: RawColumn) -> bool:
    """Whether integers go up by one from row to row, wherever they start.

    All-distinct integers alone prove nothing: twenty incomes are distinct too.  Floats
    are exempt, because nobody numbers rows with them; so are years, for a table of one
    row a year has something to learn from them.
    """
    values = raw.values
    if raw.family != "int" or raw.markers or len(values) < MIN_ROWS:
        return False
    if values[0] >= _FIRST_YEAR and values[-1] <= _LAST_YEAR:
        return False
    ascends = bool((values[1:] > values[:-1]).all())
    return ascends and int(values[-1]) - int(values[0]) == len(values) - 1


def _infer_text(raw: RawColumn) -> Kind:
    levels = raw.levels
    if _is_free_text(raw):
        raise _free_text(raw)
    if are_few_texts(len(levels), len(raw.seen)):
        return Kind.CATEGORY
    if names_an_identifier(raw.name) and _share_distinct(raw) > _NEARLY_ALL:
        return Kind.IDENTIFIER
    if are_dates(levels):
        raise _written_out(raw, "dates", f"pd.to_datetime({call(raw.name)})")
    if are_numbers(levels):
        raise _written_out(raw, "numbers", f"pd.to_numeric({call(raw.name)})")
    if len(levels) == len(raw.seen) and len(raw.seen) >= MIN_ROWS:
        # A string that never comes back cannot be learned, and may name a person.
        return Kind.IDENTIFIER
    return Kind.CATEGORY


def _infer_other(raw: RawColumn) -> Kind:
    few = len(raw.levels) <= MAX_FEW_VALUES or _is_met_often(raw)
    if few:
        return Kind.CATEGORY
    example = raw.levels[0]
    raise refuse(
        raw.name,
        f"holds {len(raw.levels)} different Python objects such as {quote(example)}",
        "Convert it with pd.to_datetime or astype(float), or name it an identifier: "
        f"kinds={{{raw.name!r}: 'identifier'}}",
    )


def _share_distinct(raw: RawColumn) -> float:
    return len(raw.distinct) / len(raw.seen)


def _is_free_text(raw: RawColumn) -> bool:
    """Whether people wrote what came to their mind, some of it time and again.

    Answers to choose from, and terms of a trade, may be as long, but these come back.
    """
    if _share_distinct(raw) > _MOSTLY and are_sentences(raw.levels):
        return True
    seldom = len(raw.levels) > 2 * MAX_FEW_VALUES and not _is_met_often(raw)
    return seldom and have_sentences(raw.levels)


def _free_text(raw: RawColumn) -> Exception:
    rows = np.flatnonzero(raw.present).tolist()
    row = next((r for r in rows if _is_sentence(raw.levels[raw.values[r]])), rows[0])
    return refuse(
        raw.name,
        f"looks like free text, such as {quote(raw.levels[raw.values[row]])} "
        f"(row {row})",
        "It cannot be generated. Drop it, or keep it for real rows only: "
        f"kinds={{{raw.name!r}: 'identifier'}}; 'category' if these are answers to "
        "choose from",
        "It cannot be generated. Keep it for real rows only: "
        f"{told('--ignore', raw.name)}; if these are answers to choose from: "
        f"{told('--kind', raw.name, 'category')}",
    )


def _written_out(raw: RawColumn, what: str, fix: str) -> Exception:
    row = int(np.flatnonzero(raw.present)[0])
    return refuse(
        raw.name,
        f"holds {what} written as text, such as "
        f"{quote(raw.levels[raw.values[row]])} (row {row})",
        f"Convert it: {fix}, or name it: kinds={{{raw.name!r}: 'category'}}",
        f"Write all of its cells in one way, or take them for words: "
        f"{told('--kind', raw.name, 'category')}",
    )


# ---- The user's word on the kind of a column, checked against what the column holds.


_ORDERED = "ordered category"
_NAMES = [*(kind.value for kind in Kind), _ORDERED]

_CLAIMS: dict[Kind, tuple[Callable[[RawColumn], bool], str, str]] = {
    Kind.CONTINUOUS: (
        lambda raw: raw.family == "float",
        "its values are not floats",
        "Use 'integer', or convert it: {call}.astype(float)",
    ),
    Kind.INTEGER: (
        lambda raw: raw.is_whole,
        "not every value is a whole number",
        "Use 'continuous', or round it: {call}.round()",
    ),
    Kind.DATETIME: (
        lambda raw: raw.family == "time",
        "its values are not times",
        "Convert it: pd.to_datetime({call})",
    ),
    Kind.BOOLEAN: (
        lambda raw: len(raw.distinct) <= 2,
        "it has more than two values",
        "Use 'category'",
    ),
    Kind.CONSTANT: (
        lambda raw: len(raw.distinct) == 1 and not raw.markers,
        "it has more than one value, or holes",
        "Drop it, or leave its kind to be inferred",
    ),
}
_OPTIONS = {
    Kind.CONTINUOUS: "Try --kind {name}=integer, or leave out its kind",
    Kind.INTEGER: "Try --kind {name}=continuous, or leave out its kind",
    Kind.DATETIME: "Say how its dates are written: --date-format {name}=%d.%m.%Y",
    Kind.BOOLEAN: "Try --kind {name}=category",
    Kind.CONSTANT: "Leave out its kind",
}
"""The same fixes on the command line."""


def check_names(
    kinds: Mapping[Hashable, Kind | str], names: list[Hashable], target: Hashable
) -> list[Problem]:
    """Return a problem for each override of a column that is not a feature."""
    if not isinstance(kinds, Mapping):
        raise bad_setting(
            "kinds", kinds, "be a dict", "Try kinds={'column': 'category'}."
        )
    problems = []
    known_names = set(names)
    for name, kind in kinds.items():
        if name == target and name not in known_names:
            fix = "It cannot be ignored, and its kind follows from the task"
            problems.append(Problem(str(name), "is the target, named in kinds=", fix))
        elif name not in known_names:
            known = ", ".join(map(str, names[:8]))
            fix = f"Columns are: {known}{', ...' if len(names) > 8 else ''}"
            problems.append(
                Problem(str(name), "is named in kinds= but not in the table", fix)
            )
        elif not isinstance(kind, Kind) and kind not in _NAMES:
            fix = f"Use one of: {', '.join(_NAMES)}"
            problems.append(Problem(str(name), f"kind {kind!r} is unknown", fix))
    return problems


def choose_kind(raw: RawColumn, wanted: Kind | str | None) -> tuple[Kind, bool]:
    """Return the kind of a column and whether its levels have an order."""
    if not isinstance(wanted, Kind) and wanted not in _NAMES:
        # None was asked for, or something unknown that check_names has reported.
        kind = infer_kind(raw)
        return kind, raw.ordered or _is_scale(raw, kind)
    kind = Kind.CATEGORY if wanted == _ORDERED else Kind(wanted)
    if kind is not Kind.IDENTIFIER or not raw.present.any():
        # Of what is not learned any value will do.
        check_values(raw)
    if kind in _CLAIMS:
        holds, reason, fix = _CLAIMS[kind]
        if not holds(raw):
            raise refuse(
                raw.name,
                f"cannot be {kind.value}: {reason}",
                _from_text(raw) or fix.format(call=call(raw.name)),
                _OPTIONS[kind].format(name=shlex.quote(str(raw.name))),
            )
    return kind, wanted == _ORDERED or raw.ordered or _is_scale(raw, kind)


def _from_text(raw: RawColumn) -> str | None:
    """Return how to read a column of texts such as 12.5% or 31.01.2020."""
    writing = read_writing(raw.levels) if raw.family == "text" else None
    if writing is None:
        return None
    code = writing.code.format(call(raw.name))
    return f"It holds {writing.what} as text. Convert it: {call(raw.name)} = {code}"


def _is_scale(raw: RawColumn, kind: Kind) -> bool:
    """Whether levels are numbers: three or more of them have an order by nature."""
    numbers = raw.family in ("int", "float", "time")
    return kind is Kind.CATEGORY and numbers and len(raw.distinct) > 2


# ---- What strings and names give away: identifiers, free text, numbers and dates.
#
# Numbers and times can be written in ways that nobody can read without guessing: is
# 03/04/2020 in March or in April? They are recognised, to be told, and never converted.


_ID_WORDS = {"id", "ids", "uuid", "guid", "index", "rowid", "rownumber", "rownum"}
_NAME_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_NUMBER = re.compile(r"\s*[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?\s*")
_PADDED = re.compile(r"0\d")
_DATE = re.compile(r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([ T].*)?")

_TEXT_WORDS = 4.0
_TEXT_CHARACTERS = 20.0
_WORD = re.compile(r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*")
_SENTENCE_SHARE = 0.2
"""Of different strings: from so many sentences on, the short ones are remarks too."""

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
_WRITTEN_ALIKE = 0.9
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


def have_sentences(levels: Sequence[str]) -> bool:
    """Whether a good part of some strings are sentences: four words or more.

    Numbers are no words, so that codes and doses are not taken for prose.

    Examples
    --------
    >>> have_sentences(["ok", "great 7", "too small for me"])
    True
    >>> have_sentences(["Boeing 737 800 2", "Airbus A 320 200"])
    False
    """
    n_sentences = sum(map(_is_sentence, levels))
    return n_sentences >= _SENTENCE_SHARE * len(levels)


def _is_sentence(text: str) -> bool:
    return len(_WORD.findall(text)) >= _TEXT_WORDS


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
        matches = {
            sign: _alike(form.format(number=number, currency=_CURRENCY), cells)
            for sign, number in ((".", _POINT), (",", _COMMA))
        }
        signs = [sign for sign, alike in matches.items() if alike]
        if signs:
            sign = signs[0] if len(signs) == 1 else _decimal_sign(what, cells)
            return Writing(what, matches[sign][0], _number_code(sign))
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
    alike = [match for match in map(_DAY.fullmatch, cells) if match and _is_day(match)]
    if len(alike) < _WRITTEN_ALIKE * len(cells):
        return None
    _, sign, _, year, clock = alike[0].groups()
    what = "dates with the year last"
    is_month_first = any(int(match[3]) > 12 for match in alike)
    if clock:
        order = "" if is_month_first else ", dayfirst=True"
        return Writing(what, alike[0][0], f"pd.to_datetime({{}}{order})")
    last = "%Y" if len(year) == 4 else "%y"
    day_first, month_first = (
        f"'{sign.join((*order, last))}'" for order in (("%d", "%m"), ("%m", "%d"))
    )
    if is_month_first:
        return Writing(what, alike[0][0], f"pd.to_datetime({{}}, format={month_first})")
    doubt = "" if any(int(match[1]) > 12 for match in alike) else f" (or {month_first})"
    code = f"pd.to_datetime({{}}, format={day_first}){doubt}"
    return Writing(what, alike[0][0], code)


def _is_day(match: re.Match[str]) -> bool:
    """Whether three numbers can be a date; 1.2.10 is rather a version."""
    first, second = sorted((int(match[1]), int(match[3])))
    has_long_year = len(match[4]) == 4 or match[2] == "/"
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
    matches = [cell for cell in cells if form.fullmatch(cell)]
    return matches if len(matches) >= _WRITTEN_ALIKE * len(cells) else []
