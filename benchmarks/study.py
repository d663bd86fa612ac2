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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from cells import (
    CONTROLS,
    Cell,
    Settings,
    add_cell_options,
    add_config_option,
    config_overrides,
    scored,
)
from records import Record, Records, hand_out, keep_all, read_records, stamp
from study_cell import (
    RUNGS,
    RUNS,
    Ground,
    Truth,
    check_records,
    forget,
    poison_records,
    prepare,
    run_loop,
)
from threadpoolctl import threadpool_limits

from tabtap.study.cell import load_table
from tabtap.study.protocol import Repetition
from tabtap.table import Table

BUDGET = 500
"""Rows that every rung may add."""

CHECKED_FROM = 50
"""Least n_real at which true gains and poison are measured."""

POISON = "poison"
METHODS = (*CONTROLS, *RUNGS, *RUNS)
PARTS = (*METHODS, POISON)


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


def pending(records: Records, parts: Sequence[str]) -> list[str]:
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
    kept_backbones: Path | None = None,
) -> Iterator[list[Record]]:
    """Measure some parts of a cell, yielding each part's records at once."""
    repetition = cell.repetition(table)
    truth = Truth(repetition)
    ground: Ground | None = None
    with threadpool_limits(1):
        for part in parts:
            if part in CONTROLS:
                yield _numbered(cell, part, {}, _control(cell, repetition, part))
                continue
            if ground is None:
                ground = prepare(cell, repetition, settings, kept_backbones)
            yield _numbered(cell, part, settings, _made(ground, part, truth))


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
    return [_rung(ground.repetition, rows, seconds)]


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
    rung = _rung(ground.repetition, run.rows, spent)
    about = {
        "verdict": "augment" if len(run.rows) else "no_gain",
        "stop": run.stop,
        "evaluator": run.evaluator,
        "checks": len(run.checks),
    }
    return [*checks, rung | about]


def _control(cell: Cell, repetition: Repetition, part: str) -> list[Record]:
    started = time.process_time()
    rows = CONTROLS[part](repetition.real, BUDGET, cell.stream(part))
    spent = {"draw": time.process_time() - started}
    return [_rung(repetition, rows, spent)]


def _rung(
    repetition: Repetition, rows: Table | None, seconds: Mapping[str, float]
) -> Record:
    n_added = 0 if rows is None else len(rows)
    return {"kind": "rung", "n_added": n_added, **scored(repetition, rows, seconds)}


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
    cell: Cell,
    parts: list[str],
    settings: Settings,
    file: Path,
    mark: Mapping[str, str],
) -> str:
    kept, table = file.with_suffix(".safetensors"), load_table(cell.table)[0]
    found = measure_cell(cell, table, parts, settings, kept)
    for _ in keep_all(found, file, mark):
        pass
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
    tasks, mark = [], stamp()
    for cell in cells:
        file = file_of(options.out, cell, settings)
        left = pending(read_records(file), parts_of(cell, options.parts))
        if left:
            tasks.append((cell, left, settings, file, mark))
    print(f"{len(tasks)} of {len(cells)} cells to measure", flush=True)
    found = hand_out(_measure_named, tasks, jobs=options.jobs)
    for number, place in enumerate(found, start=1):
        print(f"{number}/{len(tasks)} {place}", flush=True)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add_cell_options(parser, (20, 50, 100), "parts", PARTS)
    parser.add_argument("--out", type=Path, default=Path("study"), help="folder")
    add_config_option(parser)
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is missing."""
    _run_all(_options(arguments))


if __name__ == "__main__":
    main()
