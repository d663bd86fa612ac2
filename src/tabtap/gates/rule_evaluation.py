"""What a rule says of each row: columns as values, compared by walking its tree.

Logic has three values.  A comparison with a hole is neither true nor false but not
known, and only what is certainly false breaks a rule: a row breaks it if it would
whatever stood in its holes.  ``is missing`` is always known.
"""

from __future__ import annotations

import ast
import datetime as dt
import numbers
import operator
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tabtap.gates.rule_language import ParsedRule, RuleText
from tabtap.table.cells import decode
from tabtap.table.schema import (
    PER_DAY,
    BoolArray,
    Column,
    IntArray,
    family,
    number_name,
    time_unit,
    time_zone,
)
from tabtap.table.table import Table

_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: np.divide,
}
_EXTREMES: dict[str, Callable[[Any, Any], Any]] = {
    "min": np.minimum,
    "max": np.maximum,
}
_DAY = np.timedelta64(1, "D")
_ALWAYS = np.ones((), dtype=np.bool_)


@dataclass(frozen=True, slots=True, eq=False)
class RuleRows:
    """Rows to be judged, the real rows beside them, and columns read so far."""

    rows: Table
    real: Table
    read: dict[str, Value] = field(default_factory=dict)

    def column(self, name: str) -> Value:
        """Return a column as the user knows it; a KeyError if there is none."""
        if name not in self.read:
            self.read[name] = column_values(*find_column(self.rows, name))
        return self.read[name]

    def names(self) -> list[Hashable]:
        """Return every name that a rule may use."""
        schema = self.rows.schema
        target = [] if schema.target is None else [schema.target.column.name]
        return [*(column.name for column in schema.features), *target]


def rule_holds(rule: ParsedRule, rows: RuleRows) -> BoolArray:
    """Return where a rule is not certainly broken, one verdict per row."""
    with np.errstate(all="ignore"):
        claim = _truths(rule.claim, rule.source, rows)
        broken = claim.denied
        if rule.condition is not None:
            broken = broken & _truths(rule.condition, rule.source, rows).certainly
    return np.broadcast_to(~broken, len(rows.rows)).copy()


def rule_applies(rule: ParsedRule, rows: RuleRows) -> BoolArray:
    """Return where the condition of an if-then rule is met; everywhere without one."""
    if rule.condition is None:
        return np.ones(len(rows.rows), dtype=np.bool_)
    with np.errstate(all="ignore"):
        met = _truths(rule.condition, rule.source, rows).certainly
    return np.broadcast_to(met, len(rows.rows)).copy()


def _truths(node: ast.expr, source: RuleText, rows: RuleRows) -> Truths:
    value = _value(node, source, rows)
    if not isinstance(value, Truths):
        problem = "this is neither true nor false"
        fix = "Compare it with something, such as: column > 0"
        raise source.error(source.span(node), problem, fix)
    return value


def _numbers(node: ast.expr, source: RuleText, rows: RuleRows) -> Numbers:
    return _as_numbers(_value(node, source, rows), node, source)


def _as_numbers(value: Value, node: ast.expr, source: RuleText) -> Numbers:
    if not isinstance(value, Numbers):
        problem = "only numbers can be calculated with"
        fix = (
            "The difference of two times is a number of days; other sums need numbers."
        )
        raise source.error(source.span(node), problem, fix)
    return value


def _value(node: ast.expr, source: RuleText, rows: RuleRows) -> Value:
    step = _STEPS.get(type(node))
    if step is None:
        fix = "A list stands after in: column in [1, 2, 3]"
        raise source.error(source.span(node), "a list cannot stand here", fix)
    return step(node, source, rows)


def _name(node: ast.Name, source: RuleText, rows: RuleRows) -> Value:
    try:
        return rows.column(node.id)
    except KeyError:
        raise source.unknown_column(node, rows.names()) from None


def _constant(node: ast.Constant, source: RuleText, rows: RuleRows) -> Value:  # noqa: ARG001
    value = node.value
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return Truths(np.array(value), _ALWAYS)
    small = isinstance(value, int) and abs(value) < 2**63
    return Numbers(np.array(value if small else float(value)), _ALWAYS)  # type: ignore[arg-type]


