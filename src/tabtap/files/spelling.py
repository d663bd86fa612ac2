"""Cells as people write them: money, percent, units, limits, pairs, day and month.

Only texts here; ``cells.py`` makes columns of them.  Where a column can be read in two
ways both are returned, and the rest of the file or its owner decides.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from tabtap.files.formats import Spelling

# ---- Numbers with something around them, or between their digits.


_CURRENCY = (
    "[A-Z]{0,3}[$\u20ac\u00a3\u00a5\u20b9\u20bd\u20a9\u20ba]|USD|EUR|GBP|CHF|JPY|CNY|INR"
    "|SEK|NOK|DKK|PLN|kr|z\u0142"
)
_BASE = (
    "[kmc\u00b5\u03bcund]?(?:g|m|l|L|s|V|W|Wh|Hz|mol|Pa|J|cal|Gy|Sv|M)|kcal|[MG]Hz|lbs?"
    "|oz|ft|in|mi|mph|min|hrs?|h|d|days|weeks|months|yrs?|years|bpm|mmHg|m?bar|m?IU|U"
    "|\u00b0[CF]?|[KC]|px|dB|mEq|ppm"
)
_UNIT = rf"(?:{_BASE})[23\u00b2\u00b3]?(?:/(?:{_BASE})[23\u00b2\u00b3]?)*"
_ANY_UNIT = (
    r"(?:x10\^?[0-9]{1,2}|[^\W\d_]|\u00b0)[^\W_]{0,8}"
    r"(?:[/^*\u00b7][^\W_][^\W_.^*\u00b7]{0,8}){0,3}"
)
_SUFFIX = re.compile(
    rf"|\s?[%\u2030]|\s?(?:{_CURRENCY})|\s?(?:{_UNIT})|\s(?:{_ANY_UNIT})"
)
_SPACES = " \u00a0\u202f"
_CELL = re.compile(
    r"(?P<limit>[<>\u2264\u2265]=?\s?)?(?P<outer>[+-]?)"
    rf"(?P<prefix>(?:{_CURRENCY})\s?)?(?P<inner>[+-]?)"
    rf"(?P<body>[0-9][0-9.,'\u2019{_SPACES}]*(?<=[0-9])|[.,][0-9]+)(?P<suffix>.*)"
)
_PADDED = re.compile(r"0[0-9]")
_MOST_LIMITS = 3
_USUAL = {"percentages": False, "money": True}
"""Whether a sign before three digits parts thousands where it could be either: nobody
has thousands of percent, or pays with three decimals."""


class Numbers(NamedTuple):
    """One way to read a column of written numbers."""

    texts: list[str]
    """Each as Python writes numbers."""

    decimal: str
    spelling: Spelling


class Written(NamedTuple):
    """What stands around the numbers of a column, and the ways to read them."""

    what: str
    """What they are, in the plural."""

    readings: tuple[Numbers, ...]
    """None if numbers with a unit stand beside such without, or with another."""


def read_written(cells: Sequence[str]) -> Written | None:
    """Return how cells can be read as numbers; None if one of them is no number.

    Examples
    --------
    >>> read_written(["$1,200.50", "$980.00"]).readings[0].texts
    ['1200.50', '980.00']
    >>> [reading.texts for reading in read_written(["1.156", "2.300"]).readings]
    [['1.156', '2.300'], ['1156', '2300']]
    """
    matches = []
    for cell in cells:
        match = match_written(cell)
        if match is None:
            return None
        matches.append(match)
    limits = Counter(match[0] for match in matches if match["limit"])
    if len(limits) > _MOST_LIMITS or 2 * limits.total() > len(cells):
        return None
    prefixes = {(match["prefix"] or "").strip() for match in matches}
    suffixes = {match["suffix"].strip() for match in matches}
    what = _what(prefixes, suffixes, bool(limits))
    if len(prefixes) > 1 or len(suffixes) > 1:
        units = suffixes - {""}
        known = all(re.fullmatch(_UNIT, unit) for unit in units)
        # House numbers are followed by words too: 12 Elm, 7 Oak.
        return Written(what, ()) if known or len(units) == 1 else None
    spelling = Spelling(
        prefix=_most(match["prefix"] or "" for match in matches),
        suffix=_most(match["suffix"] for match in matches),
        inner_sign=any(match["inner"] for match in matches if match["prefix"]),
    )
    readings = [_read_as(matches, sign, spelling) for sign in (".", ",")]
    distinct = {tuple(r.texts): r for r in reversed(readings) if r is not None}
    found = tuple(reversed(distinct.values()))
    if len(found) > 1 and what in _USUAL:
        found = tuple(r for r in found if bool(r.spelling.thousands) is _USUAL[what])
    return Written(what, found) if found else None


def match_written(cell: str) -> re.Match[str] | None:
    """Return the parts of a cell that may be a written number."""
    match = _CELL.fullmatch(cell)
    if match is None or not _SUFFIX.fullmatch(match["suffix"]):
        return None
    if (match["outer"] and match["inner"]) or _PADDED.match(match["body"]):
        return None
    return match


def write_number(text: str, decimal: str, spelling: Spelling) -> str:
    """Return a number of Python's as its column spells it."""
    if spelling.counted:
        return write_counted(int(text), spelling.counted)
    for limit, written in spelling.limits:
        if limit == float(text):
            return written
    sign = text[0] if text[0] in "+-" else ""
    whole, dot, rest = text[len(sign) :].partition(".")
    if spelling.thousands and whole.isdigit():
        whole = f"{int(whole):,}".replace(",", spelling.thousands)
    body = whole + (decimal + rest if dot else "")
    start = spelling.prefix + sign if spelling.inner_sign else sign + spelling.prefix
    return f"{start}{body}{spelling.suffix}"


