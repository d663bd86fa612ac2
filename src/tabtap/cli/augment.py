"""``tabtap augment``: the table with the rows added that are shown to help."""

from __future__ import annotations

import hashlib
import math
import re
import shlex
import sys
import time
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tabtap.cli.options import (
    Budget,
    Debug,
    Preset,
    PresetName,
    ReportFile,
    Seed,
    beside,
    budget_of,
    check_apart,
    check_file,
    judge_option,
    learner_of,
    mixture_of,
    no_harm_of,
    run_option,
    seconds_of,
    take_options,
    teacher_of,
    written_option,
)
from tabtap.cli.progress import Progress
from tabtap.cli.reading import (
    OwnScreen,
    Reading,
    TableOptions,
    need_target,
    own_notes,
    own_words,
    read,
    show_understood,
)
from tabtap.cli.terminal import (
    INTERRUPTED,
    NO,
    YES,
    Screen,
    interruptible,
    json_text,
    tell_rest,
    told_warnings,
)
from tabtap.errors import ColumnLostWarning, UserInputError

if TYPE_CHECKING:
    from tabtap.domain import Bound, Measured
    from tabtap.result import AugmentResult
    from tabtap.table import Table


EPILOG = """Examples:
$ tabtap augment train.csv --target outcome
$ tabtap augment train.parquet -t price --learner lightgbm --report train.html
$ tabtap augment visits.csv -t sick --groups patient --ignore notes -n auto
$ tabtap augment - -t label < train.csv > bigger.csv

A run that was interrupted goes on with --resume; until then nothing is written.

Exit codes: 0 augmented, 3 no gain or one too small to matter (the output equals the \
input), 2 bad input, 130 interrupted, 1 a mistake in tabtap."""


class LicenseName(str, Enum):
    """Which weights may be chosen without being named."""

    OPEN = "open"
    ANY = "any"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job(TableOptions):
    """Everything that ``tabtap augment`` was told."""

    out: Annotated[
        str | None,
        written_option(
            "--out -o FILE",
            "The table with its new rows. Default: TRAIN with .augmented before its "
            "extension; standard output if TRAIN is -.",
        ),
    ] = None
    report: ReportFile = None
    save: Annotated[
        Path | None,
        written_option(
            "--save FILE", "Everything in one file, for report, verify and forget."
        ),
    ] = None
    datasheet: Annotated[
        Path | None,
        written_option(
            "--datasheet FILE",
            "What an audit asks of the new rows, as FILE.md or FILE.json.",
        ),
    ] = None
    mark: Annotated[
        str | None,
        written_option(
            "--mark COL",
            "Add a column of this name: 0 in real rows, 1 in new ones.",
        ),
    ] = None
    force: Annotated[
        bool,
        written_option("--force", "Overwrite files that exist; never TRAIN itself."),
    ] = False
    as_json: Annotated[
        bool,
        written_option(
            "--json", "Write the answer to standard output as one JSON object."
        ),
    ] = False
    quiet: Annotated[bool, written_option("--quiet -q", "Say nothing but errors.")] = (
        False
    )
    budget: Budget = "500"
    preset: Preset = PresetName.DEFAULT
    mixture: Annotated[
        str,
        run_option(
            "--mixture SHARES",
            "Which classes new rows are of: real (as in TRAIN), balanced, or "
            "'yes=0.7,no=0.3'.",
            show_default=False,
        ),
    ] = "real"
    time_budget: Annotated[
        str | None,
        run_option(
            "--time-budget TIME", "End after 90s, 5m or 1h30m with what there is."
        ),
    ] = None
    seed: Seed = 0
    resume: Annotated[
        bool,
        run_option(
            "--resume", "Go on with a run of the same settings that was interrupted."
        ),
    ] = False
    device: Annotated[
        str,
        run_option(
            "--device NAME",
            "auto, cpu, cuda or mps: where generators run.",
            show_default=False,
        ),
    ] = "auto"
    jobs: Annotated[
        int,
        run_option(
            "--jobs -j N",
            "Processes for learners that are fitted, 1 by default; -1: all cores.",
            show_default=False,
        ),
    ] = 1
    debug: Debug = False
    rules: Annotated[
        Path | None,
        judge_option("--rules FILE", "A TOML file of what every new row must obey."),
    ] = None
    learner: Annotated[
        str,
        judge_option(
            "--learner --referee NAME",
            "The learner you will train: linear, neighbors, forest, boosting, "
            "small_leaves, network, lightgbm, xgboost, or module:object. auto: the "
            "best of the first six; panel: their mean.",
            show_default=False,
        ),
    ] = "auto"
    teacher: Annotated[
        str,
        judge_option(
            "--teacher NAMES",
            "Who gives drawn rows their target: auto (an average of learners), none, "
            "or names with commas, such as forest or tabpfn-v2, whose licence asks "
            "something of a model that learns from it.",
            show_default=False,
        ),
    ] = "auto"
    scoring: Annotated[
        str | None,
        judge_option(
            "--scoring NAME",
            "The yardstick: any scorer of scikit-learn, such as roc_auc.",
        ),
    ] = None
    no_harm: Annotated[
        str | None,
        judge_option(
            "--no-harm COLS",
            "Columns, with commas, whose groups new rows may not be estimated to harm: "
            "sex,site; a group may lose 0.02 of the score, or as sex=0.05 says.",
        ),
    ] = None
    confidence: Annotated[
        float | None,
        judge_option(
            "--confidence SHARE",
            "How sure a gain must be, between 0 and 1, for the run as a whole; 0.75 "
            "by default, 0.95 for classes if no learner is named. Attempts share it, "
            "so each is held to more: at 0.75 to 81.2 %, then 95.3 %, ...",
        ),
    ] = None
    min_gain: Annotated[
        float | None,
        judge_option(
            "--min-gain SIZE",
            "Smallest gain worth having; 0.01 by default: one point of accuracy, or "
            "1 % of the RMSE.",
        ),
    ] = None
    evaluator: Annotated[
        str,
        judge_option(
            "--evaluator NAME",
            "Who steers single steps; auto is a linear model.",
            show_default=False,
        ),
    ] = "auto"
    license_policy: Annotated[
        LicenseName,
        judge_option(
            "--license-policy NAME",
            "open, or any: whether auto may use weights not free for every use.",
            show_default=False,
        ),
    ] = LicenseName.OPEN
    again: str | None = None
    """The command that goes on with the run, where it is not the user's own."""

    @property
    def table_place(self) -> str:
        """Where the table goes: a file, or ``-`` for standard output."""
        if self.out is not None:
            return self.out
        return "-" if self.train == "-" else beside(self.train, "augmented")