def _unary(node: ast.UnaryOp, source: RuleText, rows: RuleRows) -> Value:
    if isinstance(node.op, ast.Not):
        truth = _truths(node.operand, source, rows)
        return Truths(~truth.cells, truth.known)
    number = _numbers(node.operand, source, rows)
    if isinstance(node.op, ast.UAdd):
        return number
    return _finite(-_floats(number), number.known)


def _both(node: ast.BoolOp, source: RuleText, rows: RuleRows) -> Value:
    parts = [_truths(part, source, rows) for part in node.values]
    if isinstance(node.op, ast.And):
        return _all_of(parts)
    yes = reduce(np.logical_or, [part.certainly for part in parts])
    no = reduce(np.logical_and, [part.denied for part in parts])
    return Truths(yes, yes | no)


def _all_of(parts: list[Truths]) -> Truths:
    yes = reduce(np.logical_and, [part.certainly for part in parts])
    no = reduce(np.logical_or, [part.denied for part in parts])
    return Truths(yes, yes | no)


def _calculation(node: ast.BinOp, source: RuleText, rows: RuleRows) -> Value:
    left, right = (_value(side, source, rows) for side in (node.left, node.right))
    is_difference = isinstance(node.op, ast.Sub)
    if is_difference and isinstance(left, Times) and isinstance(right, Times):
        days = (left.cells - right.cells) / _DAY
        return _finite(days, left.known & right.known)
    first = _as_numbers(left, node.left, source)
    second = _as_numbers(right, node.right, source)
    result = _ARITHMETIC[type(node.op)](_floats(first), _floats(second))
    return _finite(result, first.known & second.known)


def _comparison(node: ast.Compare, source: RuleText, rows: RuleRows) -> Value:
    if isinstance(node.ops[0], (ast.Is, ast.IsNot)):
        known = _known(_value(node.left, source, rows))
        cells = known if isinstance(node.ops[0], ast.IsNot) else ~known
        return Truths(cells, _ALWAYS)
    sides = [node.left, *node.comparators]
    parts = [
        _compare_pair(left, sign, right, source, rows)
        for left, sign, right in zip(sides, node.ops, sides[1:], strict=False)
    ]
    return _all_of(parts)


def _compare_pair(
    left: ast.expr, sign: ast.cmpop, right: ast.expr, source: RuleText, rows: RuleRows
) -> Truths:
    items = right.elts if isinstance(right, (ast.List, ast.Tuple, ast.Set)) else None
    if isinstance(sign, (ast.In, ast.NotIn)) and items is not None:
        equal = [_compare_pair(left, ast.Eq(), item, source, rows) for item in items]
        cells = reduce(np.logical_or, [part.cells for part in equal])
        wanted = isinstance(sign, ast.In)
        return Truths(cells if wanted else ~cells, equal[0].known)
    values = _value(left, source, rows), _value(right, source, rows)
    try:
        return compare(values[0], type(sign), values[1])
    except CannotCompare as error:
        span = source.span(left)[0], source.span(right)[1]
        raise source.error(span, error.problem, error.fix) from None


def _call(node: ast.Call, source: RuleText, rows: RuleRows) -> Value:
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    if name == "combination":
        return _combination(node, source, rows)
    _check_count(node, name, source)
    if name == "round" and len(node.args) == 2:
        places = _digits(node.args[1], source)
        number = _numbers(node.args[0], source, rows)
        return _finite(np.round(_floats(number), places), number.known)
    parts = [_numbers(argument, source, rows) for argument in node.args]
    if name in _EXTREMES:
        result = reduce(_EXTREMES[name], [_floats(part) for part in parts])
    else:
        result = (np.abs if name == "abs" else np.round)(_floats(parts[0]))
    return _finite(result, reduce(np.logical_and, [part.known for part in parts]))


def _check_count(node: ast.Call, name: str, source: RuleText) -> None:
    least, most = {"abs": (1, 1), "round": (1, 2)}.get(name, (2, 100))
    if not least <= len(node.args) <= most:
        problem = f"{name} cannot take {len(node.args)} arguments"
        fix = "Write abs(a), round(a, 2), min(a, b) or max(a, b)."
        raise source.error(source.span(node), problem, fix)


def _digits(node: ast.expr, source: RuleText) -> int:
    value = getattr(node, "value", None)
    if type(value) is not int or not 0 <= value <= 15:
        problem = "round needs a number of decimal places"
        raise source.error(source.span(node), problem, "Write round(a, 2).")
    return value


