"""``tabtap check``: which rules hold on the real rows."""

from __future__ import annotations

import csv
import io
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tabtap.cli.options import option, take_options
from tabtap.cli.reading import Reading, TableOptions, read
from tabtap.cli.terminal import NO, YES, Screen, console_on
from tabtap.errors import BadTableError

if TYPE_CHECKING:
    from tabtap.files import FileTable
    from tabtap.gates import Rules
    from tabtap.table import Table


EPILOG = """Examples:
$ tabtap check train.csv --rules rules.toml

Rows are counted from 0, lines of the file from 1.

Exit codes: 0 every rule holds, 3 some row breaks a rule, 2 bad input."""

_SHOWN_ROWS = 5


@dataclass(frozen=True, slots=True)
class RuleFinding:
    """What the real rows say to one rule."""

    name: str

    broken: tuple[int, ...]
    """Rows that break it, counted from 0."""

    is_idle: bool
    """Whether no row meets its condition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckOptions(TableOptions):
    """Everything that ``tabtap check`` was told."""

    rules: Annotated[Path, option("--rules FILE", "A TOML file of rules.")]


_UNUSED = ("schema", "kinds", "ignored", "groups", "task", "computed")


@take_options(CheckOptions, without=_UNUSED)
def check(given: CheckOptions) -> int:
    """Show which rules the rows of TRAIN keep, and which they break.

    A rule that real rows break is a slip of the pen in the rule or in the rows. One
    whose condition no row meets may be misspelt: it would never apply.
    """
    from tabtap.gates import Rules

    rules = Rules.read(given.rules)
    reading = read(given)
    findings = _findings(rules, _table(reading))
    _show(Screen(console_on(sys.stdout)), findings, line_numbers(reading.file))
    return NO if any(finding.broken for finding in findings) else YES


def _table(reading: Reading) -> Table:
    """Return the table; columns that could not be learned are read as they are."""
    try:
        return reading.table(floor=1)
    except BadTableError as error:
        refused = {p.column for p in error.problems if p.column is not None}
        names = [name for name in reading.frame.columns if str(name) in refused]
        kinds = dict.fromkeys(names, "identifier")
        return replace(reading, kinds={**reading.kinds, **kinds}).table(floor=1)


def _findings(rules: Rules, table: Table) -> list[RuleFinding]:
    from tabtap.gates.rule_evaluation import RuleRows

    rows = RuleRows(table, table)
    return [
        RuleFinding(
            rule.name,
            tuple(table.origin[~rule.holds(rows)].tolist()),
            not rule.applies(rows).any(),
        )
        for rule in rules.rules
    ]


def _show(
    screen: Screen, findings: list[RuleFinding], lines: tuple[int, ...] | None
) -> None:
    for finding in findings:
        if finding.broken:
            screen.say(f"broken  {finding.name}", "red")
            screen.say(f"        {_rows(finding.broken, lines)}")
        elif finding.is_idle:
            screen.say(f"idle    {finding.name}", "yellow")
            screen.say("        No row meets its condition: check how it is spelt.")
        else:
            screen.say(f"holds   {finding.name}", "green")
    n_broken = sum(bool(finding.broken) for finding in findings)
    n_idle = sum(finding.is_idle and not finding.broken for finding in findings)
    n_held = len(findings) - n_broken - n_idle
    screen.say(f"\nRules that hold: {n_held}, broken: {n_broken}, idle: {n_idle}.")


def _rows(broken: tuple[int, ...], lines: tuple[int, ...] | None) -> str:
    shown = [
        str(row) if lines is None else f"{row} (line {lines[row]})"
        for row in broken[:_SHOWN_ROWS]
    ]
    more = ", ..." if len(broken) > _SHOWN_ROWS else ""
    noun = "row breaks" if len(broken) == 1 else "rows break"
    return f"{len(broken)} {noun} it: {', '.join(shown)}{more}"


# ---- On which line of its file each row of a table begins.


def line_numbers(file: FileTable) -> tuple[int, ...] | None:
    """Return the line of every row, counted from 1; None where there are no lines.

    Blank lines and line breaks inside quotes count, as they do in an editor.
    """
    dialect = file.dialect
    if dialect is None or not file.content:
        return None
    text = file.content.decode(dialect.encoding, "replace")
    reader = csv.reader(
        io.StringIO(text, newline=""),
        delimiter=dialect.separator,
        quotechar=dialect.quote,
        skipinitialspace=dialect.skips_space,
    )
    starts, before = [], 0
    for record in reader:
        if reader.line_num > dialect.n_lines_before and any(record):
            starts.append(before + 1)
        before = reader.line_num
    rows = starts[1:]  # the first is the header
    return tuple(rows) if len(rows) == len(file.frame) else None
