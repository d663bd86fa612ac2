"""``tabtap report``: a saved result as a page to look at."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from tabtap.cli import options as opt
from tabtap.cli.exits import YES
from tabtap.cli.places import check_file
from tabtap.cli.screen import Screen

EPILOG = """Examples:
$ tabtap augment train.csv --target outcome --save train.tap
$ tabtap report train.tap --out train.html --open

Exit codes: 0 written, 2 bad input."""


def report(
    result: opt.ResultFile,
    *,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="The page. Default: RESULT with .html as its extension.",
        ),
    ] = None,
    title: Annotated[
        str | None, typer.Option("--title", help="What the page is called.")
    ] = None,
    open_it: Annotated[
        bool, typer.Option("--open", help="Show it in the browser.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite the page if it exists.")
    ] = False,
    debug: opt.PlainDebug = False,  # noqa: ARG001  read by main
) -> int:
    """Write RESULT as a page of HTML to look at and to send.

    It has the verdict, the evidence, the rows that were added and the limits of it
    all. The page holds everything it shows and needs no network.
    """
    page = result.with_suffix(".html") if out is None else out
    check_file("--out", page, force=force, never=str(result))
    from tabtap.report import write_report
    from tabtap.result import load_result

    write_report(load_result(result), page, title=title)
    Screen.standard().say(f"Report  {page}")
    if open_it:
        webbrowser.open(page.absolute().as_uri())
    return YES
