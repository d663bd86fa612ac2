"""Numbers and names as people read them.

A gain has two significant digits, a score as many decimals as its gain needs to be
seen, and what is promised is rounded down: a page must not claim more than the check.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tabtap.report.drawing import clean

THIN = "\u202f"
"""Narrow space that no line is broken at: between thousands, and before a unit."""

MINUS = "\u2212"
LONGEST_NAME = 60


def count(number: int) -> str:
    """Return a whole number with its thousands apart.

    Examples
    --------
    >>> count(2560).replace(THIN, " ")
    '2 560'
    """
    return f"{number:,}".replace(",", THIN).replace("-", MINUS)


def counted(number: int, noun: str) -> str:
    """Return a number with its noun in the right form.

    Examples
    --------
    >>> counted(1, "row"), counted(3, "row")
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
    return [_digits(float(text), text) for text in texts]


def seconds(time: float) -> str:
    """Return a time in the units that people use.

    Examples
    --------
    >>> [seconds(t).replace(THIN, " ") for t in (0.16, 12.4, 75, 7500)]
    ['0.2 s', '12 s', '1 min 15 s', '2 h 5 min']
    """
    if time < 10:
        return f"{time:.1f}{THIN}s"
    minutes, rest = divmod(round(time), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}{THIN}h {minutes}{THIN}min"
    return f"{minutes}{THIN}min {rest}{THIN}s" if minutes else f"{rest}{THIN}s"


def name(label: object) -> str:
    r"""Return a column's name or a level as text of bearable length.

    Examples
    --------
    >>> name("  two\nlines "), len(name("x" * 100))
    ('two lines', 60)
    """
    return clean(label, LONGEST_NAME) or repr(label)


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


def _decimals(difference: float, *, digits: int) -> int:
    if not math.isfinite(difference) or not difference:
        return 2
    size = abs(difference)
    wanted = digits - 1 - math.floor(math.log10(size))
    if size >= 100:
        return 0
    # Four decimals are the most that anyone reads, if they show anything at all.
    return max(2, min(wanted, 4) if size >= 1e-4 else wanted)


def _digits(value: float, text: str) -> str:
    if 1e4 <= abs(value) < 1e7:
        text = f"{value:,.0f}".replace(",", THIN)
    return text.replace("-", MINUS)


def _plain(value: float, decimals: int) -> str:
    if not math.isfinite(value):
        return "unknown"
    if value and not 1e-5 <= abs(value) < 1e12:
        return f"{value:.3g}".replace("-", MINUS)
    text = f"{value:,.{decimals}f}".replace(",", THIN)
    # Not "-0.00": a change too small to be seen has no direction.
    if float(text.replace(THIN, "")) == 0:
        text = text.lstrip("-")
    return text.replace("-", MINUS)
