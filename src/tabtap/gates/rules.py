"""The user's rules as a gate, and what the real rows have to say to them.

A row breaks a rule only if it does so whatever stands in its holes; rules about holes
say ``is missing``.  Rules see the values as the user does, after rounding.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from tabtap.domain import GateContext
from tabtap.errors import RuleBrokenWarning, RuleIdleWarning, UserInputError
from tabtap.gates.rule_evaluation import RuleRows
from tabtap.gates.rule_file import read_rule_file
from tabtap.gates.rule_forms import Rule, RuleForm, read_rule
from tabtap.table.schema import BoolArray, IntArray
from tabtap.table.table import Table

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
        rows = "row" if self.n_rows == 1 else "rows"
        listed = ", ".join(map(str, self.first_rows))
        more = ", ..." if self.n_rows > len(self.first_rows) else ""
        return f"{self.name}: {self.n_rows} {rows} ({listed}{more})"


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
        found = [(rule.name, np.flatnonzero(~rule.holds(rows))) for rule in self.rules]
        return [(name, broken) for name, broken in found if len(broken)]

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
