"""The user's rules as a gate: the forms they come in, and what real rows say to them.

A row breaks a rule only if it does so whatever stands in its holes; rules about holes
say ``is missing``.  Rules see the values as the user does, after rounding.
"""

from __future__ import annotations

import datetime as dt
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np

from tabtap.domain import GateContext
from tabtap.errors import (
    FileFormatError,
    RuleBrokenWarning,
    RuleIdleWarning,
    UserInputError,
)
from tabtap.gates.rule_evaluation import RuleRows, rule_applies, rule_holds
from tabtap.gates.rule_language import ParsedRule, parse_rule
from tabtap.table.frame import write_frame
from tabtap.table.schema import BoolArray, IntArray
from tabtap.table.table import Table
from tabtap.wording import counted

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


_SHOWN_ROWS = 5


@dataclass(frozen=True, slots=True)
class BrokenRule:
    """A rule that some real rows break."""

    name: str
    n_rows: int

    first_rows: tuple[int, ...]
    """Numbers of the first of them, counted from 0."""

    def __str__(self) -> str:
        """Return one line for a report."""
        listed = ", ".join(map(str, self.first_rows))
        more = ", ..." if self.n_rows > len(self.first_rows) else ""
        return f"{self.name}: {counted(self.n_rows, 'row')} ({listed}{more})"


@dataclass(frozen=True, slots=True)
class RuleReport:
    """What the real rows say to the rules."""

    broken: tuple[BrokenRule, ...]

    idle: tuple[str, ...]
    """Rules whose condition no real row meets: a slip of the pen, or a rare case."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What must be true of every synthetic row, in the user's words.

    Notes
    -----
    The language of rules:

    - ``0 <= age <= 120``, ``start < end``, ``a + b == total``: comparisons, in chains
      too, of columns and numbers; ``+ - * /``, ``abs``, ``min``, ``max``, ``round``.
    - ``sex == "female"``, ``stage in ["I", "II"]``: text in quotes.  Text has an order
      only in an ordered category.
    - ``smoker``, ``not smoker``: columns that are true or false.
    - ``came >= "2024-06-30"``: times as ISO writes them, meant in the column's zone;
      ``left - came <= 30`` counts days, and durations are numbers of days.
    - ``and``, ``or``, ``not``, brackets; ``if ... then ...`` or ``... implies ...``.
    - ``age is missing``, ``age is not missing``.  What is compared with a hole is not
      known, and what is not known breaks no rule.
    - ``combination(city, country)``: values that some real row has together.
    - Names that are not single words stand in backticks.  The target has a name too.

    Examples
    --------
    >>> import pandas as pd
    >>> from tabtap.table import read_frame
    >>> frame = pd.DataFrame({"age": range(12), "born": ["home", "away"] * 6})
    >>> rules = Rules.of(["0 <= age <= 120", "if born == 'home' then age < 10"])
    >>> real = read_frame(frame, "born")
    >>> [(rule, rows.tolist()) for rule, rows in rules.violations(real)]
    [("if born == 'home' then age < 10", [10])]
    """

    rules: tuple[Rule, ...] = ()

    name: ClassVar[str] = "rules"

    def __len__(self) -> int:
        return len(self.rules)

    @classmethod
    def of(cls, forms: Iterable[RuleForm] | RuleForm | Rules | None) -> Rules:
        """Return the rules that some text, dicts and functions stand for.

        Parameters
        ----------
        forms : list of str, dict or callable; or one of them; or None
            A function is given the rows in the user's own container and returns one
            bool per row.

        Raises
        ------
        UserInputError
            If a rule cannot be read, or two have one name.
        """
        if isinstance(forms, Rules):
            return forms
        if forms is None:
            return cls()
        if isinstance(forms, (str, Mapping)) or callable(forms):
            forms = [forms]
        if not isinstance(forms, Iterable):
            raise UserInputError(
                f"rules={forms!r} is not usable: it must be a list of rules. "
                "Try rules=['age >= 18']."
            )
        rules = tuple(read_rule(form, n) for n, form in enumerate(forms, start=1))
        twice = [n for n, k in Counter(rule.name for rule in rules).items() if k > 1]
        if twice:
            raise UserInputError(
                f"Two rules are called {twice[0]!r}. Give each a name of its own."
            )
        return cls(rules)

    @classmethod
    def read(cls, path: str | Path) -> Rules:
        """Return the rules of a TOML file.

        Parameters
        ----------
        path : path of the file
            Each ``[[rule]]`` section has ``text``, or ``column`` with ``min``,
            ``max`` or ``one_of``, or ``combination``; and ``name`` if it is to be
            called otherwise than it reads.
        """
        return cls.of(read_rule_file(path))

    def passes(self, candidates: Table, context: GateContext) -> BoolArray:
        """Return whether a row breaks none of the rules."""
        rows = RuleRows(candidates, context.real)
        fine = np.ones(len(candidates), dtype=np.bool_)
        for rule in self.rules:
            fine &= rule.holds(rows)
        return fine

    def violations(self, real: Table) -> list[tuple[str, IntArray]]:
        """Return each rule that some rows break, with their numbers."""
        rows = RuleRows(real, real)
        pairs = [(rule.name, np.flatnonzero(~rule.holds(rows))) for rule in self.rules]
        return [(name, broken) for name, broken in pairs if len(broken)]

    def check_real(self, real: Table) -> RuleReport:
        """Hold the rules against the real rows, before anything runs.

        Returns
        -------
        RuleReport
            Also given as warnings, if there is anything in it.

        Raises
        ------
        UserInputError
            If a rule cannot be applied to this table, or no real row satisfies it:
            then no synthetic row would be let through either.

        Warns
        -----
        RuleBrokenWarning
            If some real rows break a rule.
        RuleIdleWarning
            If no real row meets the condition of an if-then rule.
        """
        broken = self.violations(real)
        hopeless = [name for name, rows in broken if len(rows) == len(real)]
        if hopeless:
            raise UserInputError(
                f"No real row satisfies the rule {hopeless[0]!r}, so every synthetic "
                "row would be refused. Correct the rule, or leave it out."
            )
        applied = [(r.name, r.applies(RuleRows(real, real)).any()) for r in self.rules]
        report = RuleReport(
            tuple(
                BrokenRule(name, len(rows), tuple(rows[:_SHOWN_ROWS].tolist()))
                for name, rows in broken
            ),
            tuple(name for name, ever in applied if not ever),
        )
        _warn(report)
        return report


