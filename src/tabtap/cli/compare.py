"""``tabtap compare``: which method helps on the user's own table, if any does."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

from tabtap.cli.options import (
    ReportFile,
    budget_of,
    check_file,
    learner_of,
    option,
    take_options,
)
from tabtap.cli.progress import CellsProgress
from tabtap.cli.reading import (
    Reading,
    TableOptions,
    look_at,
    need_target,
    read,
    read_alike,
)
from tabtap.cli.terminal import NO, YES, Screen, fold, json_text
from tabtap.errors import UserInputError
from tabtap.wording import counted

if TYPE_CHECKING:
    from tabtap.compare.contest import MethodComparison
    from tabtap.compare.printing import TextTable
    from tabtap.compare.standings import Comparison
    from tabtap.compare.store import Terms

EPILOG = """Examples:
$ tabtap compare train.csv --target outcome
$ tabtap compare train.csv --target outcome --test later.csv --report who.html
$ tabtap compare train.csv --target outcome --methods SMOTE,ARF,TAP --learners
$ tabtap compare train.csv --target price --learner lightgbm

Exit codes: 0 a method is shown to help, 3 none is, 2 bad input, 130 interrupted."""

USUAL = (
    *("Copies", "Jitter", "SMOTE", "SMOTE + teacher", "ARF", "TVAE", "TabDDPM"),
    *("TAP", "TAP + teacher"),
)
"""Methods that are asked for by default: a control or two, and one of each kind."""


_LINE_WIDTH = 100
"""Longer sentences are hard to read, however wide the terminal is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareOptions(TableOptions):
    """Everything that ``tabtap compare`` was told."""

    test: Annotated[
        str | None,
        option(
            "--test FILE",
            "Rows to test on, with the same columns. By default parts of TRAIN.",
        ),
    ] = None
    methods: Annotated[
        str, option("--methods NAMES", "Names with commas between them, or all.")
    ] = ",".join(USUAL)
    learner: Annotated[
        str,
        option(
            "--learner NAME",
            "The learner you will train: linear, neighbors, forest, boosting, "
            "small_leaves, network, lightgbm, xgboost, or module:object. auto: the "
            "best of the first six; panel: their mean.",
            show_default=False,
        ),
    ] = "auto"
    learners: Annotated[
        bool,
        option("--learners", "Show every learner with the rows of every method."),
    ] = False
    budget: Annotated[str, option("--budget N", "Rows a method may add.")] = "500"
    repeats: Annotated[
        int,
        option(
            "--repeats N",
            "Parts TRAIN is cut in, each tested once by learners that have not seen "
            "it; with --test, times that a method draws its rows.",
            min=2,
        ),
    ] = 5
    report: ReportFile = None
    force: Annotated[bool, option("--force", "Overwrite the report if it exists.")] = (
        False
    )
    as_json: Annotated[
        bool, option("--json", "Write the ranking as one JSON object.")
    ] = False
    jobs: Annotated[int | None, option("--jobs N", "Workers.", min=1)] = None
    seed: Annotated[int, option("--seed N", "Equal seeds, equal answers.")] = 0


@take_options(CompareOptions, without=("schema", "format", "computed"))
def compare(given: CompareOptions) -> int:
    """Compare methods of augmentation on TRAIN, and say which to use, if any.

    The same learners are trained with each method's rows and without, and asked about
    real rows that neither they nor the method have seen. The best learner with a
    method's rows has to beat the best one without.
    """
    if given.report is not None:
        check_file("--report", given.report, force=given.force, never=given.train)
    from tabtap.compare.store import Terms

    methods = _methods(given.methods)
    n_rows = budget_of(given.budget)
    if n_rows == "auto":
        raise UserInputError("--budget auto is not usable here. Give a number.")
    contest, reading, told = _contest(given)
    screen = Screen.standard(quiet=given.as_json)
    notes = (
        *reading.notes,
        *told,
        *_sampled(contest, reading),
        *look_at(reading, contest.table),
        *_together(contest, reading),
    )
    for note in notes:
        screen.note(note)
    terms = Terms(budget=n_rows, seed=given.seed)
    comparison = _compete(contest, methods, terms, screen, given.jobs)
    return _tell(comparison, screen, given)


