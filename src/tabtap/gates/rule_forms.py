"""The forms in which a user may give a rule, each turned into one that can be asked.

A rule is text, a dict as in a rule file, or a function of the rows.  Ranges, sets and
combinations given as a dict become text, so there is one language and one evaluator.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from tabtap.errors import UserInputError
from tabtap.gates.rule_evaluation import RuleRows, rule_applies, rule_holds
from tabtap.gates.rule_text import ParsedRule, parse_rule
from tabtap.table.frame import write_frame
from tabtap.table.schema import BoolArray
from tabtap.table.table import Table

RuleForm = str | Mapping[str, Any] | Callable[[Any], Any]

_KEYS = ("name", "text", "column", "min", "max", "one_of", "combination")
_EXAMPLES = (
    "Use text = 'a < b', or column = 'age' with min, max or one_of, or "
    "combination = ['city', 'country']."
)


class Rule(Protocol):
    """Something that must be true of a row."""

    @property
    def name(self) -> str:
        """What it is called in messages and reports."""

    def holds(self, rows: RuleRows) -> BoolArray:
        """Return where it is not broken, one verdict per row."""

    def applies(self, rows: RuleRows) -> BoolArray:
        """Return the rows of which it demands anything."""


@dataclass(frozen=True, slots=True)
class TextRule:
    """A rule in the language of rules."""

    name: str
    text: str
    parsed: ParsedRule = field(repr=False, compare=False)

    def holds(self, rows: RuleRows) -> BoolArray:
        """Return where it is not certainly broken."""
        return rule_holds(self.parsed, rows)

    def applies(self, rows: RuleRows) -> BoolArray:
        """Return where the condition of an if-then rule is met."""
        return rule_applies(self.parsed, rows)


@dataclass(frozen=True, slots=True)
class FunctionRule:
    """A function of the rows as the user knows them, giving one bool per row."""

    name: str
    function: Callable[[Any], Any]

    def holds(self, rows: RuleRows) -> BoolArray:
        """Return what the function says; a missing answer does not break the rule."""
        holds = np.ones(len(rows.rows), dtype=np.bool_)
        # Rows that cannot be shown are refused by another gate.
        shown = np.flatnonzero(_can_be_written(rows.rows))
        if not len(shown):
            return holds
        frame = write_frame(rows.rows.take(shown))
        try:
            answer = self.function(frame)
        except Exception as error:
            raise UserInputError(
                f"Rule {self.name!r} raised {type(error).__name__}: {error}. It is "
                "called with the rows in the container you gave, without the target "
                "if that was given apart, and must return one bool per row."
            ) from error
        holds[shown] = self._checked(answer, len(shown))
        return holds

    def applies(self, rows: RuleRows) -> BoolArray:
        """Return every row: what a function demands cannot be seen."""
        return np.ones(len(rows.rows), dtype=np.bool_)

    def _checked(self, answer: Any, n_rows: int) -> BoolArray:  # noqa: ANN401
        cells = np.asarray(answer)
        got = f"{type(answer).__name__} of shape {cells.shape}, dtype {cells.dtype}"
        if cells.shape == (n_rows,) and cells.dtype == object:
            told = [cell for cell in cells if isinstance(cell, (bool, np.bool_))]
            holes = sum(_is_missing(cell) for cell in cells)
            if len(told) + holes == n_rows:
                cells = np.array([_is_missing(c) or bool(c) for c in cells])
        if cells.shape != (n_rows,) or cells.dtype != np.bool_:
            raise UserInputError(
                f"Rule {self.name!r} returned a {got}. It must return one bool per "
                f"row, here {n_rows} of them: write it with the columns as a whole, "
                "such as lambda rows: rows['a'] < rows['b']."
            )
        return cells


def read_rule(form: RuleForm, number: int) -> Rule:
    """Return the rule that one form stands for.

    Parameters
    ----------
    form : str, dict or callable
        Text, the keys of a rule file, or a function of the rows.
    number : int
        Its place among the rules, from 1, to name one that has no name.
    """
    if isinstance(form, str):
        return _text_rule(form, form.strip() or f"number {number}")
    if isinstance(form, Mapping):
        return _mapped_rule(form, number)
    if callable(form):
        name = getattr(form, "__name__", type(form).__name__)
        return FunctionRule(f"function {number}" if name == "<lambda>" else name, form)
    raise UserInputError(
        f"Rule number {number} is a {type(form).__name__}. Pass text, a dict as in a "
        "rule file, or a function of the rows."
    )


def _text_rule(text: str, name: str) -> TextRule:
    return TextRule(name, text, parse_rule(text, name))


def _mapped_rule(form: Mapping[str, Any], number: int) -> Rule:
    given = form.get("name", f"number {number}")
    unknown = [key for key in form if key not in _KEYS]
    if unknown:
        raise UserInputError(
            f"Rule {given!r} has the unknown key {unknown[0]!r}. {_EXAMPLES}"
        )
    whole = [key for key in ("text", "column", "combination") if key in form]
    bounds = [key for key in ("min", "max", "one_of") if key in form]
    if len(whole) != 1 or bool(bounds) != (whole == ["column"]):
        raise UserInputError(
            f"Rule {given!r} has the keys {', '.join(map(str, form))}, which do not "
            f"make a rule. {_EXAMPLES}"
        )
    if "name" in form and not (isinstance(given, str) and given.strip()):
        raise UserInputError(f"Rule number {number} has the name {given!r}. Use text.")
    text = _written(form, str(given))
    return _text_rule(text, given if "name" in form else text)


def _written(form: Mapping[str, Any], name: str) -> str:
    """Return a dict as the text of the rule that it stands for."""
    if "text" in form:
        if not isinstance(form["text"], str):
            got = type(form["text"]).__name__
            raise UserInputError(f"Rule {name!r} has a {got} as text. {_EXAMPLES}")
        return str(form["text"])
    if "combination" in form:
        columns = _listed(form["combination"], name, "combination")
        return f"combination({', '.join(_column(each, name) for each in columns)})"
    column = _column(form["column"], name)
    claims = [
        f"{column} {sign} {_literal(form[key], name)}"
        for key, sign in (("min", ">="), ("max", "<="))
        if key in form
    ]
    if "one_of" in form:
        items = _listed(form["one_of"], name, "one_of")
        claims.append(f"{column} in [{', '.join(_literal(i, name) for i in items)}]")
    return " and ".join(claims)


def _listed(values: Any, name: str, key: str) -> Sequence[Any]:  # noqa: ANN401
    if isinstance(values, str) or not isinstance(values, Sequence) or not values:
        raise UserInputError(
            f"Rule {name!r} has {key} = {values!r}. It must be a list that is not "
            f"empty. {_EXAMPLES}"
        )
    return values


def _column(column: Hashable, name: str) -> str:
    if "`" in str(column):
        raise UserInputError(
            f"Rule {name!r} names the column {column!r}, whose backtick rules cannot "
            "read. Rename the column, or pass a function as the rule."
        )
    return f"`{column}`"


def _literal(value: Any, name: str) -> str:  # noqa: ANN401
    if isinstance(value, (dt.date, dt.datetime)):
        return repr(value.isoformat())
    if isinstance(value, (bool, int, float, str)):
        return repr(value)
    got = type(value).__name__
    raise UserInputError(
        f"Rule {name!r} has the value {value!r}, a {got}. Use numbers, text, true, "
        "false or dates."
    )


def _can_be_written(table: Table) -> BoolArray:
    fine = np.ones(len(table), dtype=np.bool_)
    for place in table.schema.categorical:
        codes, n_levels = table.cells[place], len(table.schema.features[place].levels)
        known = (codes >= 0) & (codes < n_levels)
        fine &= known | (table.missing[:, place] > 0)
    return fine


def _is_missing(cell: object) -> bool:
    return cell is None or type(cell).__name__ == "NAType"