def _combination(node: ast.Call, source: RuleText, rows: RuleRows) -> Truths:
    """Return whether the real rows have these values together."""
    if len(node.args) < 2 or not all(isinstance(arg, ast.Name) for arg in node.args):
        problem = "combination needs the names of two or more columns"
        raise source.error(
            source.span(node), problem, "Write combination(city, country)"
        )
    for argument in node.args:
        _value(argument, source, rows)  # refuses what is no column
    names = [argument.id for argument in node.args if isinstance(argument, ast.Name)]
    return occurs_together(rows.rows, rows.real, names)


def _known(value: Value) -> BoolArray:
    return _ALWAYS if isinstance(value, str) else value.known


def _floats(number: Numbers) -> NDArray[np.float64]:
    # 64-bit integers would wrap around without a word.
    return number.cells.astype(np.float64)


def _finite(result: NDArray[Any], known: BoolArray) -> Numbers:
    return Numbers(result, known & np.isfinite(result))


_STEPS: dict[type[ast.expr], Callable[[Any, RuleText, RuleRows], Value]] = {
    ast.Name: _name,
    ast.Constant: _constant,
    ast.UnaryOp: _unary,
    ast.BoolOp: _both,
    ast.BinOp: _calculation,
    ast.Compare: _comparison,
    ast.Call: _call,
}


# ---- Columns as a rule sees them: numbers, times, words and truths, each with its
# holes.
#
# Values are the decoded ones that the user knows: numbers on their grid, times as their
# zone counts them, levels by their own value.  A duration is a number of days.  Where a
# cell is a hole, or a result is not a finite number, nothing is *known*.


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """Integers or floats, or one number for all rows."""

    cells: NDArray[Any]
    known: BoolArray


@dataclass(frozen=True, slots=True, eq=False)
class Times:
    """Points in time, counted in UTC."""

    cells: NDArray[np.datetime64]
    known: BoolArray

    zone: str | None
    """Where a time that is written without an offset is meant."""


@dataclass(frozen=True, slots=True, eq=False)
class Words:
    """Levels of a category, by code."""

    codes: IntArray
    known: BoolArray
    levels: tuple[Any, ...]

    order: tuple[Any, ...] = ()
    """Every category from lowest to highest; empty if they have no order."""

    @property
    def values(self) -> NDArray[Any]:
        """The level of each row, as an object."""
        return _objects(self.levels)[self.codes]


@dataclass(frozen=True, slots=True, eq=False)
class Truths:
    """True, false, or not known."""

    cells: BoolArray
    known: BoolArray

    @property
    def certainly(self) -> BoolArray:
        """Where it is known to be true."""
        return self.cells & self.known

    @property
    def denied(self) -> BoolArray:
        """Where it is known to be false."""
        return ~self.cells & self.known


Value = Numbers | Times | Words | Truths | str
"""A string is text the user wrote; what it means depends on what it is compared to."""


def column_values(column: Column, cells: NDArray[Any], missing: NDArray[Any]) -> Value:
    """Return one column of a table as the user knows it."""
    known = missing == 0
    if family(column.dtype) == "time":
        return _counted_times(column, cells, missing)
    if column.kind.is_numeric:
        values, _ = decode(column, cells, missing)
        return Numbers(values, known & np.isfinite(values))
    # A code that no level has is refused by another gate; nothing is known of it.
    known = known & (cells >= 0) & (cells < len(column.levels))
    codes = np.where(known, cells, 0).astype(np.int64)
    if not column.levels:
        return Words(codes, known, ("",))
    return _from_levels(column, codes, known)


def find_column(table: Table, name: str) -> tuple[Column, NDArray[Any], NDArray[Any]]:
    """Return a feature or the target, its exact cells and holes, else ``KeyError``."""
    for index, column in enumerate(table.schema.features):
        if str(column.name) == name:
            return column, table.cells[index], table.missing[:, index]
    target = table.schema.target
    if target is None or str(target.column.name) != name:
        raise KeyError(name)
    return target.column, table.target, np.zeros(len(table), dtype=np.int8)


