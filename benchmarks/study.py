"""The measurements behind docs/results/utility.md and calibration.md.

Run: ``python benchmarks/study.py --out build/results/study --jobs 2``, then
``python benchmarks/study_report.py --study build/results/study``.  A quick look:
``python benchmarks/study.py --tables insurance --n-real 20 --splits 1
--config n_steps=50 --out look``.

A cell is one table, n_real, split and seed.  Its parts share one batched fit of six
backbones: rungs of the ladder, whole runs with all their commitment checks, and
poisoned pools.  Every cell has a file of its own in the folder, and each part is
written as soon as it is measured; a run that was stopped goes on with the next part.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed
from paper_tables import load_table
from poison import poison_records
from records import append_records, read_records, stamp
from rungs import RUNGS
from runs import RUNS, check_records, run_loop
from settings import add_config_option, config_overrides
from study_cell import Ground, forget, prepare, repetition_of
from threadpoolctl import threadpool_limits
from truth import Truth
from usefulness import CONTROLS, Cell

from tabtap.compare.predictors import mean_score
from tabtap.study.protocol import Repetition
from tabtap.study.sources import SOURCES
from tabtap.table import Table

BUDGET = 500
"""Rows that every rung may add."""

CHECKED_FROM = 50
"""Least n_real at which true gains and poison are measured."""

POISON = "poison"
METHODS = (*CONTROLS, *RUNGS, *RUNS)
PARTS = (*METHODS, POISON)

Settings = Mapping[str, Any]
Record = dict[str, Any]


def parts_of(cell: Cell, parts: Sequence[str]) -> list[str]:
    """Return the parts that a cell of this size has."""
    return [p for p in parts if p != POISON or cell.n_real >= CHECKED_FROM]


def file_of(folder: Path, cell: Cell, settings: Settings) -> Path:
    """Return the file of a cell; other settings are another file."""
    words = [cell.table, cell.n_real, cell.split, cell.seed]
    words += [f"{name}={settings[name]}" for name in sorted(settings)]
    text = "-".join(map(str, words))
    return folder / ("".join(c if c.isalnum() or c in "-=." else "_" for c in text)
                     + ".jsonl")  # fmt: skip


def pending(records: Sequence[Record], parts: Sequence[str]) -> list[str]:
    """Return the parts whose last record is not there yet."""
    done = {record["part"] for record in records if record["last"]}
    return [part for part in parts if part not in done]


def finished(records: Sequence[Record]) -> list[Record]:
    """Return the records of parts that are whole.

    A part that was stopped while it was written is measured and written again; of its
    first attempt nothing is left here.
    """
    kept: dict[str, list[Record]] = {}
    open_parts: dict[str, list[Record]] = {}
    for record in records:
        part = record["part"]
        so_far = open_parts.setdefault(part, [])
        if record["number"] == 0:
            so_far.clear()
        so_far.append(record)
        if record["last"]:
            kept.setdefault(part, open_parts.pop(part))
    return [record for part in kept.values() for record in part]


def measure_cell(
    cell: Cell,
    table: Table,
    parts: Sequence[str],
    settings: Settings,
    keep: Callable[[list[Record]], None],
    kept_backbones: Path | None = None,
) -> None:
    """Measure some parts of a cell, handing over each part's records at once."""
    repetition = repetition_of(cell, table)
    truth = Truth(repetition)
    ground: Ground | None = None
    with threadpool_limits(1):
        for part in parts:
            if part in CONTROLS:
                keep(_numbered(cell, part, {}, _control(cell, repetition, part)))
                continue
            if ground is None:
                ground = prepare(cell, repetition, settings, kept_backbones)
            made = _made(ground, part, truth)
            keep(_numbered(cell, part, settings, made))


def _made(ground: Ground, part: str, truth: Truth) -> list[Record]:
    started = time.process_time()
    if part == POISON:
        records = poison_records(ground, truth)
        seconds = round(time.process_time() - started, 3)
        return [{"kind": "poison", "seconds": {"all": seconds}, **r} for r in records]
    if part in RUNS:
        return _run(ground, part, truth)
    rows = RUNGS[part](ground, BUDGET, ground.cell.stream(part))
    seconds = {"fit": ground.fit_seconds, "draw": time.process_time() - started}
    return [_scored(ground.repetition, rows, seconds)]


