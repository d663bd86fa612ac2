"""What a rule says of each row, found by walking its tree over whole columns.

Logic has three values.  A comparison with a hole is neither true nor false but not
known, and only what is certainly false breaks a rule: a row breaks it if it would
whatever stood in its holes.  ``is missing`` is always known.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabtap.gates.rule_comparison import CannotCompare, compare
from tabtap.gates.rule_errors import RuleText
from tabtap.gates.rule_text import ParsedRule
from tabtap.gates.rule_values import (
    Numbers,
    Times,
    Truths,
    Value,
    column_values,
    find_column,
    occurs_together,
)
from tabtap.table.schema import BoolArray
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
    """Return where a rule is not certainly broken, one verdict per row.

    Raises
    ------
    UserInputError
        If the rule names a column that is not there, or compares what cannot be.
    """
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
        found = "this is neither true nor false"
        fix = "Compare it with something, such as: column > 0"
        raise source.error(source.span(node), found, fix)
    return value


def _numbers(node: ast.expr, source: RuleText, rows: RuleRows) -> Numbers:
    return _as_numbers(_value(node, source, rows), node, source)


def _as_numbers(value: Value, node: ast.expr, source: RuleText) -> Numbers:
    if not isinstance(value, Numbers):
        found = "only numbers can be calculated with"
        fix = (
            "The difference of two times is a number of days; other sums need numbers."
        )
        raise source.error(source.span(node), found, fix)
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
    except CannotCompare as problem:
        span = source.span(left)[0], source.span(right)[1]
        raise source.error(span, problem.found, problem.fix) from None


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
        found = f"{name} cannot take {len(node.args)} arguments"
        fix = "Write abs(a), round(a, 2), min(a, b) or max(a, b)."
        raise source.error(source.span(node), found, fix)


def _digits(node: ast.expr, source: RuleText) -> int:
    value = getattr(node, "value", None)
    if type(value) is not int or not 0 <= value <= 15:
        found = "round needs a number of decimal places"
        raise source.error(source.span(node), found, "Write round(a, 2).")
    return value


def _combination(node: ast.Call, source: RuleText, rows: RuleRows) -> Truths:
    """Return whether the real rows have these values together."""
    if len(node.args) < 2 or not all(isinstance(arg, ast.Name) for arg in node.args):
        found = "combination needs the names of two or more columns"
        raise source.error(source.span(node), found, "Write combination(city, country)")
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