def occurs_together(rows: Table, real: Table, names: Sequence[str]) -> Truths:
    """Return whether some real row has the same values in these columns."""
    n_rows = len(rows)
    together = np.zeros(n_rows + len(real), dtype=np.int64)
    known = np.ones(n_rows + len(real), dtype=np.bool_)
    for name in names:
        pair = [find_column(table, name) for table in (rows, real)]
        cells = np.concatenate([cells for _, cells, _ in pair])
        known &= np.concatenate([missing == 0 for _, _, missing in pair])
        codes = np.unique(cells, return_inverse=True)[1].ravel()
        # Numbered anew each time, so that many columns do not overflow.
        pairs = together * (int(codes.max(initial=0)) + 1) + codes
        together = np.unique(pairs, return_inverse=True)[1].ravel()
    seen = together[n_rows:][known[n_rows:]]
    return Truths(np.isin(together[:n_rows], seen), known[:n_rows])


def parse_time(text: str, zone: str | None) -> np.datetime64:
    """Return a time written in ISO form, in UTC; anything else is a ``ValueError``.

    So is an offset where the column has no time zone.
    """
    written = dt.datetime.fromisoformat(text.strip().replace("Z", "+00:00"))
    stamp = pd.Timestamp(written)
    if stamp.tzinfo is None and zone is not None:
        stamp = stamp.tz_localize(zone, ambiguous=True, nonexistent="shift_forward")
    elif stamp.tzinfo is not None and zone is None:
        raise ValueError(text)
    if stamp.tzinfo is not None:
        stamp = stamp.tz_convert("UTC").tz_localize(None)
    moment: np.datetime64 = stamp.as_unit("us").to_datetime64()
    return moment


def _counted_times(
    column: Column, cells: NDArray[Any], missing: NDArray[Any]
) -> Numbers | Times:
    if column.levels:
        inside = (cells >= 0) & (cells < len(column.levels))
        missing = np.where(inside, missing, 1)
    counts, missing = decode(column, cells, missing)
    unit, known = time_unit(column.dtype), missing == 0
    if number_name(column.dtype) == "timedelta64":
        return Numbers(counts / PER_DAY[unit], known)
    times = np.asarray(counts, dtype=np.int64).view(f"M8[{unit}]")
    return Times(times, known, time_zone(column.dtype))


def _from_levels(column: Column, codes: IntArray, known: BoolArray) -> Value:
    levels = column.levels
    if all(isinstance(level, (bool, np.bool_)) for level in levels):
        return Truths(np.array(levels, dtype=np.bool_)[codes], known)
    if all(_is_number(level) for level in levels):
        return Numbers(np.array(levels)[codes], known)
    if all(isinstance(level, (dt.date, pd.Timestamp)) for level in levels):
        index = pd.DatetimeIndex(list(levels))
        zone = None if index.tz is None else str(index.tz)
        utc = index if index.tz is None else index.tz_convert("UTC").tz_localize(None)
        return Times(utc.to_numpy()[codes], known, zone)
    order = (column.categories or levels) if column.ordered else ()
    return Words(codes, known, levels, order)


def _is_number(level: object) -> bool:
    return isinstance(level, numbers.Real) and not isinstance(level, (bool, np.bool_))


def _objects(values: tuple[Any, ...]) -> NDArray[Any]:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


# ---- How two values of a rule are compared, and which cannot be.


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

    def __init__(self, problem: str, fix: str) -> None:
        self.problem = problem
        self.fix = fix
        super().__init__(problem)


def compare(left: Value, sign: type[ast.cmpop], right: Value) -> Truths:
    """Return the truth of a comparison for each row, not known where a side is not."""
    if isinstance(left, str) and not isinstance(right, str):
        return compare(right, _MIRRORED.get(sign, sign), left)
    if isinstance(left, str):
        raise CannotCompare(
            "this compares text with text", "Column names stand without quotes."
        )
    left, right = _truth_as_number(left, right), _truth_as_number(right, left)
    if isinstance(left, Words):
        return _compare_words(left, sign, right)
    if isinstance(left, Times) and isinstance(right, str):
        return Truths(_SIGNS[sign](left.cells, _moment(left, right)), left.known)
    if isinstance(right, (str, Words)) or type(left) is not type(right):
        raise _mismatch(left, right)
    return Truths(_SIGNS[sign](left.cells, right.cells), left.known & right.known)


def _truth_as_number(value: Value, other: Value) -> Value:
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
        problem = f"{text!r} is not a time as it is written here"
        raise CannotCompare(problem, f"{fix}{offset}.") from None
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
