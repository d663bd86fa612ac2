"""One augmentation from file to file: checked first, then run, then written."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Hashable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tabtap.cli.exits import INTERRUPTED, NO, YES
from tabtap.cli.keeping import clear, holds_a_run, run_folder, taken
from tabtap.cli.objects import learner_of
from tabtap.cli.places import check_apart, check_file
from tabtap.cli.progress import Progress
from tabtap.cli.reading import Reading, TableOptions, need_target, read
from tabtap.cli.screen import Screen
from tabtap.cli.signals import interruptible
from tabtap.cli.understood import show_understood
from tabtap.cli.values import beside, budget_of, mixture_of, seconds_of
from tabtap.cli.verdict import show_verdict, verdict_json
from tabtap.cli.warned import tell_rest, told_warnings
from tabtap.errors import UserInputError

if TYPE_CHECKING:
    from tabtap.result import AugmentResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Everything that ``tabtap augment`` was told."""

    table: TableOptions
    out: str
    report: Path | None = None
    save: Path | None = None
    mark: str | None = None
    force: bool = False
    as_json: bool = False
    quiet: bool = False
    budget: str = "500"
    preset: str = "default"
    mixture: str = "real"
    time_budget: str | None = None
    seed: int = 0
    resume: bool = False
    rules: Path | None = None
    referee: str = "auto"
    evaluator: str = "auto"
    scoring: str | None = None
    confidence: float | None = None
    license_policy: str = "open"
    device: str = "auto"
    jobs: int = 1
    debug: bool = False
    again: str | None = None
    """The command that goes on with the run, where it is not the user's own."""


def default_out(train: str) -> str:
    """Return where the table goes unless the user says otherwise."""
    return "-" if train == "-" else beside(train, "augmented")


def run_job(job: Job) -> int:
    """Do all of it, and return the exit code."""
    started = time.monotonic()
    screen = Screen.standard(quiet=job.quiet)
    _check_places(job)
    settings = _settings(job)
    reading = read(job.table)
    _check_table_place(job, reading)
    target = need_target(reading)
    table = reading.table()
    levels = () if table.schema.target is None else table.schema.target.column.levels
    settings |= _settings_of(job, reading, levels)
    show_understood(screen, reading, table)
    folder = run_folder(job.out, table)
    with told_warnings(screen, everything=job.debug) as told, taken(folder):
        _make_ready(job, folder, screen)
        try:
            result = _run(screen, reading, target, settings | {"checkpoint": folder})
        except KeyboardInterrupt:
            screen.stop(_farewell(job, folder))
            return INTERRUPTED
        files = _write_table(job, reading, result, folder)
        clear(folder)
    failed = _write_rest(job, result, files)
    tell_rest(screen, result.about.notes, told)
    show_verdict(screen, result, files)
    if job.as_json:
        print(verdict_json(result, files, time.monotonic() - started))
    if failed is not None:
        raise failed
    return YES if result.verdict == "augment" else NO


def _check_places(job: Job) -> None:
    if job.as_json and job.out == "-":
        raise UserInputError(
            "--json and the table cannot both go to standard output. Pass --out FILE "
            "for the table."
        )
    others = {"--report": job.report, "--save": job.save}
    named = {option: path for option, path in others.items() if path is not None}
    if job.out != "-":
        named = {"--out": Path(job.out), **named}
    check_apart(named)
    for option, path in named.items():
        check_file(option, path, force=job.force, never=job.table.train)


def _check_table_place(job: Job, reading: Reading) -> None:
    from tabtap.files import check_destination

    check_destination(job.out, like=reading.file, mark=job.mark, force=job.force)


def _settings(job: Job) -> dict[str, Any]:
    """Return what can be told wrong before the table is read."""
    rules = None
    if job.rules is not None:
        from tabtap.gates import Rules

        rules = Rules.read(job.rules)
    seconds = None if job.time_budget is None else seconds_of(job.time_budget)
    return {
        "budget": budget_of(job.budget),
        "preset": job.preset,
        "time_budget": seconds,
        "rules": rules,
        "random_state": job.seed,
        "scoring": job.scoring,
        "confidence": job.confidence,
        "license_policy": job.license_policy,
        "device": job.device,
        "n_jobs": job.jobs,
        "referee": learner_of("--referee", job.referee),
        "evaluator": learner_of("--evaluator", job.evaluator),
    }


def _settings_of(job: Job, reading: Reading, levels: tuple[Any, ...]) -> dict[str, Any]:
    return {
        "task": reading.task,
        "kinds": reading.kinds,
        "groups": reading.groups,
        "mixture": mixture_of(job.mixture, levels),
    }


def _make_ready(job: Job, folder: Path, screen: Screen) -> None:
    """Take up what an earlier run has left, or put it away."""
    if job.resume and job.again is None and not holds_a_run(folder):
        screen.note("There is no interrupted run to go on with. A new one begins.")
    elif not job.resume and holds_a_run(folder):
        screen.note("An earlier run was interrupted; --resume would have gone on.")
        clear(folder)


def _run(
    screen: Screen, reading: Reading, target: Hashable, settings: dict[str, Any]
) -> AugmentResult:
    progress = Progress(screen)
    with interruptible(), progress.watched():
        from tabtap.api import TabularAugmenter

        augmenter = TabularAugmenter(**settings)
        return augmenter.fit_table(reading.frame, target, observer=progress)


def _farewell(job: Job, folder: Path) -> str:
    if not holds_a_run(folder):
        return (
            "Interrupted before the table was learned. Nothing was written, and there "
            "is nothing to go on from."
        )
    again = "run the same with --resume"
    if job.again is not None:
        again = f"run\n    {job.again}"
    elif job.table.train != "-" and sys.argv[1:2] == ["augment"]:
        given = [part for part in sys.argv[1:] if part != "--resume"]
        again = f"run\n    {shlex.join(['tabtap', *given, '--resume'])}"
    return (
        f"Interrupted. No table was written; what is done is kept in {str(folder)!r}. "
        f"To go on, {again}"
    )


def _write_table(
    job: Job, reading: Reading, result: AugmentResult, folder: Path
) -> dict[str, str]:
    from tabtap.files import write_table

    bigger, _ = result.augmented()
    try:
        write_table(
            reading.restored(bigger),
            job.out,
            like=reading.file,
            n_real=len(result.real),
            force=job.force,
            mark=job.mark,
        )
    except UserInputError as error:
        if isinstance(error.__cause__, BrokenPipeError):
            raise error.__cause__ from None
        if not holds_a_run(folder):
            raise
        raise UserInputError(
            f"{error} The run is not lost: it is kept in {str(folder)!r}, and the same "
            "command with --resume writes its table at once."
        ) from error
    return {"table": job.out}


def _write_rest(
    job: Job, result: AugmentResult, files: dict[str, str]
) -> Exception | None:
    """Write result and report; return what failed first, for the table is there."""
    failed = None
    for what, path, write in (
        ("result", job.save, result.save),
        ("report", job.report, partial(_write_report, result)),
    ):
        if path is None:
            continue
        try:
            write(path)
            files[what] = str(path)
        # Told at the end: first people hear what was written.
        except Exception as error:  # noqa: BLE001
            failed = failed or error
    return failed


def _write_report(result: AugmentResult, path: Path) -> None:
    from tabtap.report import write_report

    write_report(result, path)