# ---- One augmentation from file to file: checked first, then run, then written.


@take_options(Job)
def augment(job: Job) -> int:
    """Add rows to TRAIN, but only those that are shown to help.

    Every pool of new rows is put to the test on real rows that neither its generator
    nor the learner has seen. What fails is thrown away, and if nothing passes, TRAIN
    comes back as it was. Your rows come first and unchanged, then the new ones.
    """
    return run_job(job)


def run_job(job: Job) -> int:
    """Do all of it, and return the exit code."""
    started = time.monotonic()
    screen = OwnScreen.standard(quiet=job.quiet)
    _check_places(job)
    settings = _settings(job)
    reading = read(job)
    _check_table_place(job, reading)
    target = need_target(reading)
    table = reading.table()
    levels = () if table.schema.target is None else table.schema.target.column.levels
    settings |= _settings_of(job, reading, levels)
    said = show_understood(screen, reading, table)
    folder = run_folder(job.table_place, table)
    watched = told_warnings(screen, everything=job.debug, told_before=ColumnLostWarning)
    with watched as told, taken(folder):
        _make_ready(job, folder, screen)
        try:
            result = _run(screen, reading, target, settings | {"checkpoint": folder})
        except KeyboardInterrupt:
            screen.stop(_farewell(job, folder))
            return INTERRUPTED
        result = _as_told_here(result, reading, table)
        files = _write_table(job, reading, result, folder)
        clear(folder)
    failed = _write_rest(job, result, files)
    tell_rest(screen, result.about.notes, [*said, *map(own_words, told)])
    show_verdict(screen, result, files)
    if job.as_json:
        print(verdict_json(result, files, time.monotonic() - started))
    if failed is not None:
        raise failed
    return YES if result.verdict == "augment" else NO


def _check_places(job: Job) -> None:
    if job.as_json and job.table_place == "-":
        raise UserInputError(
            "--json and the table cannot both go to standard output. Pass --out FILE "
            "for the table."
        )
    others = {
        "--report": job.report,
        "--save": job.save,
        "--datasheet": job.datasheet,
    }
    named = {option: path for option, path in others.items() if path is not None}
    if job.table_place != "-":
        named = {"--out": Path(job.table_place), **named}
    check_apart(named)
    if job.datasheet is not None:
        from tabtap.result.datasheet import check_form

        check_form(job.datasheet)
    for option, path in named.items():
        check_file(option, path, force=job.force, never=job.train)


def _check_table_place(job: Job, reading: Reading) -> None:
    from tabtap.files import check_destination

    check_destination(
        job.table_place, like=reading.file, mark=job.mark, force=job.force
    )


