"""How two values of a rule are compared, and which cannot be."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabtap.gates.rule_values import Numbers, Times, Truths, Value, Words, parse_time

_SIGNS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_MIRRORED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.Gt,
    ast.LtE: ast.GtE,
    ast.Gt: ast.Lt,
    ast.GtE: ast.LtE,
}
_SORTS = {Numbers: "numbers", Times: "times", Words: "text", Truths: "true or false"}


class CannotCompare(Exception):
    """Two values that have nothing in common, on the way to the user's sentence."""

    def __init__(self, found: str, fix: str) -> None:
        self.found = found
        self.fix = fix
        super().__init__(found)


def compare(left: Value, sign: type[ast.cmpop], right: Value) -> Truths:
    """Return the truth of a comparison for each row, not known where a side is not."""
    if isinstance(left, str) and not isinstance(right, str):
        return compare(right, _MIRRORED.get(sign, sign), left)
    if isinstance(left, str):
        raise CannotCompare(
            "this compares text with text", "Column names stand without quotes."
        )
    left, right = _as_numbers(left, right), _as_numbers(right, left)
    if isinstance(left, Words):
        return _compare_words(left, sign, right)
    if isinstance(left, Times) and isinstance(right, str):
        return Truths(_SIGNS[sign](left.cells, _moment(left, right)), left.known)
    if isinstance(right, (str, Words)) or type(left) is not type(right):
        raise _mismatch(left, right)
    return Truths(_SIGNS[sign](left.cells, right.cells), left.known & right.known)


def _as_numbers(value: Value, other: Value) -> Value:
    """Return a truth as 0 or 1 where it is compared with numbers."""
    if isinstance(value, Truths) and isinstance(other, Numbers):
        return Numbers(value.cells.astype(np.int64), value.known)
    return value


def _compare_words(words: Words, sign: type[ast.cmpop], other: Value) -> Truths:
    is_equality = sign in (ast.Eq, ast.NotEq)
    if isinstance(other, Words) and is_equality:
        same = np.asarray(words.values == other.values, dtype=np.bool_)
        cells = same if sign is ast.Eq else ~same
        return Truths(cells, words.known & other.known)
    if not isinstance(other, str):
        if isinstance(other, Words):
            fix = "Compare text with == or !=."
            raise CannotCompare("text has no order between columns", fix)
        raise _mismatch(words, other)
    if is_equality:
        per_level: NDArray[Any] = np.array([level == other for level in words.levels])
        per_level = per_level if sign is ast.Eq else ~per_level
    else:
        rank = _rank(words, other)
        ranks = np.array([words.order.index(level) for level in words.levels])
        per_level = _SIGNS[sign](ranks, rank)
    return Truths(per_level[words.codes], words.known)


def _rank(words: Words, text: str) -> int:
    if not words.order:
        fix = "Use == or in [...]; only an ordered category knows less and more."
        raise CannotCompare("text has no order", fix)
    if text not in words.order:
        known = ", ".join(map(repr, words.order[:8]))
        raise CannotCompare(f"{text!r} is none of the categories", f"They are {known}.")
    return words.order.index(text)


def _moment(times: Times, text: str) -> np.datetime64:
    try:
        moment = parse_time(text, times.zone)
    except ValueError:
        fix = "Write it as '2024-12-31' or '2024-12-31 18:00'"
        offset = ", with an offset only if the column has one" * (times.zone is None)
        found = f"{text!r} is not a time as it is written here"
        raise CannotCompare(found, f"{fix}{offset}.") from None
    if np.datetime_data(times.cells.dtype)[0] == "ns":
        # Nanoseconds reach from 1677 to 2262; what is beyond becomes the end.
        low, high = np.array([-(2**63) + 1000, 2**63 - 1]).view("M8[ns]")
        moment = min(max(moment, low.astype("M8[us]")), high.astype("M8[us]"))
    return moment


def _mismatch(left: Value, right: Value) -> CannotCompare:
    if isinstance(right, str):
        fix = "Write numbers and True or False without quotes."
        return CannotCompare(f"{_sort(left)} cannot be compared with text", fix)
    fix = "Write text and times in quotes, numbers without."
    return CannotCompare(f"{_sort(left)} cannot be compared with {_sort(right)}", fix)


def _sort(value: Value) -> str:
    return "text" if isinstance(value, str) else _SORTS[type(value)]