def _read_as(
    matches: Sequence[re.Match[str]], decimal: str, spelling: Spelling
) -> Numbers | None:
    signs = {sign for match in matches for sign in match["body"] if not sign.isdigit()}
    others = signs - {decimal}
    if len(others) > 1:
        return None
    thousands = "".join(others)
    dot, between = re.escape(decimal), re.escape(thousands)
    form = rf"[0-9]+(?:{dot}[0-9]+)?|{dot}[0-9]+"
    if thousands:
        form = rf"[1-9][0-9]{{0,2}}(?:{between}[0-9]{{3}})+(?:{dot}[0-9]+)?|{form}"
    number = re.compile(form)
    if not all(number.fullmatch(match["body"]) for match in matches):
        return None
    texts = [
        match["outer"]
        + match["inner"]
        + match["body"].replace(thousands or " ", "").replace(decimal, ".")
        for match in matches
    ]
    limits = Counter(
        (float(text), match[0])
        for text, match in zip(texts, matches, strict=True)
        if match["limit"]
    )
    # Who uses a sign between thousands uses the other one for decimals.
    sign = {".": ",", ",": "."}.get(thousands, decimal)
    return Numbers(
        texts,
        sign,
        spelling._replace(thousands=thousands, limits=tuple(limits)),
    )


def _what(prefixes: set[str], suffixes: set[str], has_limits: bool) -> str:  # noqa: FBT001
    around = sorted((prefixes | suffixes) - {""})
    if len(prefixes) > 1 or len(suffixes) > 1:
        some = "and with none" if "" in suffixes and prefixes == {""} else ""
        return f"numbers with {' and '.join(map(repr, around))} {some}".strip()
    if suffixes <= {"%", "\u2030"}:
        return "percentages"
    if any(re.fullmatch(_CURRENCY, sign) for sign in around):
        return "money"
    if around:
        return f"numbers in {around[0]!r}"
    return "numbers with limits" if has_limits else "numbers"


def _most(texts: object) -> str:
    return str(Counter(texts).most_common(1)[0][0])  # type: ignore[call-overload]


# ---- Two numbers in one cell, such as a blood pressure of 120/80.


_PAIR = re.compile(r"([0-9]{1,3})(\s?/\s?)([0-9]{1,3})")
_LAST_DAY = 31


class Pairs(NamedTuple):
    """Two numbers in each cell."""

    first: list[str]
    second: list[str]
    joint: str
    could_be_dates: bool


