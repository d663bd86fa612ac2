"""``tabtap compare``: which method helps on the user's own table, if any does."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

from tabtap.cli.options import (
    PresetName,
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
    own_notes,
    own_words,
    read,
    read_alike,
)
from tabtap.cli.terminal import NO, YES, Screen, fold, json_text
from tabtap.errors import TapWarning, UserInputError
from tabtap.wording import counted

if TYPE_CHECKING:
    from tabtap.compare.contest import MethodComparison
    from tabtap.compare.printing import TextTable
    from tabtap.compare.standings import Comparison
    from tabtap.compare.store import Terms
    from tabtap.table import Table

EPILOG = """Examples:
$ tabtap compare train.csv --target outcome
$ tabtap compare train.csv --target outcome --test later.csv --report who.html
$ tabtap compare train.csv --target outcome --methods SMOTE,ARF,TAP --learners
$ tabtap compare train.csv --target price --learner lightgbm

Exit codes: 0 a method is shown to help, 3 none is, 2 bad input, 130 interrupted."""

USUAL = (
    *("Copies", "Jitter", "SMOTE", "SMOTE + teacher", "ARF", "TVAE", "TabDDPM"),
    "TAP + teacher",
)
"""Methods that are asked for by default: a control or two, and one of each kind.  TAP
as ``tabtap augment`` runs it; without a teacher it takes as long again."""


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
            "--learner --referee NAME",
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
    min_gain: Annotated[
        float | None,
        option(
            "--min-gain SIZE",
            "Smallest gain worth having; 0.01 by default: one point of accuracy, or "
            "1 % of the RMSE.",
        ),
    ] = None
    budget: Annotated[str, option("--budget N", "Rows a method may add.")] = "500"
    preset: Annotated[
        PresetName,
        option(
            "--preset NAME",
            "How often TRAIN is cut, and how TAP runs: default; fast: less time for "
            "nearly the same; paper: as published.",
            show_default=False,
        ),
    ] = PresetName.DEFAULT
    repeats: Annotated[
        int,
        option(
            "--repeats N",
            "Parts TRAIN is cut in each time, all tested by learners that have not "
            "seen them; with --test, times that a method draws its rows.",
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
    rows = _read(given)
    contest = _contest(given, rows)
    screen = Screen.standard(quiet=given.as_json)
    likely, seen = _seen(rows)
    notes = (
        *rows.notes,
        *_sampled(contest, rows.reading),
        *look_at(rows.reading, contest.table),
        *seen,
        *_together(contest, rows.reading),
    )
    notes = tuple(dict.fromkeys(notes))
    for note in notes:
        screen.note(note)
    screen.say(_cost(contest))
    terms = Terms(budget=n_rows, seed=given.seed)
    comparison = _compete(contest, methods, terms, screen, given.jobs)
    comparison = replace(comparison, likely_groups=likely, notes=notes)
    return _tell(comparison, screen, given)


@dataclass(frozen=True, slots=True)
class _Rows:
    """TRAIN and, after it, the rows of ``--test``: parts of one table."""

    reading: Reading
    """Of TRAIN alone."""

    both: Reading
    whole: Table
    notes: tuple[str, ...]

    @property
    def n_train(self) -> int:
        return len(self.reading.frame)

    @property
    def train(self) -> Table:
        import numpy as np

        return self.whole.take(np.arange(self.n_train))


def _read(given: CompareOptions) -> _Rows:
    import numpy as np

    reading = read(given)
    need_target(reading)
    both: Reading = reading
    told: tuple[str, ...] = ()
    if given.test is not None:
        both, told = _both(reading, given.test)
    whole = both.table()
    whole = replace(whole, origin=np.arange(len(whole)))  # of both files together
    return _Rows(reading, both, whole, (*reading.notes, *told))


def _seen(rows: _Rows) -> tuple[str, tuple[str, ...]]:
    """Return a column of groups that went untested, and what inspect saw in TRAIN."""
    from tabtap.api.choices import group_remark, remark_sentence, table_notes

    reading, train = rows.reading, rows.train
    declared = {*reading.kinds, reading.groups}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TapWarning)  # of what the notes say
        notes = own_notes(table_notes(train, declared), reading, train)
    remark = group_remark(train, declared, reading.groups)
    if remark is None:
        return "", notes
    cells, n_train = rows.both.frame[remark.column], rows.n_train
    known, asked = cells.iloc[:n_train].dropna(), cells.iloc[n_train:].dropna()
    is_new = len(asked) > 0 and not asked.isin(known).any()
    likely = "" if is_new else str(remark.column)
    return likely, (*notes, own_words(remark_sentence(remark)))


def _cost(contest: MethodComparison) -> str:
    """Say how often a method makes rows, which is what takes the time."""
    if contest.lineages is None:
        return f"Every method makes its rows {contest.repeats} times."
    times = counted(len(contest.lineages.partitions), "time")
    return (
        f"TRAIN is cut {times} into {contest.lineages.n_folds_each} parts, as tabtap "
        f"augment cuts it, so every method makes its rows {contest.repeats} times."
    )


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


def _contest(given: CompareOptions, rows: _Rows) -> MethodComparison:
    import numpy as np

    from tabtap.api.choices import group_codes, read_groups
    from tabtap.compare.contest import MethodComparison, RunTerms, competing_rows

    labels, _ = read_groups(rows.both.groups, rows.both.frame, None)
    groups = None if labels is None else group_codes(labels)
    train = competing_rows(rows.train, given.seed)
    test = np.arange(rows.n_train, len(rows.whole))
    if groups is not None:
        kept = groups[np.concatenate([train, test])]
        groups = np.unique(kept, return_inverse=True)[1]
    made = MethodComparison.of(
        rows.whole.take(train),
        given.repeats,
        test=None if given.test is None else rows.whole.take(test),
        groups=groups,
        learner=learner_of("--learner", given.learner),
        run=RunTerms(
            seed=given.seed, preset=given.preset.value, min_gain=given.min_gain
        ),
    )
    return made.with_everyone() if given.learners else made


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
        style = "bold yellow" if best is None else "bold green"
        screen.say(own_words(advice(comparison)), style)
        if given.report is not None:
            screen.say(f"Report  {given.report}")
    return NO if best is None else YES


def _text(table: TextTable, width: int) -> str:
    from tabtap.compare.printing import as_text

    notes = tuple(fold(note, min(width, _LINE_WIDTH)) for note in table.notes)
    return as_text(replace(table, notes=("", *notes) if notes else ()), width)


def _object(comparison: Comparison) -> dict[str, Any]:
    """Return a comparison for programs."""
    from tabtap.compare.advice import advice, headline, recommend

    best, real = recommend(comparison), comparison.of("Real")
    return {
        "headline": headline(comparison),
        "advice": own_words(advice(comparison)),
        "recommended": None if best is None else best.method,
        "learner": (best or real).learner,
        "task": comparison.task,
        "figure": comparison.figure.name,
        "n_test": comparison.n_test,
        "methods": [_finite(asdict(standing)) for standing in comparison.standings],
        "learners": dict(comparison.learners),
        "notes": list(comparison.notes),
    }


def _finite(value: Any) -> Any:  # noqa: ANN401  whatever JSON holds
    """Return the same with nothing in the place of what is no number."""
    if isinstance(value, dict):
        return {name: _finite(part) for name, part in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
