"""What to say of lines that do not fit their header: all of them, with the cause."""

from __future__ import annotations

from collections.abc import Sequence

from tabtap.errors import UserInputError
from tabtap.files.file_table import Dialect
from tabtap.files.records import Record, Records, counted
from tabtap.files.separators import CANDIDATES, count_cells, shown_separator

_N_SHOWN = 5


def check_lines(cut: Records, dialect: Dialect, name: str) -> None:
    """Raise if any record has another number of cells than the header.

    Raises
    ------
    UserInputError
        With the first few lines, what each has, and what would mend them.
    """
    header, *rows = cut.records
    expected = len(header.cells)
    broken = [row for row in rows if len(row.cells) != expected]
    if not broken:
        return
    listed = ", ".join(
        f"line {row.first_line + 1} has {len(row.cells)}" for row in broken[:_N_SHOWN]
    )
    more = f" and {len(broken) - _N_SHOWN} more" if len(broken) > _N_SHOWN else ""
    verb = "does" if len(broken) == 1 else "do"
    raise UserInputError(
        f"{name} has {counted(len(rows), 'line')} under its header, of which "
        f"{len(broken)} {verb} not fit it. The header has "
        f"{counted(expected, 'cell')} separated by "
        f"{shown_separator(dialect.separator)}; {listed}{more}. "
        f"{_advice(cut, broken, dialect)}"
    )


def _advice(cut: Records, broken: Sequence[Record], dialect: Dialect) -> str:
    expected = len(cut.records[0].cells)
    others = {_other_separator(row, cut, expected, dialect) for row in broken}
    if expected > 1 and len(others) == 1 and None not in others:
        other = shown_separator(str(others.pop()))
        return f"These lines are separated by {other}. Use one separator throughout."
    one_more = all(len(row.cells) == expected + 1 for row in broken)
    if one_more and len(broken) == len(cut.records) - 1:
        if all(not row.cells[-1].strip() for row in broken):
            return "Each line ends in a separator. Add one to the header, or remove it."
        return (
            "The first column seems to have no name, as in files written by R. Put a "
            "name for it at the start of the header."
        )
    sign = shown_separator(dialect.separator)
    return (
        f"Mend these lines: a cell that holds {sign} must stand in quotes, and an "
        "empty cell still needs its separator."
    )


def _other_separator(
    row: Record, cut: Records, expected: int, dialect: Dialect
) -> str | None:
    line = cut.lines[row.first_line]
    for sign in CANDIDATES:
        if sign != dialect.separator and count_cells(line, sign) == expected:
            return sign
    return None
