"""Speed and memory of the inpainter, the paper's size beside the default.

Run: ``make bench``, or ``python benchmarks/backbone.py``; a few minutes.

CPU seconds on one thread, the least of some repeats: what else runs on the machine
hardly shows.  The paper's 8,000 steps would take the better part of an hour, so a few
are timed and the rest is multiplication; the table says so.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from records import Record, append_records, stamp
from threadpoolctl import threadpool_limits

from tabtap.compare.runner import peak_bytes
from tabtap.config import DiffusionConfig
from tabtap.diffusion import fit_backbone, fit_fold_backbones
from tabtap.table import Table, read_frame

TIMED_STEPS = 40
"""Training steps of the paper's size that are really taken."""

QUICK_STEPS = 4
"""The same, when only a rough answer is wanted."""

N_FOLDS = 5
LIMITS: Mapping[str, float] = {
    "one backbone fitted": 10.0,
    "five fold backbones fitted together": 25.0,
    "16 rows, half of the cells redrawn": 0.1,
    "500 rows drawn": 1.0,
}
"""Most CPU seconds of each task, with the default settings."""

MEMORY_LIMIT_GB = 3.0
MEMORY_ROWS = 100_000
MEMORY_NUMBERS, MEMORY_CATEGORIES = 30, 10
MEMORY_SAMPLED = 1000
"""The large table whose fitting is measured, and the rows drawn of it."""

MEMORY_QUICK_STEPS = 20

Task = Callable[[], object]


def made_up_table(
    n_rows: int, *, n_numbers: int, n_categories: int, n_classes: int
) -> Table:
    """Return related numbers, categories of 2 to 11 levels, and even classes."""
    rng = np.random.default_rng(0)
    label = np.arange(n_rows) % n_classes
    numbers = rng.normal(size=(n_rows, n_numbers)) @ rng.normal(
        size=(n_numbers, n_numbers)
    )
    numbers += rng.normal(size=(n_classes, n_numbers))[label]
    frame = pd.DataFrame({f"number {i}": column for i, column in enumerate(numbers.T)})
    for place in range(n_categories):
        codes = rng.integers(2 + place, size=n_rows)
        levels = np.array([f"level {code}" for code in range(2 + place)], dtype=object)
        frame[f"category {place}"] = levels[codes]
    frame["class"] = label
    return read_frame(frame, "class", task="classification")


def least_seconds(task: Task, repeats: int) -> float:
    """Return the fewest CPU seconds that a task took."""
    spent = []
    for _ in range(repeats):
        started = time.process_time()
        task()
        spent.append(time.process_time() - started)
    return min(spent)


def measure(table: Table, config: DiffusionConfig, repeats: int) -> dict[str, float]:
    """Return CPU seconds by task, in the order of ``LIMITS``.

    Fitting is scaled to the steps that the paper's size takes in full.
    """
    fold = np.arange(len(table)) % N_FOLDS
    # The first call of a process pays for what torch sets up once.
    fit_backbone(table, rng=_rng(), config=replace(config, n_steps=2))
    backbone = fit_backbone(table, rng=_rng(), config=replace(config, n_steps=20))
    anchors = table.take(np.arange(16) % len(table))
    regenerate = _rng().random(anchors.missing.shape) < 0.5
    tasks: tuple[Task, ...] = (
        lambda: fit_backbone(table, rng=_rng(), config=config),
        lambda: fit_fold_backbones(table, fold, rng=_rng(), config=config),
        lambda: backbone.inpaint(anchors, regenerate, _rng()),
        lambda: backbone.sample(500, _rng()),
    )
    seconds = [least_seconds(task, repeats) for task in tasks]
    return dict(zip(LIMITS, seconds, strict=True))


def scaled(seconds: Mapping[str, float], factor: float) -> dict[str, float]:
    """Return the same seconds with those of fitting multiplied."""
    return {
        task: value * factor if "fitted" in task else value
        for task, value in seconds.items()
    }


def peak_memory(*, quick: bool) -> Record:
    """Fit and sample a large table in a process of its own; return what it took."""
    command = [sys.executable, __file__, "--memory-alone"]
    command += ["--quick"] if quick else []
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: Record = json.loads(done.stdout)
    return found