def _settings(job: Job) -> dict[str, Any]:
    """Return what can be told wrong before the table is read."""
    rules = None
    if job.rules is not None:
        from tabtap.gates import Rules

        rules = Rules.read(job.rules)
    seconds = None if job.time_budget is None else seconds_of(job.time_budget)
    return {
        "budget": budget_of(job.budget),
        "preset": job.preset.value,
        "time_budget": seconds,
        "rules": rules,
        "random_state": job.seed,
        "scoring": job.scoring,
        "confidence": job.confidence,
        "license_policy": job.license_policy.value,
        "device": job.device,
        "n_jobs": job.jobs,
        "min_gain": job.min_gain,
        "learner": learner_of("--learner", job.learner),
        "teacher": teacher_of(job.teacher),
        "evaluator": learner_of("--evaluator", job.evaluator),
    }


def _settings_of(job: Job, reading: Reading, levels: tuple[Any, ...]) -> dict[str, Any]:
    return {
        "task": reading.task,
        "kinds": dict(reading.kinds),
        "groups": reading.groups,
        "no_harm": no_harm_of(job.no_harm, reading.frame.columns),
        "computed": reading.computed,
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
        return augmenter.fit_table(reading.given, target, observer=progress)


def _as_told_here(
    result: AugmentResult, reading: Reading, table: Table
) -> AugmentResult:
    """Return a result that names options, and how its file is written."""
    from tabtap.files import form_to_json

    notes = own_notes(result.about.notes, reading, table)
    source = form_to_json(reading.file)
    return replace(result, about=replace(result.about, notes=notes, source=source))


def _farewell(job: Job, folder: Path) -> str:
    if not holds_a_run(folder):
        return (
            "Interrupted before the table was learned. Nothing was written, and there "
            "is nothing to go on from."
        )
    again = "run the same with --resume"
    if job.again is not None:
        again = f"run\n    {job.again}"
    elif job.train != "-" and sys.argv[1:2] == ["augment"]:
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
            job.table_place,
            like=reading.file,
            n_real=len(reading.file.frame),
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
    return {"table": job.table_place}


def _write_rest(
    job: Job, result: AugmentResult, files: dict[str, str]
) -> Exception | None:
    """Write result and report; return what failed first, for the table is there."""
    failed = None
    for what, path, write in (
        ("result", job.save, result.save),
        ("report", job.report, partial(_write_report, result)),
        ("datasheet", job.datasheet, result.write_datasheet),
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


# ---- The folder in which a run is kept until its table is written.
#
# It is beside the table that will be written, or in the user's cache for a table that
# goes to a pipe.  Only files of ours are ever removed from it, by their whole names.
# Nothing is locked or removed through a link, which may lead anywhere.


_LOCK = "run.lock"
_KEPT = re.compile(r"(backbones|progress)-[0-9a-f]{16}\.tap")


def run_folder(out: str, table: Table) -> Path:
    """Return where a run is kept, whether it is there or not."""
    if out != "-":
        return Path(f"{out}.run")
    from tabtap.domain.judgement import table_sha256
    from tabtap.evaluate.weights import cache_folder

    name = hashlib.sha256(table_sha256(table).encode()).hexdigest()[:16]
    return cache_folder().parent / "runs" / name


def holds_a_run(folder: Path) -> bool:
    """Tell whether an interrupted run left something to go on from."""
    return any(_KEPT.fullmatch(path.name) for path in folder.glob("*.tap"))


def clear(folder: Path) -> None:
    """Remove what a run has left; the folder too, if nothing else is in it."""
    if folder.is_symlink() or not folder.is_dir():
        return
    for path in folder.iterdir():
        ours = path.name == _LOCK or _KEPT.fullmatch(path.name)
        if ours and path.is_file() and not path.is_symlink():
            path.unlink(missing_ok=True)
    if not any(folder.iterdir()):
        folder.rmdir()


@contextmanager
def taken(folder: Path) -> Iterator[None]:
    """Keep a second run from writing to the same place meanwhile."""
    from filelock import FileLock, Timeout

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserInputError(
            f"The run cannot be kept in {str(folder)!r}: {error.strerror or error}. "
            "Pass --out with a name in a folder that can be written to."
        ) from error
    for path in (folder, folder / _LOCK):
        if path.is_symlink():
            raise UserInputError(
                f"{str(path)!r} is a link, and a run is not kept behind one. Remove "
                "it, or pass another --out."
            )
    lock = FileLock(folder / _LOCK)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise UserInputError(
            f"Another run is at work in {str(folder)!r}. Wait for it, or pass another "
            "--out."
        ) from None
    try:
        yield
    finally:
        lock.release()
        if not holds_a_run(folder):
            clear(folder)


# ---- What came of a run: a few lines for people, one object for programs.


def show_verdict(
    screen: Screen, result: AugmentResult, files: Mapping[str, str]
) -> None:
    """Say whether rows were added, on what evidence, and what was written."""
    from tabtap.result.why import headline

    colour = "green" if result.verdict == "augment" else "yellow"
    screen.say(f"\n{headline(result)}", f"bold {colour}")
    screen.say(f"{result.why}\n")
    show_advice(screen, result)
    width = max((len(what) for what in files), default=0)
    for what, path in files.items():
        named = "standard output" if path == "-" else path
        screen.say(f"{what.capitalize():<{width}}  {named}")


def show_advice(screen: Screen, result: AugmentResult) -> None:
    """Say what else can be done with the rows, the cheapest that is enough first."""
    from tabtap.api.choices import learner_names
    from tabtap.result.why import advice_line

    lines = [f"  - {advice_line(option)}" for option in result.advice]
    if lines:
        what = "What you can do with these rows, the simplest that is enough first:"
        lines = [what, *lines]
    if result.about.referee == "best":
        names = ", ".join(learner_names())
        what = "No learner was named; --learner NAME asks about the one you will train:"
        lines.append(f"{what} {names}.")
    if lines:
        screen.say("\n".join([*lines, ""]))


def verdict_json(
    result: AugmentResult, files: Mapping[str, str], seconds: float
) -> str:
    """Return the verdict as one JSON object."""
    from tabtap.result.why import bound_of, deciding, headline

    check = deciding(result)
    bound = None if check is None else bound_of(check)
    return json_text(
        {
            "verdict": result.verdict,
            "headline": own_words(headline(result)),
            "why": own_words(result.why),
            "n_real": len(result.given_places),
            "n_set_aside": 0 if result.set_aside is None else len(result.set_aside),
            "n_synthetic": len(result.delivered),
            "gain": None if bound is None else _finite(bound.gain),
            "bound": None if bound is None else _finite(bound.lower),
            "confidence": None if bound is None else _finite(bound.confidence),
            **promise_json(result),
            "teacher": teacher_json(result),
            "privacy": None if result.privacy is None else result.privacy.to_json(),
            "files": dict(files),
            "seconds": round(seconds, 3),
            "seed": result.about.seed,
            "notes": list(result.about.notes),
        }
    )


def promise_json(result: AugmentResult) -> dict[str, Any]:
    """Return learner, figures, effects on others, copies and advice, for programs."""
    from tabtap.result.datasheet import groups_json
    from tabtap.result.why import advice_line, deciding

    check = deciding(result)
    copies = None if check is None else _gain(check.copies)
    found: dict[str, Any] = {
        "learner": None,
        "learner_named": result.about.referee != "best",
        "best_alone": None,
        "figures": {},
        "effects": {},
        "groups": [],
        "copies": None,
        "copies_margin": None,
        "over_copies": None,
        "learners": {},
    }
    if check is not None:
        found |= {
            "learner": check.learner or None,
            "best_alone": check.best_alone or None,
            "figures": {
                figure.name: {
                    part: _measured(getattr(figure, part))
                    for part in ("best_alone", "without", "with_rows", "change")
                }
                for figure in check.figures
            },
            "effects": {name: _gain(bound) for name, bound in check.effects.items()},
            "groups": groups_json(check),
            "copies": copies and copies["gain"],
            "copies_margin": copies and copies["margin"],
            "over_copies": _gain(check.over_copies),
            "learners": dict(check.learners),
        }
    found["advice"] = [
        {
            "name": option.name,
            "words": option.words,
            "line": advice_line(option),
            "figure": option.figure or None,
            "value": _measured(option.value),
            "score": _measured(option.score),
            "is_enough": option.is_enough,
            "note": option.note or None,
        }
        for option in result.advice
    ]
    return found


def teacher_json(result: AugmentResult) -> dict[str, Any] | None:
    """Return who gave rows their targets, for programs; None if nobody did."""
    about = result.about
    if about.teacher in ("", "none"):
        return None
    return {
        "name": about.teacher,
        "members": dict(about.teacher_members),
        "condition": about.teacher_condition or None,
    }


def _measured(figure: Measured | None) -> dict[str, float | None] | None:
    if figure is None:
        return None
    return {"value": _finite(figure.value), "margin": _finite(figure.margin)}


def _gain(bound: Bound | None) -> dict[str, float | None] | None:
    if bound is None:
        return None
    return {"gain": _finite(bound.gain), "margin": _finite(bound.margin)}


def _finite(number: float) -> float | None:
    return float(number) if math.isfinite(number) else None
