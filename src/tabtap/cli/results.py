"""``tabtap report``, ``verify`` and ``forget``: what is done with a saved result."""

from __future__ import annotations

import sys
import webbrowser
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tabtap.cli.options import beside, check_apart, check_file, option
from tabtap.cli.terminal import NO, YES, Screen, console_on
from tabtap.errors import UserInputError

if TYPE_CHECKING:
    from tabtap.domain import Certificate
    from tabtap.result import AugmentResult, Finding


ResultFile = Annotated[
    Path, typer.Argument(metavar="RESULT", help="A result that --save has written.")
]

REPORT_EPILOG = """Examples:
$ tabtap augment train.csv --target outcome --save train.tap
$ tabtap report train.tap --out train.html --open

Exit codes: 0 written, 2 bad input."""


def report(
    result: ResultFile,
    *,
    out: Annotated[
        Path | None,
        option(
            "--out -o FILE", "The page. Default: RESULT with .html as its extension."
        ),
    ] = None,
    title: Annotated[str | None, option("--title", "What the page is called.")] = None,
    open_it: Annotated[bool, option("--open", "Show it in the browser.")] = False,
    force: Annotated[
        bool, option("--force", "Overwrite the page if it exists.")
    ] = False,
) -> int:
    """Write RESULT as a page of HTML to look at. It shows real values.

    It has the verdict, the evidence, the rows that were added and the limits of it
    all. The page holds everything it shows and needs no network.
    """
    page = result.with_suffix(".html") if out is None else out
    check_file("--out", page, force=force, never=str(result))
    from tabtap.report import write_report
    from tabtap.result import load_result

    loaded = load_result(result)
    with _using(result):
        write_report(loaded, page, title=title)
    Screen.standard().say(f"Report  {page}")
    if open_it:
        webbrowser.open(page.absolute().as_uri())
    return YES


@contextmanager
def _using(result: Path) -> Iterator[None]:
    """Say what goes wrong inside in a sentence: a file may be forged in any way."""
    import numpy as np

    from tabtap.archive import one_line
    from tabtap.errors import FileFormatError, TapError

    try:
        with np.errstate(all="ignore"):  # numbers may be as large as they like
            yield
    except (TapError, OSError, MemoryError):
        raise
    except Exception as error:
        raise FileFormatError(
            f"{str(result)!r} holds what no result should "
            f"({type(error).__name__}: {one_line(error)}). Restore it from a copy. If "
            "it is as tabtap has written it, run the same with --debug, and please "
            "report what you see."
        ) from error


# ---- ``tabtap verify``: whether a saved result is what its certificates say.


VERIFY_EPILOG = """Examples:
$ tabtap verify train.tap

Covered: rows with names, dtypes, levels, ancestors and redrawn cells; steps,
scores, bounds, decisions; the copies for other programs.
Not covered: settings, labels of rows and groups, figures beside the scores,
advice, notes, versions, times.
Nothing is signed: who changes rows, hashes and scores together is not found
out. To show whose a result is, sign the file itself:
$ ssh-keygen -Y sign -n tabtap -f KEY train.tap

Exit codes: 0 all is as certified but what was forgotten,
3 something is not, or is not known, 2 bad input."""

_STYLES = {"ok": "green", "unknown": "yellow", "WRONG": "bold red"}


def verify(result: ResultFile) -> int:
    """Check that RESULT is what its certificates say.

    Hashes, bounds and decisions are computed anew. Hashes show that rows are those
    that were checked, scores that bounds and decisions follow from them. What was
    forgotten since can no longer be checked; of what an older tabtap has written some
    is not known.
    """
    from tabtap.archive import reading
    from tabtap.result import load_result
    from tabtap.result import verify as findings_of
    from tabtap.result.verify import verify_copies

    loaded = load_result(result)
    with reading(result, "result"):
        findings = [*findings_of(loaded), *verify_copies(loaded, result)]
    _show(Screen(console_on(sys.stdout)), loaded, findings)
    return YES if all(found.kind == "forgotten" for found in findings) else NO


def _show(screen: Screen, result: AugmentResult, findings: Sequence[Finding]) -> None:
    whole = f"{len(result.real)} real rows, {len(result.delivered)} synthetic ones"
    _line(screen, whole, [f for f in findings if f.window is None])
    for certificate in result.certificates:
        mine = [f for f in findings if f.window == certificate.window]
        _line(screen, _window(certificate), mine)
    n_wrong = sum(finding.kind == "wrong" for finding in findings)
    if n_wrong:
        screen.say(f"\n{n_wrong} found that are not as certified.", "bold red")
    elif any(finding.kind == "unknown" for finding in findings):
        screen.say("\nNothing was found to be wrong; some of it cannot be checked.")
    elif findings:
        screen.say("\nNothing is wrong; some of it can no longer be checked.")
    else:
        screen.say("\nEverything is as certified.", "bold green")


