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
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from paper_tables import load_table
from records import append_records, read_records, stamp
from settings import add_config_option, config_overrides
from summary import column_name, summarise
from threadpoolctl import threadpool_limits

from tabtap.compare.predictors import mean_score
from tabtap.config import DiffusionConfig
from tabtap.diffusion import Backbone, fit_backbone
from tabtap.rivals.ladder import draw_one_shot
from tabtap.rivals.simple import copies, jitter, smote
from tabtap.rng import stream
from tabtap.study.protocol import Repetition, repetitions
from tabtap.study.sources import SOURCES
from tabtap.table import Table

N_ADDED = 500
"""Rows every method adds to the real ones."""

REDRAWN_SHARE = 0.5
"""Chance of each cell to be regenerated in "half redrawn"."""

Settings = Mapping[str, Any]
Record = dict[str, Any]
Made = dict[str, tuple[Table | None, dict[str, float]]]
"""Rows by method, with the CPU seconds they took."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One repetition: what all methods of a comparison share."""

    table: str
    n_real: int
    split: int
    seed: int

    def stream(self, purpose: str) -> np.random.Generator:
        """Return the random stream of this cell for one purpose."""
        return stream(self.seed, purpose, self.table, self.n_real, self.split)


def half_redrawn(
    backbone: Backbone, real: Table, n: int, rng: np.random.Generator
) -> Table:
    """Redraw about half of the cells of real rows, chosen evenly."""
    anchors = copies(real, n, rng)
    regenerate = rng.random(anchors.missing.shape) < REDRAWN_SHARE
    return backbone.inpaint(anchors, regenerate, rng)


CONTROLS: Mapping[str, Callable[[Table, int, np.random.Generator], Table | None]] = {
    "real": lambda _real, _n, _rng: None,
    "copies": copies,
    "jitter": jitter,
    "smote": smote,
}
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
    every = repetitions(table, cell.n_real, cell.split + 1, seed=cell.seed)
    repetition = next(islice(every, cell.split, None))
    with threadpool_limits(1):
        made = _control_rows(cell, repetition.real, methods)
        made |= _generated_rows(cell, repetition.real, methods, settings)
        return [
            _heading(cell, method, settings) | _scored(repetition, *made[method])
            for method in methods
        ]


def pending(
    cells: Sequence[Cell],
    methods: Sequence[str],
    settings: Settings,
    known: Sequence[Record],
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


def _identity(record: Record) -> tuple[object, ...]:
    names = ("table", "n_real", "split", "seed")
    return (*(record[name] for name in names), column_name(record))


def _heading(cell: Cell, method: str, settings: Settings) -> Record:
    """Return what tells one measurement from another; controls have no settings."""
    config = dict(settings) if method in GENERATED else {}
    return {**asdict(cell), "method": method, "config": config}


def _control_rows(cell: Cell, real: Table, methods: Sequence[str]) -> Made:
    made: Made = {}
    for method in methods:
        if method in CONTROLS:
            started = time.process_time()
            rows = CONTROLS[method](real, N_ADDED, cell.stream(method))
            made[method] = rows, {"draw": time.process_time() - started}
    return made


def _generated_rows(
    cell: Cell, real: Table, methods: Sequence[str], settings: Settings
) -> Made:
    chosen = [method for method in methods if method in GENERATED]
    if not chosen:
        return {}
    started = time.process_time()
    config = DiffusionConfig(**settings)
    backbone = fit_backbone(real, rng=cell.stream("backbone"), config=config)
    fit = time.process_time() - started
    made: Made = {}
    for method in chosen:
        started = time.process_time()
        rows = GENERATED[method](backbone, real, N_ADDED, cell.stream(method))
        made[method] = rows, {"fit": fit, "draw": time.process_time() - started}
    return made


def _scored(
    repetition: Repetition, rows: Table | None, seconds: Mapping[str, float]
) -> Record:
    started = time.process_time()
    scores = repetition.score(rows)
    spent = {**seconds, "score": time.process_time() - started}
    target = repetition.real.schema.target
    metric = "rmse" if target and target.task == "regression" else "accuracy"
    return {
        "metric": metric,
        "mean": mean_score(scores, metric),
        "scores": scores,
        "seconds": {name: round(value, 3) for name, value in spent.items()},
    }


def _measure_named(cell: Cell, methods: list[str], settings: Settings) -> list[Record]:
    return measure(cell, load_table(cell.table), methods, settings)


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
    mark = stamp()
    parallel = Parallel(n_jobs=options.jobs, return_as="generator_unordered")
    jobs = (delayed(_measure_named)(cell, left, settings) for cell, left in work)
    for number, records in enumerate(parallel(jobs), start=1):
        append_records(options.out, [record | mark for record in records])
        first = records[0]
        place = f"{first['table']} n={first['n_real']} split {first['split']}"
        print(f"{number}/{len(work)} {place}", flush=True)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    names = tuple(SOURCES)
    parser.add_argument("--tables", nargs="+", default=names, choices=names)
    parser.add_argument("--n-real", nargs="+", type=int, default=(20, 50))
    parser.add_argument("--splits", type=int, default=3, help="splits of each table")
    parser.add_argument("--methods", nargs="+", default=METHODS, choices=METHODS)
    parser.add_argument("--seed", type=int, default=0, help="chooses the splits")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
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
