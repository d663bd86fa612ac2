"""``tabtap forget``: a result without some real rows and what was made of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tabtap.cli import options as opt
from tabtap.cli.exits import YES
from tabtap.cli.places import check_apart, check_file
from tabtap.cli.screen import Screen
from tabtap.cli.values import beside

EPILOG = """Examples:
$ tabtap forget train.tap --row 17
$ tabtap forget train.tap --row 17 --row 18 --out clean.tap --table clean.csv

Rows are counted from 0, as they stood in the table; they keep their numbers.

Exit codes: 0 written, 2 bad input."""


def forget(
    result: opt.ResultFile,
    *,
    row: Annotated[
        list[int],
        typer.Option(
            "--row",
            metavar="N",
            help="A real row to remove with its descendants. May be repeated.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="The new result. Default: RESULT with .forgotten before its ending.",
        ),
    ] = None,
    table: Annotated[
        str | None,
        typer.Option(
            "--table", metavar="FILE", help="Write the table that is left as well."
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite files that exist.")
    ] = False,
    debug: opt.PlainDebug = False,  # noqa: ARG001  read by main
) -> int:
    """Remove real rows from RESULT, and what descends from them.

    A new result is written; delete the old one yourself. Generators of the rows that
    stay may have learned from what was removed: to undo that too, run again without.
    """
    place = Path(beside(str(result), "forgotten")) if out is None else out
    check_file("--out", place, force=force, never=str(result))
    if table is not None and table != "-":
        check_apart({"--out": place, "--table": Path(table)})
        check_file("--table", Path(table), force=force, never=str(result))
    from tabtap.result import load_result

    before = load_result(result)
    after = before.forget(row)
    after.save(place)
    screen = Screen.standard()
    n_gone = len(before.delivered) - len(after.delivered)
    screen.say(f"{len(set(row))} real and {n_gone} synthetic rows removed.")
    screen.say(f"Result  {place}")
    if table is not None:
        _write_table(after, table, force=force)
        screen.say(f"Table   {'standard output' if table == '-' else table}")
    return YES


def _write_table(result: object, table: str, *, force: bool) -> None:
    from tabtap.files import write_table
    from tabtap.result import AugmentResult

    if not isinstance(result, AugmentResult):  # the caller has loaded it
        raise AssertionError
    frame, _ = result.augmented()
    write_table(frame, table, like=None, n_real=len(result.real), force=force)
