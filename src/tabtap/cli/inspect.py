"""``tabtap inspect``: what the columns are taken for, and what to look at first."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tabtap.cli.options import Overwrite, check_file, option, take_options
from tabtap.cli.reading import Reading, TableOptions, need_target, read, target_words
from tabtap.cli.terminal import YES, Screen, console_on, json_text
from tabtap.wording import plain

if TYPE_CHECKING:
    from tabtap.inspection import Remark
    from tabtap.table import Table

EPILOG = """Examples:
$ tabtap inspect train.csv --target outcome
$ tabtap inspect train.csv --target outcome --out schema.toml
$ tabtap augment train.csv --schema schema.toml

Exit codes: 0 looked over, 2 bad input."""

_SETTINGS = {"groups": "--groups", "ignore": "--ignore"}


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectOptions(TableOptions):
    """Everything that ``tabtap inspect`` was told."""

    out: Annotated[
        Path | None,
        option(
            "--out -o FILE",
            "Write what was inferred to a TOML file, to correct and pass back with "
            "--schema.",
        ),
    ] = None
    force: Overwrite = False
    as_json: Annotated[
        bool, option("--json", "Write all of it as one JSON object.")
    ] = False


@take_options(InspectOptions)
def inspect(given: InspectOptions) -> int:
    """Show what TRAIN is taken for, and what to look at first.

    Nothing is learned. Columns that give the target away, identifiers, rare classes,
    copies and the like are remarked on, each with the option that answers it.
    """
    out = given.out
    if out is not None:
        check_file("--out", out, force=given.force, never=given.train)
    reading = read(given)
    need_target(reading)
    table = reading.table()
    remarks = _remarks(reading, table)
    if out is not None:
        _write_schema(out, table, remarks)
    if given.as_json:
        print(_json(reading, table, remarks, out))
    else:
        _show(reading, table, remarks, out)
    return YES


def _remarks(reading: Reading, table: Table) -> list[Remark]:
    """Return what is to be said, except of the groups that are named already."""
    from tabtap.inspection import inspect_table

    named = reading.groups
    found = inspect_table(table, declared=reading.kinds)
    return [r for r in found if r.column is None or r.column != named]


def _write_schema(out: Path, table: Table, remarks: Sequence[Remark]) -> None:
    from tabtap.archive import put_in_place
    from tabtap.inspection import schema_file_text

    put_in_place(schema_file_text(table, remarks).encode(), out)


def _show(
    reading: Reading, table: Table, remarks: Sequence[Remark], out: Path | None
) -> None:
    from tabtap.table import describe

    screen = Screen(console_on(sys.stdout))
    _, _, lines = describe(table).partition("\n\n")
    n_columns = len(table.schema.features)
    screen.say(f"{len(table)} rows, {n_columns} columns beside the target.")
    screen.say(f"Target {target_words(table)}.\n")
    print(plain(lines))
    for note in reading.notes:
        screen.note(note)
    print()
    if not remarks:
        screen.say("Nothing stands out.", "green")
    for remark in remarks:
        screen.say(f"- {_sentence(remark)}", "yellow" if _is_grave(remark) else "")
    if out is not None:
        screen.say(f"\nWritten: {out}. Correct it, and pass it with --schema.")


def _sentence(remark: Remark) -> str:
    place = "" if remark.column is None else f"{remark.column}: "
    fix = ""
    if remark.setting is not None:
        fix = f" ({_SETTINGS[remark.setting]} {str(remark.column)!r})"
    return f"{place}{remark.text}{fix}."


def _is_grave(remark: Remark) -> bool:
    return remark.topic in ("leak", "lost", "groups", "tiny class", "duplicates")


def _json(
    reading: Reading, table: Table, remarks: Sequence[Remark], out: Path | None
) -> str:
    from tabtap.table.describe import column_lines

    target = table.schema.target
    found: dict[str, Any] = {
        "n_rows": len(table),
        "target": None if target is None else str(target.column.name),
        "task": None if target is None else target.task,
        "columns": [
            {
                "name": str(line.name),
                "kind": line.kind,
                "seen": line.seen,
                "missing": line.missing,
                "new rows": line.plan,
            }
            for line in column_lines(table)
        ],
        "remarks": [
            {
                "topic": remark.topic,
                "column": None if remark.column is None else str(remark.column),
                "text": remark.text,
                "setting": remark.setting,
            }
            for remark in remarks
        ],
        "notes": list(reading.notes),
        "schema_file": None if out is None else str(out),
    }
    return json_text(found)
