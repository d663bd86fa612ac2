"""Whether drawn rows help the paper's predictors when real rows are few.

Run: ``python benchmarks/usefulness.py --out usefulness.jsonl --jobs 2``, then
``python benchmarks/usefulness.py --summary usefulness.jsonl``.

To each repetition's real rows every method adds 500 rows; accuracy (or RMSE) on test
rows is averaged over the paper's predictors.  One JSON line for each table, n_real,
split, method and settings.  What is in the output file already is not measured again,
so one file can hold several settings beside the same controls.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from cells import (
    CONTROLS,
    Cell,
    Settings,
    add_cell_options,
    add_config_option,
    column_name,
    config_overrides,
    scored,
)
from pages import markdown_table, mean_and_error, with_error
from records import Record, Records, hand_out, keep_all, read_records, stamp
from threadpoolctl import threadpool_limits

from tabtap.config import DiffusionConfig
from tabtap.diffusion import Backbone, fit_backbone
from tabtap.rivals.ladder import draw_one_shot
from tabtap.rivals.simple import copies
from tabtap.study.cell import load_table
from tabtap.study.sources import SOURCES
from tabtap.table import Table

N_ADDED = 500
"""Rows every method adds to the real ones."""

REDRAWN_SHARE = 0.5
"""Chance of each cell to be regenerated in "half redrawn"."""

RIVALS = ("copies", "jitter", "smote")
"""What gains are told over, beside real rows alone."""

Place = tuple[str, int, int]
"""Table, split and seed of a measurement."""


def half_redrawn(
    backbone: Backbone, real: Table, n: int, rng: np.random.Generator
) -> Table:
    """Redraw about half of the cells of real rows, chosen evenly."""
    anchors = copies(real, n, rng)
    regenerate = rng.random(anchors.missing.shape) < REDRAWN_SHARE
    return backbone.inpaint(anchors, regenerate, rng)


GENERATED: Mapping[
    str, Callable[[Backbone, Table, int, np.random.Generator], Table]
] = {"all redrawn": draw_one_shot, "half redrawn": half_redrawn}
METHODS = (*CONTROLS, *GENERATED)


def measure(
    cell: Cell, table: Table, methods: Sequence[str], settings: Settings
) -> list[Record]:
    """Score some methods on one repetition of a table.

    Parameters
    ----------
    cell : Cell
        Which repetition.
    table : Table
        All rows of the table the cell names.
    methods : sequence of str
        Names from ``METHODS``.  Generated ones share one backbone.
    settings : mapping
        Settings of the backbone that differ from the default.

    Returns
    -------
    list of dict
        One record per method; seconds are CPU seconds.
    """
    repetition = cell.repetition(table)
    with threadpool_limits(1):
        return [
            _heading(cell, method, settings) | scored(repetition, rows, seconds)
            for method, rows, seconds in _made(cell, repetition.real, methods, settings)
        ]


def pending(
    cells: Sequence[Cell],
    methods: Sequence[str],
    settings: Settings,
    known: Records,
) -> Iterator[tuple[Cell, list[str]]]:
    """Yield each cell with the methods that no record has yet."""
    done = {_identity(record) for record in known}
    for cell in cells:
        left = [
            method
            for method in methods
            if _identity(_heading(cell, method, settings)) not in done
        ]
        if left:
            yield cell, left


def _identity(record: Mapping[str, Any]) -> tuple[object, ...]:
    names = ("table", "n_real", "split", "seed")
    return (*(record[name] for name in names), column_name(record))


def _heading(cell: Cell, method: str, settings: Settings) -> Record:
    """Return what tells one measurement from another; controls have no settings."""
    config = dict(settings) if method in GENERATED else {}
    return {**asdict(cell), "method": method, "config": config}


def _made(
    cell: Cell, real: Table, methods: Sequence[str], settings: Settings
) -> Iterator[tuple[str, Table | None, dict[str, float]]]:
    """Yield each method with its rows and the CPU seconds they took, by stage."""
    draws, fit = dict(CONTROLS), 0.0
    if not GENERATED.keys().isdisjoint(methods):
        started = time.process_time()
        config = DiffusionConfig(**settings)
        backbone = fit_backbone(real, rng=cell.stream("backbone"), config=config)
        fit = time.process_time() - started
        draws |= {name: partial(draw, backbone) for name, draw in GENERATED.items()}
    for method in methods:
        started = time.process_time()
        rows = draws[method](real, N_ADDED, cell.stream(method))
        seconds = {"fit": fit} if method in GENERATED else {}
        yield method, rows, seconds | {"draw": time.process_time() - started}


# ---- What was measured, in a few tables: means by method, and differences with errors.
#
# Differences are paired: both methods on the same table, n_real, split and seed.  Their
# standard error is over those cells.


def summarise(records: Records) -> str:
    """Return, for each n_real, scores by method and gains over the rivals."""
    sizes = sorted({record["n_real"] for record in records})
    parts = []
    for n_real in sizes:
        chosen = [record for record in records if record["n_real"] == n_real]
        parts += [f"n_real = {n_real}", score_table(chosen), gain_table(chosen)]
    return "\n\n".join(parts)


def score_table(records: Records) -> str:
    """Return mean accuracies in per cent, and RMSEs, by table and method.

    The last line averages over classification tables; a method that lacks one of
    them has no average.
    """
    columns = _columns(records)
    found = {record["table"]: record["metric"] for record in records}
    metric = {table: found[table] for table in [*SOURCES, *found] if table in found}
    means = {
        table: [_mean_of(records, table, column) for column in columns]
        for table in metric
    }
    rows = [
        [_title(table, metric[table]), *(_score(x, metric[table]) for x in line)]
        for table, line in means.items()
    ]
    accuracies = [means[name] for name in metric if metric[name] == "accuracy"]
    if accuracies:
        average = np.mean(accuracies, axis=0)
        rows.append(["mean of accuracies", *(_score(x, "accuracy") for x in average)])
    return markdown_table(["", *columns], rows)


def gain_table(records: Records) -> str:
    """Return paired gains over each rival, in points and in per cent of its RMSE."""
    header = ["gain of", "in", *(f"over {rival}" for rival in RIVALS), "cells"]
    rows = []
    for metric, unit in (("accuracy", "points"), ("rmse", "% of RMSE")):
        chosen = [record for record in records if record["metric"] == metric]
        columns = [name for name in _columns(chosen) if name not in CONTROLS]
        for name in columns:
            gains = [paired_gains(chosen, name, rival, metric) for rival in RIVALS]
            n_cells = max(map(len, gains))
            rows.append([name, unit, *map(with_error, gains), str(n_cells)])
    return markdown_table(header, rows)


def paired_gains(records: Records, name: str, rival: str, metric: str) -> list[float]:
    """Return how much better one column is than another in each cell they share.

    Parameters
    ----------
    records : sequence of mappings
        Measurements of one n_real.
    name, rival : str
        Columns: a method, or a method with its settings.
    metric : {"accuracy", "rmse"}
        Accuracy differences are in points, those of RMSE in per cent of the rival's;
        positive is better in both.
    """
    ours, theirs = _by_place(records, name), _by_place(records, rival)
    shared = sorted(set(ours) & set(theirs))
    if metric == "accuracy":
        return [100 * (ours[place] - theirs[place]) for place in shared]
    return [100 * (1 - ours[place] / theirs[place]) for place in shared]


def _columns(records: Records) -> list[str]:
    found = dict.fromkeys(map(column_name, records))
    return [name for name in dict.fromkeys((*CONTROLS, *found)) if name in found]


def _by_place(records: Records, name: str) -> dict[Place, float]:
    return {
        (record["table"], record["split"], record["seed"]): record["mean"]
        for record in records
        if column_name(record) == name
    }


def _mean_of(records: Records, table: str, name: str) -> float:
    chosen = [record for record in records if record["table"] == table]
    return mean_and_error(list(_by_place(chosen, name).values()))[0]


def _title(table: str, metric: str) -> str:
    return f"{table} (RMSE)" if metric == "rmse" else table


def _score(value: float, metric: str) -> str:
    if np.isnan(value):
        return "-"
    return f"{value:.3f}" if metric == "rmse" else f"{100 * value:.1f}"


def _measure_named(cell: Cell, methods: list[str], settings: Settings) -> list[Record]:
    return measure(cell, load_table(cell.table)[0], methods, settings)


def _run(options: argparse.Namespace) -> None:
    settings = config_overrides(options.config)
    cells = [
        Cell(table=table, n_real=n_real, split=split, seed=options.seed)
        for split in range(options.splits)
        for table in options.tables
        for n_real in options.n_real
    ]
    known = read_records(options.out)
    work = list(pending(cells, options.methods, settings, known))
    print(f"{len(work)} of {len(cells)} cells to measure", flush=True)
    tasks = [(cell, left, settings) for cell, left in work]
    found = hand_out(_measure_named, tasks, jobs=options.jobs)
    for number, records in enumerate(keep_all(found, options.out, stamp()), start=1):
        first = records[0]
        place = f"{first['table']} n={first['n_real']} split {first['split']}"
        print(f"{number}/{len(work)} {place}", flush=True)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add_cell_options(parser, (20, 50), "methods", METHODS)
    parser.add_argument("--out", type=Path, default=Path("usefulness.jsonl"))
    parser.add_argument("--summary", type=Path, help="print what a file holds")
    add_config_option(parser)
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is missing, or print what a file holds."""
    options = _options(arguments)
    if options.summary is None:
        _run(options)
    print(summarise(read_records(options.summary or options.out)))


if __name__ == "__main__":
    main()