def _sampled(contest: MethodComparison, reading: Reading) -> tuple[str, ...]:
    """Say that not all rows compete, where they do not."""
    n_rows, n_kept = len(reading.frame), len(contest.table)
    if n_kept == n_rows:
        return ()
    return (
        f"Of {n_rows} rows {n_kept} compete, those of rare classes first, because "
        "every method learns them and every learner is trained on them time and "
        "again. What is shown is shown of a table of that size and with its shares of "
        f"the classes; of all {n_rows} rows nothing is said.",
    )


def _together(contest: MethodComparison, reading: Reading) -> tuple[str, ...]:
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
    given: CompareOptions,
) -> tuple[MethodComparison, Reading, tuple[str, ...]]:
    import numpy as np

    from tabtap.api.choices import group_codes, read_groups
    from tabtap.compare.contest import MethodComparison, competing_rows

    reading = read(given)
    need_target(reading)
    n_train = len(reading.frame)
    both: Reading = reading
    told: tuple[str, ...] = ()
    if given.test is not None:
        both, told = _both(reading, given.test)
    labels, _ = read_groups(both.groups, both.frame, None)
    groups = None if labels is None else group_codes(labels)
    whole = both.table()
    whole = replace(whole, origin=np.arange(len(whole)))  # of both files together
    rows = np.arange(len(whole))
    train = competing_rows(whole.take(rows[:n_train]), given.seed)
    if groups is not None:
        kept = groups[np.concatenate([train, rows[n_train:]])]
        groups = np.unique(kept, return_inverse=True)[1]
    made = MethodComparison.of(
        whole.take(train),
        given.repeats,
        test=None if given.test is None else whole.take(rows[n_train:]),
        groups=groups,
        seed=given.seed,
        learner=learner_of("--learner", given.learner),
    )
    return (made.with_everyone() if given.learners else made), reading, told


def _both(reading: Reading, test: str) -> tuple[Reading, tuple[str, ...]]:
    """Read the rows to test after those to train: they are parts of one table."""
    import pandas as pd

    later, notes = read_alike(test, reading)
    labelled = later[reading.target].notna()
    if not labelled.all():
        n_left = int((~labelled).sum())
        notes = (*notes, f"{counted(n_left, 'row')} without a label left out")
    later = later.loc[labelled, reading.frame.columns]
    frame = pd.concat([reading.frame, later], ignore_index=True)
    told = tuple(f"--test: {note}" for note in notes)
    return replace(reading, frame=frame), told


def _compete(
    contest: MethodComparison,
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


def _tell(comparison: Comparison, screen: Screen, given: CompareOptions) -> int:
    from tabtap.compare.advice import advice, recommend
    from tabtap.compare.page import matrix, ranking, write_comparison

    if given.report is not None:
        write_comparison(comparison, given.report)
    best = recommend(comparison)
    if given.as_json:
        print(json_text(_object(comparison)))
    else:
        width = max(screen.console.width, screen.width)
        print(_text(ranking(comparison), width))
        if given.learners:
            print(f"\n{_text(matrix(comparison), width)}")
        screen.say("")
        screen.say(advice(comparison), "bold yellow" if best is None else "bold green")
        if given.report is not None:
            screen.say(f"Report  {given.report}")
    return NO if best is None else YES


def _text(table: TextTable, width: int) -> str:
    from tabtap.compare.printing import as_text

    notes = tuple(fold(note, min(width, _LINE_WIDTH)) for note in table.notes)
    return as_text(replace(table, notes=("", *notes) if notes else ()), width)


def _object(comparison: Comparison) -> dict[str, Any]:
    """Return a comparison for programs."""
    from tabtap.compare.advice import advice, recommend

    best, real = recommend(comparison), comparison.of("Real")
    return {
        "advice": advice(comparison),
        "recommended": None if best is None else best.method,
        "learner": (best or real).learner,
        "task": comparison.task,
        "figure": comparison.figure.name,
        "n_test": comparison.n_test,
        "methods": [_finite(asdict(standing)) for standing in comparison.standings],
        "learners": dict(comparison.learners),
    }


def _finite(value: Any) -> Any:  # noqa: ANN401  whatever JSON holds
    """Return the same with nothing in the place of what is no number."""
    if isinstance(value, dict):
        return {name: _finite(part) for name, part in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