def _warn(report: RuleReport) -> None:
    if report.broken:
        listed = "; ".join(map(str, report.broken))
        warnings.warn(
            f"Real rows break rules that synthetic rows must keep. {listed}. The real "
            "rows stay as they are; correct them or the rules if this is a mistake.",
            RuleBrokenWarning,
            stacklevel=3,
        )
    if report.idle:
        listed = "; ".join(report.idle)
        warnings.warn(
            f"No real row meets the condition of these rules: {listed}. Check how "
            "their values are written.",
            RuleIdleWarning,
            stacklevel=3,
        )


# ---- The forms in which a user may give a rule, each turned into one that can be
# asked.
#
# A rule is text, a dict as in a rule file, or a function of the rows.  Ranges, sets and
# combinations given as a dict become text, so there is one language and one evaluator.


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
        holds[shown] = self._check_answer(answer, len(shown))
        return holds

    def applies(self, rows: RuleRows) -> BoolArray:
        """Return every row: what a function demands cannot be seen."""
        return np.ones(len(rows.rows), dtype=np.bool_)

    def _check_answer(self, answer: Any, n_rows: int) -> BoolArray:  # noqa: ANN401
        cells = np.asarray(answer)
        got = f"{type(answer).__name__} of shape {cells.shape}, dtype {cells.dtype}"
        if cells.shape == (n_rows,) and cells.dtype == object:
            bools = [cell for cell in cells if isinstance(cell, (bool, np.bool_))]
            holes = sum(_is_missing(cell) for cell in cells)
            if len(bools) + holes == n_rows:
                cells = np.array([_is_missing(c) or bool(c) for c in cells])
        if cells.shape != (n_rows,) or cells.dtype != np.bool_:
            raise UserInputError(
                f"Rule {self.name!r} returned a {got}. It must return one bool per "
                f"row, here {n_rows} of them: write it with the columns as a whole, "
                "such as lambda rows: rows['a'] < rows['b']."
            )
        return cells


def read_rule(form: RuleForm, number: int) -> Rule:
    """Return the rule of a form; one without a name is called by ``number``, from 1."""
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
    text = _rule_text(form, str(given))
    return _text_rule(text, given if "name" in form else text)


def _rule_text(form: Mapping[str, Any], name: str) -> str:
    """Return a dict as the text of the rule that it stands for."""
    if "text" in form:
        if not isinstance(form["text"], str):
            got = type(form["text"]).__name__
            raise UserInputError(f"Rule {name!r} has a {got} as text. {_EXAMPLES}")
        return str(form["text"])
    if "combination" in form:
        columns = _check_list(form["combination"], name, "combination")
        return f"combination({', '.join(_column(each, name) for each in columns)})"
    column = _column(form["column"], name)
    claims = [
        f"{column} {sign} {_literal(form[key], name)}"
        for key, sign in (("min", ">="), ("max", "<="))
        if key in form
    ]
    if "one_of" in form:
        items = _check_list(form["one_of"], name, "one_of")
        claims.append(f"{column} in [{', '.join(_literal(i, name) for i in items)}]")
    return " and ".join(claims)


def _check_list(values: Any, name: str, key: str) -> Sequence[Any]:  # noqa: ANN401
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
    for index in table.schema.categorical:
        codes, n_levels = table.cells[index], len(table.schema.features[index].levels)
        known = (codes >= 0) & (codes < n_levels)
        fine &= known | (table.missing[:, index] > 0)
    return fine


def _is_missing(cell: object) -> bool:
    return cell is None or type(cell).__name__ == "NAType"


# ---- Rules from a TOML file.


_SHAPE = "A rule file is a list of [[rule]] sections, each with name and text."


def read_rule_file(path: str | Path) -> list[dict[str, Any]]:
    """Return the ``[[rule]]`` sections of a TOML file as dicts, in its order."""
    path = Path(path)
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        reason = error.strerror or error
        raise FileFormatError(
            f"Rule file {str(path)!r} cannot be read: {reason}."
        ) from None
    except UnicodeDecodeError:
        raise FileFormatError(
            f"Rule file {str(path)!r} is not UTF-8 text. Save it as UTF-8."
        ) from None
    # Also what is nested too deeply, or has numbers of thousands of digits.
    except (ValueError, RecursionError) as error:
        raise FileFormatError(
            f"Rule file {str(path)!r} is not TOML: {error}. {_SHAPE}"
        ) from None
    rules = content.get("rule")
    others = [key for key in content if key != "rule"]
    if others or not isinstance(rules, list) or not rules:
        problem = f"the key {others[0]!r}" if others else "no [[rule]] section"
        raise FileFormatError(f"Rule file {str(path)!r} has {problem}. {_SHAPE}")
    return rules