def _run(ground: Ground, part: str, truth: Truth) -> list[Record]:
    run = run_loop(ground, RUNS[part], BUDGET)
    started = time.process_time()
    checks = []
    if ground.cell.n_real >= CHECKED_FROM:
        checks = [{"kind": "check", **r} for r in check_records(run, truth)]
    spent = {
        "fit": ground.fit_seconds,
        **run.seconds,
        "truth": time.process_time() - started,
    }
    scored = _scored(ground.repetition, run.rows, spent)
    about = {
        "verdict": "augment" if len(run.rows) else "no_gain",
        "stop": run.stop,
        "evaluator": run.evaluator,
        "checks": len(run.checks),
    }
    return [*checks, scored | about]


def _control(cell: Cell, repetition: Repetition, part: str) -> list[Record]:
    started = time.process_time()
    rows = CONTROLS[part](repetition.real, BUDGET, cell.stream(part))
    spent = {"draw": time.process_time() - started}
    return [_scored(repetition, rows, spent)]


def _scored(
    repetition: Repetition, rows: Table | None, seconds: Mapping[str, float]
) -> Record:
    started = time.process_time()
    scores = repetition.score(rows)
    spent = {**seconds, "score": time.process_time() - started}
    target = repetition.real.schema.target
    metric = "rmse" if target and target.task == "regression" else "accuracy"
    return {
        "kind": "rung",
        "metric": metric,
        "mean": mean_score(scores, metric),
        "scores": scores,
        "n_added": 0 if rows is None else len(rows),
        "seconds": {name: round(value, 3) for name, value in spent.items()},
    }


def _numbered(
    cell: Cell, part: str, settings: Settings, records: Sequence[Record]
) -> list[Record]:
    heading = {**asdict(cell), "part": part, "method": part, "config": dict(settings)}
    last = len(records) - 1
    return [
        {**heading, "number": number, "last": number == last, **record}
        for number, record in enumerate(records)
    ]


def _measure_named(
    cell: Cell, parts: list[str], settings: Settings, file: Path, mark: Record
) -> str:
    kept = file.with_suffix(".safetensors")

    def keep(records: list[Record]) -> None:
        append_records(file, [record | mark for record in records])

    measure_cell(cell, load_table(cell.table), parts, settings, keep, kept)
    forget(kept)
    return f"{cell.table} n={cell.n_real} split {cell.split}"


def _run_all(options: argparse.Namespace) -> None:
    settings = config_overrides(options.config)
    cells = [
        Cell(table=table, n_real=n_real, split=split, seed=options.seed)
        for split in range(options.splits)
        for n_real in options.n_real
        for table in options.tables
    ]
    work = []
    for cell in cells:
        file = file_of(options.out, cell, settings)
        left = pending(read_records(file), parts_of(cell, options.parts))
        if left:
            work.append((cell, left, settings, file))
    print(f"{len(work)} of {len(cells)} cells to measure", flush=True)
    mark = stamp()
    parallel = Parallel(n_jobs=options.jobs, return_as="generator_unordered")
    jobs = (delayed(_measure_named)(*job, mark) for job in work)
    for number, place in enumerate(parallel(jobs), start=1):
        print(f"{number}/{len(work)} {place}", flush=True)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    names = tuple(SOURCES)
    parser.add_argument("--tables", nargs="+", default=names, choices=names)
    parser.add_argument("--n-real", nargs="+", type=int, default=(20, 50, 100))
    parser.add_argument("--splits", type=int, default=3, help="splits of each table")
    parser.add_argument("--parts", nargs="+", default=PARTS, choices=PARTS)
    parser.add_argument("--seed", type=int, default=0, help="chooses the splits")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--out", type=Path, default=Path("study"), help="folder")
    add_config_option(parser)
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is missing."""
    _run_all(_options(arguments))


if __name__ == "__main__":
    main()
