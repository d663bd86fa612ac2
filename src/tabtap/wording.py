"""Numbers, times and dates as people read them.

On a page a gain has two significant digits, a score as many decimals as its gain needs
to be seen, and what is promised is rounded down: a page must not claim more than the
check.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Collection, Sequence

# ---- In plain signs, for terminals, files and messages.


def plain(text: str) -> str:
    r"""Return text without what could steer a terminal or turn its letters round.

    Examples
    --------
    >>> plain("a\x1b[31mb")
    'a?[31mb'
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else "?" for c in text)


def set_aside_note(n_rows: int, target: object = None) -> str:
    """Return what is done with rows that have no label."""
    where = "" if target is None else f" in {str(target)!r}"
    return (
        f"{counted(n_rows, 'row')} without a label{where} set aside: not learned, and "
        "given back in place as they were."
    )


def counted(number: int, noun: str) -> str:
    """Return a number with its noun in the right form.

    Examples
    --------
    >>> counted(1, "row"), counted(3000, "row")
    ('1 row', '3000 rows')
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def plain_percent(share: float) -> str:
    """Return a share in percent, with the digits that it has.

    Examples
    --------
    >>> plain_percent(0.95), plain_percent(0.96667)
    ('95 %', '96.67 %')
    """
    return f"{100 * share:.4g} %"


def time_words(seconds: float) -> str:
    """Return a time as people say it.

    Examples
    --------
    >>> time_words(7.2), time_words(100), time_words(7400)
    ('7 s', '1 min 40 s', '2 h 3 min')
    """
    whole = round(seconds)
    hours, minutes = whole // 3600, whole % 3600 // 60
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {whole % 60} s" if minutes else f"{whole} s"


def listed(parts: list[str]) -> str:
    """Return texts as people enumerate them.

    Examples
    --------
    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


def capital(sentence: str) -> str:
    """Return a sentence with its first letter in upper case."""
    return sentence[:1].upper() + sentence[1:]


_LEARNERS = {
    "linear": "a linear model",
    "neighbors": "nearest neighbours",
    "forest": "a random forest",
    "boosting": "boosting",
    "small_leaves": "boosting with small leaves (min_samples_leaf=5)",
    "network": "a small neural network",
    "lightgbm": "LightGBM",
    "xgboost": "XGBoost",
    "panel": "the usual learners",
}
_LINEAR = {"classification": "logistic regression", "regression": "ridge regression"}


def learner_words(name: str, task: str = "") -> str:
    """Return a learner as people call it, to go into a sentence.

    Examples
    --------
    >>> learner_words("forest"), learner_words("linear", "regression")
    ('a random forest', 'ridge regression')
    """
    if name == "linear" and task in _LINEAR:
        return _LINEAR[task]
    return _LEARNERS.get(name, name)


# ---- For a page, which has narrow spaces and a true minus sign.


THIN = "\u202f"
"""Narrow space that no line is broken at: between thousands, and before a unit."""

TIED = "\u00a0"
"""Space that no line is broken at."""

MINUS = "\u2212"
_POWERS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


def count(number: int) -> str:
    """Return a whole number with its thousands apart.

    Examples
    --------
    >>> count(2560).replace(THIN, " ")
    '2 560'
    """
    return _with_page_signs(f"{number:,}")


def count_of(number: int, noun: str) -> str:
    """Return the same with its noun in the right form.

    Examples
    --------
    >>> count_of(1, "row"), count_of(3, "row")
    ('1 row', '3 rows')
    """
    return f"{count(number)} {noun}" if number == 1 else f"{count(number)} {noun}s"


def percent(share: float) -> str:
    """Return a share in percent, with a decimal where it matters.

    Examples
    --------
    >>> [percent(x).replace(THIN, " ") for x in (0.9, 0.96667, 0.004, 0.0, 1.0)]
    ['90 %', '96.7 %', '0.4 %', '0 %', '100 %']
    """
    if not math.isfinite(share):
        return "unknown"
    text = f"{100 * share:.1f}".removesuffix(".0")
    return f"{text}{THIN}%"


def score(value: float, gain: float = 0.1) -> str:
    """Return a score with as many decimals as a gain needs to be seen in it.

    Examples
    --------
    >>> score(0.8213, 0.036), score(0.97746, 0.0069), score(-36214598.7, 5e5)
    ('0.82', '0.977', '\u221236\u202f214\u202f599')
    """
    small = value and abs(value) < 0.01  # an error in the target's own unit
    return _plain(value, min(_decimals(gain, digits=1), 12 if small else 3))


def gain(difference: float) -> str:
    """Return a difference with its sign and two significant digits.

    Examples
    --------
    >>> gain(0.0362), gain(-0.00692), gain(-0.00028), gain(0.0)
    ('+0.036', '\u22120.0069', '\u22120.0003', '0.00')
    """
    text = _plain(difference, _decimals(difference, digits=2))
    return f"+{text}" if difference > 0 else text


def size(difference: float) -> str:
    """Return the same without a plus sign, for what is called a gain or an error."""
    return gain(difference).lstrip("+")