def _window(certificate: Certificate) -> str:
    decided = "let in" if certificate.committed else "refused"
    return f"window {certificate.window + 1}: {certificate.n_rows} rows {decided}"


def _line(screen: Screen, what: str, findings: Sequence[Finding]) -> None:
    word = "ok"
    if findings:
        wrong = any(finding.kind == "wrong" for finding in findings)
        word = "WRONG" if wrong else "unknown"
    screen.say(f"{word:<8}{what}", _STYLES[word])
    for finding in findings:
        screen.say(f"        {finding.text}")


# ---- ``tabtap forget``: a result without some real rows and what was made of them.


FORGET_EPILOG = """Examples:
$ tabtap forget train.tap --row 17
$ tabtap forget train.tap --row 17 --row 18 --out clean.tap --table clean.csv
$ tabtap forget visits.tap --group patient=17

Rows are counted from 0, as they stood in your file below its header, those without a
label too; they keep their numbers.

Exit codes: 0 written, 2 bad input."""


def forget(
    result: ResultFile,
    *,
    row: Annotated[
        list[int] | None,
        option(
            "--row N", "A row of TRAIN to remove with its descendants. May be repeated."
        ),
    ] = None,
    group: Annotated[
        list[str] | None,
        option(
            "--group COL=VALUE",
            "Remove all rows with this value in a column, such as patient=17, with "
            "their descendants. May be repeated.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        option(
            "--out -o FILE",
            "The new result. Default: RESULT with .forgotten before its ending.",
        ),
    ] = None,
    table: Annotated[
        str | None,
        option(
            "--table FILE",
            "Write the table that is left as well, its cells as TRAIN writes them.",
        ),
    ] = None,
    force: Annotated[bool, option("--force", "Overwrite files that exist.")] = False,
) -> int:
    """Remove real rows from RESULT, and what descends from them.

    A new result is written; delete the old one yourself. Generators of the rows that
    stay may have learned from what was removed: to undo that too, run again without.
    """
    if not row and not group:
        raise UserInputError("Which rows? Name them: --row N, or --group COL=VALUE.")
    place = Path(beside(str(result), "forgotten")) if out is None else out
    check_file("--out", place, force=force, never=str(result))
    if table is not None and table != "-":
        check_apart({"--out": place, "--table": Path(table)})
        check_file("--table", Path(table), force=force, never=str(result))
    from tabtap.result import load_result

    before = load_result(result)
    with _using(result):
        rows = {*(row or ()), *_rows_of(before, group or ())}
        after = before.forget(sorted(rows))
        after.save(place)
    screen = Screen.standard()
    n_gone = len(before.delivered) - len(after.delivered)
    screen.say(f"{len(rows)} real and {n_gone} synthetic rows removed.")
    screen.say(f"Result  {place}")
    if table is not None:
        with _using(result):
            _write_table(after, table, force=force)
        screen.say(f"Table   {'standard output' if table == '-' else table}")
    return YES


def _rows_of(result: AugmentResult, groups: Sequence[str]) -> list[int]:
    """Return the places of all rows of some groups: COL=VALUE, or a group's label."""
    from tabtap.result.forgetting import rows_of_group

    rows: list[int] = []
    for text in groups:
        name, sign, value = text.rpartition("=")
        rows += rows_of_group(result, {name: value} if sign else value)
    return rows


def _write_table(result: AugmentResult, table: str, *, force: bool) -> None:
    from tabtap.files import form_from_json, write_table
    from tabtap.files.texts import spell

    frame, _ = result.augmented()
    n_real = len(result.given_places)
    source = result.about.source
    like = form_from_json(source, frame.iloc[:0]) if source else None
    if like is not None and like.raw is not None:
        frame = spell(frame, like.raw, like.written)
    if like is not None and like.dialect is None:
        like = None  # of a format that says by itself how values are written
    if like is not None:
        # No label may be taken for the place of a row in a file that is not there.
        frame = frame.set_axis([f"row {i}" for i in range(len(frame))], axis=0)
    write_table(frame, table, like=like, n_real=n_real, force=force)