def read_pairs(cells: Sequence[str]) -> Pairs | None:
    """Return the two numbers of every cell; None if one has others.

    Examples
    --------
    >>> read_pairs(["120/80", "95/60"]).first
    ['120', '95']
    """
    matches = [match for match in map(_PAIR.fullmatch, cells) if match]
    if len(matches) < len(cells) or len({match[2] for match in matches}) > 1:
        return None
    first = [match[1] for match in matches]
    second = [match[3] for match in matches]
    if any(map(_PADDED.match, (*first, *second))):
        return None
    largest = max(map(int, (*first, *second)))
    return Pairs(first, second, matches[0][2], largest <= _LAST_DAY)


# ---- Counts in two or three parts: 25:07 minutes, 5'11" feet and inches.


_COUNTED = {
    re.compile(r"([0-9]{1,3}):([0-5][0-9])"): ("%d:%02d", "%02d:%02d"),
    re.compile(r"([0-9]{1,3}):([0-5][0-9]):([0-5][0-9])"): (
        "%d:%02d:%02d",
        "%02d:%02d:%02d",
    ),
    re.compile("([0-9])' ?([0-9]{1,2})(?:\"|\u2033|\u201d)"): (
        "%d'%d\"",
        "%d' %d\"",
        "%d'%d\u2033",
        "%d'%d\u201d",
    ),
}


def read_counted(cells: Sequence[str]) -> tuple[list[str], str] | None:
    """Return counts of the smallest part, and their form; None if one is no count.

    Whether 25:07 is of hours or of minutes makes no difference: both count the same.

    Examples
    --------
    >>> read_counted(["25:07", "9:30"])
    (['1507', '570'], '%d:%02d')
    """
    for pattern, forms in _COUNTED.items():
        matches = [match for match in map(pattern.fullmatch, cells) if match]
        if len(matches) < len(cells) or not cells:
            continue
        parts = 12 if "'" in forms[0] else 60
        counts = []
        for match in matches:
            count = 0
            for part in match.groups():
                count = count * parts + int(part)
            counts.append(count)
        for form in forms:
            if all(
                write_counted(count, form) == cell
                for count, cell in zip(counts, cells, strict=True)
            ):
                return [str(count) for count in counts], form
    return None


def write_counted(count: int, form: str) -> str:
    """Return a count in parts, as ``read_counted`` found them written."""
    parts = 12 if "'" in form else 60
    found: list[int] = []
    count = max(count, 0)
    for _ in range(form.count("%") - 1):
        count, rest = divmod(count, parts)
        found.insert(0, rest)
    return form % (count, *found)


# ---- Dates with the year last, or in a form that was named.


MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov",
          "Dec")  # fmt: skip
_DIRECTIVES = {
    "d": "(?P<d>[0-9]{1,2})",
    "m": "(?P<m>[0-9]{1,2})",
    "Y": "(?P<Y>[0-9]{4})",
    "y": "(?P<y>[0-9]{2})",
    "b": f"(?P<b>{'|'.join(MONTHS)})",
    "H": "(?P<H>[0-9]{2})",
    "M": "(?P<M>[0-9]{2})",
    "S": "(?P<S>[0-9]{2})",
}
_DAY = re.compile(
    r"(?P<one>[0-9]{1,2})(?P<sign>[-/. ])(?P<two>[0-9]{1,2}|[A-Z][a-z]{2})(?P=sign)"
    r"(?P<year>[0-9]{4}|[0-9]{2})(?:(?P<joint>[ T])[0-9]{2}:[0-9]{2}(?P<s>:[0-9]{2})?)?"
)
_PIVOT = 69
"""Years of two digits from this one on are of the century before, as in POSIX."""


def date_formats(cell: str) -> list[str]:
    """Return the formats in which a cell may be a date with its year last.

    Day first comes first.  With dots no other order is in use.
    """
    found = _DAY.fullmatch(cell)
    if found is None:
        return []
    sign, year = found["sign"], "%Y" if len(found["year"]) == 4 else "%y"
    clock = ""
    if found["joint"]:
        clock = found["joint"] + ("%H:%M:%S" if found["s"] else "%H:%M")
    if not found["two"].isdigit():
        return [f"%d{sign}%b{sign}{year}{clock}"]
    orders = (("%d", "%m"),) if sign == "." else (("%d", "%m"), ("%m", "%d"))
    return [sign.join((*order, year)) + clock for order in orders if sign != " "]


