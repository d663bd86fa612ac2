"""``tabtap inspect``: what the columns are taken for, and what to look at first."""

from __future__ import annotations

import sys
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tabtap.cli.options import Overwrite, check_file, option, take_options
from tabtap.cli.reading import Reading, TableOptions, need_target, read, target_words
from tabtap.cli.terminal import NO, YES, Screen, console_on, json_text
from tabtap.errors import BadTableError, UserInputError
from tabtap.wording import plain

if TYPE_CHECKING:
    from tabtap.inspection import Remark
    from tabtap.table import Table

EPILOG = """Examples:
$ tabtap inspect train.csv --target outcome
$ tabtap inspect train.csv --target outcome --out schema.toml
$ tabtap augment train.csv --schema schema.toml

Exit codes: 0 looked over, 3 so is every column but some cannot be used as
they are, 2 bad input."""

UNUSABLE = ("refused", "question")
_GRAVE = ("leak", "lost", "groups", "tiny class", "duplicates", "code")
_OPTIONS = {"groups": "--groups", "ignore": "--ignore"}


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

    Nothing is learned. Columns that cannot be used, or give the target away,
    identifiers, rare classes, copies and the like are remarked on, each with the
    option that answers it.
    """
    out = given.out
    if out is not None:
        check_file("--out", out, force=given.force, never=given.train)
    reading = read(given)
    need_target(reading)
    table, refused = _look_over(reading)
    remarks = [*refused, *_remarks(reading, table, refused)]
    if out is not None:
        _write_schema(out, reading, table, remarks)
    if given.as_json:
        print(_json(reading, table, remarks, out))
    else:
        _show(reading, table, remarks, out)
    return NO if refused else YES


def _look_over(reading: Reading) -> tuple[Table, list[Remark]]:
    """Return the table with what cannot be used left unlearned, and why it cannot."""
    from tabtap.inspection import Remark

    remarks = [
        Remark(
            topic="question",
            column=asked.column,
            text=f"{asked.text}; say which: {asked.option}",
        )
        for asked in reading.questions
    ]
    unclear: dict[Hashable, str] = {
        asked.column: "identifier" for asked in reading.questions
    }
    reading = replace(reading, kinds={**reading.kinds, **unclear})
    try:
        return reading.table(), remarks
    except BadTableError as error:
        problems = error.problems
    names = {str(name): name for name in reading.frame.columns}
    remarks += [
        Remark(
            topic="refused",
            column=None if p.column is None else names.get(p.column, p.column),
            text=f"{p.found}. {p.fix}",
        )
        for p in problems
    ]
    kinds = {names[p.column]: "identifier" for p in problems if p.column in names}
    kinds = {**reading.kinds, **kinds}
    if reading.target in kinds:
        reading = replace(reading, target=None)
    return replace(reading, kinds=kinds).table(floor=1), remarks


def _remarks(reading: Reading, table: Table, refused: Sequence[Remark]) -> list[Remark]:
    """Return what else is to be said: not of named groups, nor of what is refused."""
    from tabtap.inspection import inspect_table

    said = {reading.groups, *(remark.column for remark in refused)} - {None}
    found = inspect_table(table, declared=reading.kinds, computed=reading.computed)
    return [remark for remark in found if remark.column not in said]


def _write_schema(
    out: Path, reading: Reading, table: Table, remarks: Sequence[Remark]
) -> None:
    from tabtap.archive import put_in_place
    from tabtap.inspection import schema_file_text

    if table.schema.target is None:
        (why,) = [r.text for r in remarks if r.column == reading.target]
        raise UserInputError(
            f"--out cannot be written: target {str(reading.target)!r} {why}."
        )
    put_in_place(schema_file_text(table, remarks, reading.told).encode(), out)


def _show(
    reading: Reading, table: Table, remarks: Sequence[Remark], out: Path | None
) -> None:
    from tabtap.table import describe

    screen = Screen(console_on(sys.stdout))
    unusable = {str(r.column) for r in remarks if r.topic in UNUSABLE}
    _, _, lines = describe(table, unusable).partition("\n\n")
    n_columns = len(table.schema.features) - (table.schema.target is None)
    screen.say(f"{len(table)} rows, {n_columns} columns beside the target.")
    name = str(reading.target)
    shown = f"{name}: unclear" if name in unusable else target_words(table)
    screen.say(f"Target {shown}.\n")
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
    from tabtap.table.problems import told

    place = "" if remark.column is None else f"{remark.column}: "
    fix = ""
    if remark.setting == "computed":
        fix = " (--computed none draws it)"
    elif remark.setting is not None:
        fix = f" ({told(_OPTIONS[remark.setting], str(remark.column))})"
    return f"{place}{remark.text}{fix}."


def _is_grave(remark: Remark) -> bool:
    return remark.topic in (*UNUSABLE, *_GRAVE)


def _json(
    reading: Reading, table: Table, remarks: Sequence[Remark], out: Path | None
) -> str:
    from tabtap.table.describe import column_lines

    target = table.schema.target
    unusable = {str(r.column) for r in remarks if r.topic in UNUSABLE}
    found: dict[str, Any] = {
        "n_rows": len(table),
        "target": str(reading.target),
        "task": None if target is None else target.task,
        "columns": [
            {
                "name": str(line.name),
                "kind": line.kind,
                "seen": line.seen,
                "missing": line.missing,
                "new rows": line.plan,
            }
            for line in column_lines(table, unusable)
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