def large_table_cost(n_rows: int, *, quick: bool) -> Record:
    """Fit a large mixed table and draw rows; return peak memory and CPU seconds.

    The peak is that of the whole process, which is to do nothing else.
    """
    table = made_up_table(
        n_rows,
        n_numbers=MEMORY_NUMBERS,
        n_categories=MEMORY_CATEGORIES,
        n_classes=2,
    )
    n_steps = MEMORY_QUICK_STEPS if quick else None
    config = DiffusionConfig(n_steps=n_steps, device="cpu")
    rng = _rng()
    started = time.process_time()
    backbone = fit_backbone(table, rng=rng, config=config)
    backbone.sample(MEMORY_SAMPLED, rng)
    peak = peak_bytes()
    return {
        "peak_gb": None if peak is None else peak / 1e9,
        "seconds": time.process_time() - started,
        "n_steps": backbone.training.n_steps,
    }


def speed_table(record: Mapping[str, Any]) -> str:
    """Return one measurement as lines of at most 80 characters."""
    default, paper = record["default"], record["paper"]
    n_steps = DiffusionConfig.paper().n_steps
    lines = [f"{'CPU seconds, 40 rows x 77 numbers':<36}{_heads()}"]
    for task, limit in LIMITS.items():
        ours, theirs = default[task], paper[task]
        star = "*" if "fitted" in task else " "
        lines.append(
            f"{task:<36}{ours:>9.3f}{limit:>9.1f}{theirs:>10.2f}{star}"
            f"{theirs / ours:>10.0f}"
        )
    lines += [
        f"* {record['timed_steps']} of {n_steps:,} steps timed, and multiplied.",
        "",
        f"Peak memory, {MEMORY_ROWS:,} rows x {MEMORY_NUMBERS + MEMORY_CATEGORIES} "
        f"columns fitted and {MEMORY_SAMPLED:,} rows drawn:",
        f"{_memory_line(record['memory'])}",
    ]
    return "\n".join(lines)


def _heads() -> str:
    heads = zip(("default", "limit", "paper", "ratio"), (9, 9, 10, 11), strict=True)
    return "".join(f"{head:>{width}}" for head, width in heads)


def _memory_line(found: Mapping[str, Any]) -> str:
    if found["peak_gb"] is None:
        return "not measured: this system does not tell a process its peak"
    return (
        f"{found['peak_gb']:.2f} GB (limit {MEMORY_LIMIT_GB:.0f} GB), "
        f"{found['seconds']:.0f} CPU s for {found['n_steps']:,} steps"
    )


def _rng() -> np.random.Generator:
    return np.random.default_rng(0)


def _run(options: argparse.Namespace) -> Record:
    # First, while this process is small: a system may count a parent's size at the
    # start of a child as the child's own.
    memory = peak_memory(quick=options.quick)
    n_steps = QUICK_STEPS if options.quick else TIMED_STEPS
    repeats = 1 if options.quick else options.repeats
    table = made_up_table(40, n_numbers=77, n_categories=0, n_classes=8)
    brief = replace(DiffusionConfig.paper(), n_steps=n_steps, device="cpu")
    factor = (DiffusionConfig.paper().n_steps or n_steps) / n_steps
    torch.set_num_threads(1)
    with threadpool_limits(1):
        default = measure(table, DiffusionConfig(device="cpu"), repeats)
        paper = scaled(measure(table, brief, repeats=1), factor)
    return {
        "default": default,
        "paper": paper,
        "timed_steps": n_steps,
        "repeats": repeats,
        "quick": options.quick,
        "memory": memory,
    }


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--repeats", type=int, default=3, help="of each task of the default size"
    )
    parser.add_argument(
        "--quick", action="store_true", help="no repeats, and few training steps"
    )
    parser.add_argument("--out", type=Path, help="file of JSON lines to add to")
    # What a run asks of a process of its own.
    parser.add_argument("--memory-alone", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--rows", type=int, default=MEMORY_ROWS, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    options = _options(arguments)
    if options.memory_alone:
        print(json.dumps(large_table_cost(options.rows, quick=options.quick)))
        return
    record = _run(options) | stamp()
    if options.out:
        append_records(options.out, [record])
    print(speed_table(record))


if __name__ == "__main__":
    main()
