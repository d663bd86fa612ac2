"""``tabtap compare``: which method helps on the user's own table, if any does."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tabtap.cli import options as opt
from tabtap.cli.options import budget_of, check_file
from tabtap.cli.progress import CellsProgress
from tabtap.cli.reading import Reading, TableOptions, need_target, read
from tabtap.cli.terminal import NO, YES, Screen
from tabtap.errors import UserInputError

if TYPE_CHECKING:
    from tabtap.compare.contest import Comparison, Contest
    from tabtap.compare.store import Terms

EPILOG = """Examples:
$ tabtap compare train.csv --target outcome
$ tabtap compare train.csv --target outcome --test later.csv --report who.html
$ tabtap compare train.csv --target outcome --methods SMOTE,ARF,TAP

Exit codes: 0 a method is shown to help, 3 none is, 2 bad input, 130 interrupted."""

USUAL = ("Copies", "Jitter", "SMOTE", "ARF", "TVAE", "TabDDPM", "TAP")
"""Methods that are asked for by default: a control or two, and one of each kind."""


def compare(  # noqa: PLR0913  one option for each thing that can be said
    train: opt.Train,
    *,
    target: opt.Target = None,
    test: Annotated[
        str | None,
        typer.Option(
            "--test",
            metavar="FILE",
            help="Rows to test on, with the same columns. By default parts of TRAIN.",
        ),
    ] = None,
    methods: Annotated[
        str,
        typer.Option(
            "--methods",
            metavar="NAMES",
            help="Names with commas between them, or all.",
        ),
    ] = ",".join(USUAL),
    budget: Annotated[
        str, typer.Option("--budget", metavar="N", help="Rows a method may add.")
    ] = "500",
    repeats: Annotated[
        int,
        typer.Option(
            "--repeats",
            metavar="N",
            min=2,
            help="Parts TRAIN is cut in, each tested once by learners that have not "
            "seen it; with --test, times that a method draws its rows.",
        ),
    ] = 5,
    report: opt.ReportFile = None,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite the report if it exists.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Write the ranking as one JSON object.")
    ] = False,
    jobs: Annotated[
        int | None, typer.Option("--jobs", metavar="N", min=1, help="Workers.")
    ] = None,
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", help="Equal seeds, equal answers.")
    ] = 0,
    debug: opt.PlainDebug = False,  # noqa: ARG001  read by main
    kind: opt.Kinds = None,
    ignore: opt.Ignored = None,
    groups: opt.Groups = None,
    task: opt.Task = opt.TaskName.AUTO,
    sheet: opt.Sheet = None,
) -> int:
    """Compare methods of augmentation on TRAIN, and say which to use, if any.

    The same learners are trained with each method's rows and without, and asked about
    real rows that neither they nor the method have seen.
    """
    if report is not None:
        check_file("--report", report, force=force, never=train)
    from tabtap.compare.store import Terms

    chosen = _methods(methods)
    n_rows = budget_of(budget)
    if n_rows == "auto":
        raise UserInputError("--budget auto is not usable here. Give a number.")
    described = TableOptions(
        train=train,
        target=target,
        kinds=tuple(kind or ()),
        ignored=tuple(ignore or ()),
        groups=groups,
        task=task.value,
        sheet=sheet,
    )
    contest, reading = _contest(described, test, repeats, seed)
    screen = Screen.standard(quiet=as_json)
    notes = (*reading.notes, *_lost(contest, reading), *_together(contest, reading))
    for note in notes:
        screen.note(note)
    comparison = _compete(
        contest, chosen, Terms(budget=n_rows, seed=seed), screen, jobs
    )
    return _tell(comparison, screen, report, as_json=as_json)


def _lost(contest: Contest, reading: Reading) -> list[str]:
    """Return a sentence for each column that is not learned as what it is."""
    from tabtap.table.suspects import lost_columns

    named = {*reading.kinds, reading.groups}
    return [str(lost) for lost in lost_columns(contest.table, named)]


def _together(contest: Contest, reading: Reading) -> tuple[str, ...]:
    """Say which rows count as one."""
    import numpy as np

    from tabtap.api.choices import copies_note

    if reading.groups is None:
        return copies_note(contest.groups)
    if contest.groups is None or contest.test_groups is None:
        return ()
    n_shared = len(np.intersect1d(contest.groups, contest.test_groups))
    if not n_shared:
        return ()
    return (
        f"{n_shared} of the groups of {reading.groups!r} have rows in TRAIN and in "
        "--test: the scores tell how well learners do on groups that they know.",
    )


def _methods(text: str) -> list[str]:
    """Return the methods that are named, real rows first."""
    from tabtap.rivals import METHOD_NAMES, method_named

    if text.strip().lower() == "all":
        return list(METHOD_NAMES)
    named = [
        method_named(part.strip()).name for part in text.split(",") if part.strip()
    ]
    return ["Real", *dict.fromkeys(name for name in named if name != "Real")]


def _contest(
    described: TableOptions, test: str | None, repeats: int, seed: int
) -> tuple[Contest, Reading]:
    import numpy as np

    from tabtap.api.choices import group_codes, read_groups
    from tabtap.compare.contest import Contest

    reading = read(described)
    need_target(reading)
    n_train = len(reading.frame)
    both = reading if test is None else _both(reading, test)
    labels, _ = read_groups(both.groups, both.frame, None)
    groups = None if labels is None else group_codes(labels)
    whole = both.table()
    rows = np.arange(len(whole))
    made = Contest.of(
        whole.take(rows[:n_train]),
        repeats,
        test=None if test is None else whole.take(rows[n_train:]),
        groups=groups,
        seed=seed,
    )
    return made, reading


def _both(reading: Reading, test: str) -> Reading:
    """Read the rows to test after those to train: they are parts of one table."""
    import pandas as pd

    from tabtap.files import read_table

    later = read_table(test).frame
    lacking = [str(name) for name in reading.frame.columns if name not in later]
    if lacking:
        raise UserInputError(
            f"--test {test!r} lacks columns that TRAIN has: {', '.join(lacking)}. Both "
            "must have the same."
        )
    frame = pd.concat([reading.frame, later[reading.frame.columns]], ignore_index=True)
    return replace(reading, frame=frame)


def _compete(
    contest: Contest,
    methods: Sequence[str],
    terms: Terms,
    screen: Screen,
    jobs: int | None,
) -> Comparison:
    from tabtap.compare.contest import run_contest
    from tabtap.compare.runner import Cluster

    progress = CellsProgress(screen, dict.fromkeys(methods, contest.repeats))
    with progress.watched():
        return run_contest(
            contest, methods, terms, cluster=Cluster(jobs=jobs), observer=progress
        )


def _tell(
    comparison: Comparison, screen: Screen, report: Path | None, *, as_json: bool
) -> int:
    from tabtap.compare.advice import advice, recommend
    from tabtap.compare.page import ranking, write_comparison
    from tabtap.compare.printing import as_text

    if report is not None:
        write_comparison(comparison, report)
    best = recommend(comparison)
    if as_json:
        found: dict[str, Any] = {
            "advice": advice(comparison),
            "recommended": None if best is None else best.method,
            "task": comparison.task,
            "n_test": comparison.n_test,
            "methods": [asdict(standing) for standing in comparison.standings],
        }
        print(json.dumps(found, indent=2))
    else:
        print(as_text(ranking(comparison)))
        screen.say("")
        screen.say(advice(comparison), "bold yellow" if best is None else "bold green")
        if report is not None:
            screen.say(f"Report  {report}")
    return NO if best is None else YES