def at_least(bound: float) -> str:
    """Return a lower bound, rounded down.

    Examples
    --------
    >>> at_least(0.01459), at_least(-0.0011), at_least(0.00029), at_least(0.0)
    ('0.014', '\u22120.0011', '0.0002', '0.00')
    """
    if not math.isfinite(bound):
        return "unknown"
    decimals = _decimals(bound, digits=2)
    unit = 10.0**-decimals
    # The quotient may fall a hair short of the whole number that it is.
    down = math.floor(round(bound / unit, 6)) * unit
    return _plain(down if down or not bound else bound, decimals)


def marks(edges: Sequence[float]) -> list[str]:
    """Return the ends of ranges, with as few digits as tell them apart.

    Examples
    --------
    >>> marks([0.5, 2.25, 3756.6]), marks([-0.0011, -0.00105])
    (['0.5', '2.25', '3757'], ['\u22120.0011', '\u22120.00105'])
    """
    for digits in range(4, 17):
        texts = [f"{edge:.{digits}g}" for edge in edges]
        if len({float(text) for text in texts}) == len(set(edges)):
            break
    return [
        _with_page_signs(f"{value:,.0f}" if 1e4 <= abs(value) < 1e7 else text)
        for value, text in zip(map(float, texts), texts, strict=True)
    ]


def number_text(value: float, power: int = 0, digits: int = 3) -> str:
    """Return a number with a few significant digits.

    Examples
    --------
    >>> number_text(0.12345), number_text(-4.0), number_text(1234567.0)
    ('0.123', '\u22124', '1.23·10⁶')
    >>> number_text(12345.6).replace(THIN, " "), number_text(2.0, power=200)
    ('12 346', '2·10²⁰⁰')
    """
    if not math.isfinite(value):
        return "none"
    if value == 0:
        return "0"
    size = math.floor(math.log10(abs(value)))
    if power or not -4 <= size < 6:
        return _scientific(value, size, power, digits)
    text = f"{value:,.{max(0, digits - 1 - size)}f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return _with_page_signs(text)


def tick_texts(ticks: Collection[float], power: int = 0) -> list[str]:
    """Return the numbers of an axis, with digits enough to tell them apart."""
    for digits in range(2, 18):
        texts = [number_text(float(tick), power, digits) for tick in ticks]
        exact = all(
            math.isclose(float(f"{tick:.{digits}g}"), tick, rel_tol=1e-9, abs_tol=1e-12)
            for tick in ticks
        )
        if exact and len(set(texts)) == len(texts):
            return texts
    return texts


def date_text(days: float) -> str:
    """Return a time, given in days since 1970, as its date; with hours if it has any.

    Examples
    --------
    >>> date_text(0.0), date_text(18262.25)
    ('1970-01-01', '2020-01-01 06:00')
    """
    if not math.isfinite(days):
        return "none"
    minutes = round(days * 1440)
    moment = dt.datetime(1970, 1, 1) + dt.timedelta(minutes=minutes)
    return moment.strftime("%Y-%m-%d" if minutes % 1440 == 0 else "%Y-%m-%d %H:%M")


def seconds(time: float) -> str:
    """Return a time in the units that people use.

    Examples
    --------
    >>> [seconds(t).replace(THIN, " ") for t in (0.16, 12.4, 75, 7500)]
    ['0.2 s', '12 s', '1 min 15 s', '2 h 5 min']
    """
    if time < 10:
        return f"{time:.1f}{THIN}s"
    return re.sub(r"(?<=\d) ", THIN, time_words(time))


def _decimals(difference: float, *, digits: int) -> int:
    if not math.isfinite(difference) or not difference:
        return 2
    size = abs(difference)
    wanted = digits - 1 - math.floor(math.log10(size))
    if size >= 100:
        return 0
    # Four decimals are the most that anyone reads, if they show anything at all.
    return max(2, min(wanted, 4) if size >= 1e-4 else wanted)


def _plain(value: float, decimals: int) -> str:
    if not math.isfinite(value):
        return "unknown"
    if value and not 1e-5 <= abs(value) < 1e12:
        return _with_page_signs(f"{value:.3g}")
    text = f"{value:,.{decimals}f}"
    # Not "-0.00": a change too small to be seen has no direction.
    return _with_page_signs(text if text.strip("-0.") else text.lstrip("-"))


def _scientific(value: float, size: int, power: int, digits: int) -> str:
    mantissa = f"{value / 10.0**size:.{digits - 1}f}"
    if mantissa.lstrip("-").startswith("10"):
        mantissa, size = f"{value / 10.0 ** (size + 1):.{digits - 1}f}", size + 1
    if "." in mantissa:
        mantissa = mantissa.rstrip("0").rstrip(".")
    exponent = str(size + power).translate(_POWERS)
    return _with_page_signs(f"{mantissa}·10{exponent}")


def _with_page_signs(text: str) -> str:
    return text.replace(",", THIN).replace("-", MINUS)