def is_date_format(text: str) -> bool:
    """Whether a format has day, month and year once each, and nothing unknown."""
    found = re.findall("%(.)", text)
    once = len(found) == len(set(found)) and set(found) <= set(_DIRECTIVES)
    has_month, has_year = (sum(d in found for d in pair) == 1 for pair in ("mb", "Yy"))
    return once and "d" in found and has_month and has_year


def read_dates(cells: Sequence[str], format: str) -> tuple[list[str], bool] | None:
    """Return dates of a format as ISO texts, and whether all are padded; or None."""
    parts = re.split("%(.)", format)
    pattern = re.compile(
        "".join(
            _DIRECTIVES[part] if i % 2 else re.escape(part)
            for i, part in enumerate(parts)
        )
    )
    texts, padded = [], True
    for cell in cells:
        match = pattern.fullmatch(cell)
        if match is None:
            return None
        found = match.groupdict()
        month = found.get("m") or str(MONTHS.index(found["b"]) + 1)
        year = found.get("Y") or _full_year(found["y"])
        if not (1 <= int(month) <= 12 and 1 <= int(found["d"]) <= 31):
            return None
        padded &= len(found["d"]) == 2 and len(found.get("m", "00")) == 2
        clock = ":".join(found.get(part, "00") for part in "HMS")
        texts.append(f"{year}-{month:0>2}-{found['d']:0>2}T{clock}")
    return texts, padded


def write_date(iso: str, format: str, *, padded: bool) -> str:
    """Return a time of ISO in another format."""
    date, _, clock = iso.partition("T")
    year, month, day = date.split("-")
    hour, minute, second = (*clock.split(":"), "00", "00")[:3]
    if not padded:
        day = day.lstrip("0")
    values = {
        "d": day,
        "m": month if padded else month.lstrip("0"),
        "b": MONTHS[int(month) - 1],
        "Y": year,
        "y": year[-2:],
        "H": hour or "00",
        "M": minute,
        "S": second[:2],
    }
    return re.sub("%(.)", lambda found: values[found[1]], format)


def _full_year(short: str) -> str:
    return f"{'19' if int(short) >= _PIVOT else '20'}{short}"


# ---- Words that differ in spaces and capitals alone.


_LEAST_LETTERS = 3
"""AA, Aa and aa are three genotypes; male, Male and MALE are one sex."""


def _bare(cell: str) -> str:
    """Return a cell without stray spaces; a line break inside it is meant."""
    return re.sub(" {2,}", " ", cell.strip())


def one_spelling(cells: Sequence[str]) -> dict[str, str]:
    """Return the usual spelling of each cell that is written in another way too.

    Examples
    --------
    >>> one_spelling(["male", "Male", "male", "MALE ", "female"])
    {'Male': 'male', 'MALE ': 'male'}
    """
    variants: dict[str, Counter[str]] = {}
    for cell, count in Counter(cells).items():
        bare = _bare(cell)
        usual = bare in (bare.lower(), bare.upper(), bare.capitalize(), bare.title())
        key = bare.lower() if usual and len(bare) >= _LEAST_LETTERS else bare
        variants.setdefault(key, Counter())[cell] += count
    if 2 * len(variants) > len(cells):
        return {}  # names, not levels
    renamed: dict[str, str] = {}
    some_are_bare = any(cell == _bare(cell) for cell in cells)
    for spellings in variants.values():
        bare_counts: Counter[str] = Counter()
        for cell, count in spellings.items():
            bare_counts[_bare(cell)] += count
        usual_one = bare_counts.most_common(1)[0][0]
        comes_back = bare_counts.total() > 1
        if len(spellings) == 1 and not (some_are_bare and comes_back):
            continue  # who writes a space behind every word means it so
        renamed |= {cell: usual_one for cell in spellings if cell != usual_one}
    return renamed
