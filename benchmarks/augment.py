"""Speed of a whole run, from a frame of 50 rows to 500 more, and where the time goes.

Run: ``make bench``, or ``python benchmarks/augment.py``; some minutes.  With ``--page``
the records of ``--out`` become docs/results/speed.md.

Everything is included: reading the frame, learning the table, the loop and its judges.
Beside it, in the same run, a rival that judges nothing: one backbone and 500 rows.  CPU
seconds on one thread, the least of the repeats; stages are by the clock, in that run.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path

import pandas as pd
import torch
from cells import Cell
from pages import FOLDER, found_in, markdown_table, provenance, write_page
from records import Record, Records, keep_all, read_records, stamp
from threadpoolctl import threadpool_limits

from tabtap.api import TabularAugmenter
from tabtap.diffusion import fit_backbone
from tabtap.rivals.ladder import draw_one_shot
from tabtap.study.cell import load_table
from tabtap.study.protocol import repetition
from tabtap.study.sources import load_source

TABLES = ("MiceProtein", "mfeat-fourier")
LIMITS: Mapping[str, float] = {"default": 90.0, "fast": 30.0}
"""Most CPU seconds, by preset."""

RIVAL = "one shot"
N_REAL, BUDGET = 50, 500


def timed_run(name: str, preset: str, budget: int, seed: int) -> Record:
    """Augment the frame of one table; return what it took and what came of it."""
    frame, target = small_frame(name, seed)
    augmenter = TabularAugmenter(preset=preset, budget=budget, random_state=seed)
    started = time.process_time()
    result = augmenter.fit_table(frame, target)
    spent = time.process_time() - started
    return {
        "cpu_seconds": round(spent, 3),
        "stages": {k: round(v, 3) for k, v in result.about.seconds.items()},
        "evaluator": result.about.evaluator,
        "verdict": result.verdict,
        "n_added": len(result.delivered),
    }


def timed_rival(name: str, budget: int, seed: int) -> Record:
    """Fit one backbone and draw all rows at once."""
    cell = Cell(table=name, n_real=N_REAL, split=0, seed=seed)
    real, rng = cell.repetition(load_table(name)[0]).real, cell.stream(RIVAL)
    started = time.process_time()
    backbone = fit_backbone(real, rng=rng)
    fitted = time.process_time()
    rows = draw_one_shot(backbone, real, budget, rng)
    ended = time.process_time()
    return {
        "cpu_seconds": round(ended - started, 3),
        "stages": {
            "backbones": round(fitted - started, 3),
            "drawing": round(ended - fitted, 3),
        },
        "n_added": len(rows),
    }


def small_frame(name: str, seed: int) -> tuple[pd.DataFrame, str]:
    """Return the real rows of a repetition as the user's frame, and its target."""
    source = load_source(name)
    part = repetition(load_table(name)[0], N_REAL, 0, seed=seed)
    # Rows of a table know their place in the frame it was read from.
    return source.frame.iloc[part.real.origin], source.target


def quickest(runs: Sequence[Record]) -> Record:
    """Return the run with the fewest CPU seconds."""
    return min(runs, key=lambda run: run["cpu_seconds"])


def speed_table(records: Records) -> str:
    """Return the last measurement of each table and preset."""
    last = {(record["table"], record["preset"]): record for record in records}
    rows = []
    for (table, preset), record in sorted(last.items()):
        stages = ", ".join(f"{k} {v:.1f}" for k, v in record["stages"].items())
        limit = f"{LIMITS[preset]:.0f}" if preset in LIMITS else "-"
        rows.append(
            [table, preset, f"{record['cpu_seconds']:.1f}", limit,
             str(record["n_added"]), str(record["repeats"]), stages]
        )  # fmt: skip
    header = ["table", "preset", "CPU s", "limit", "rows", "repeats", "stages, seconds"]
    return markdown_table(header, rows)


def speed_page(records: Records) -> str:
    """Return the measurements as a page, with how they were made."""
    budgets = " or ".join(map(str, found_in(records, "budget")))
    text = (
        f"# Speed of a run\n\n{N_REAL} real rows to {budgets} more through "
        "`TabularAugmenter`, no learner named,\neverything included; CPU seconds on "
        "one thread, the least of the repeats. *One shot*: a\nbackbone and its rows, "
        "which nobody judges."
    )
    source = provenance(records, ["python benchmarks/augment.py"])
    return "\n\n".join([text, speed_table(records), source]) + "\n"


def _measured(options: argparse.Namespace, table: str, preset: str) -> Record:
    runs = []
    for _ in range(options.repeats):
        if preset == RIVAL:
            runs.append(timed_rival(table, options.budget, options.seed))
        else:
            runs.append(timed_run(table, preset, options.budget, options.seed))
    heading = {"table": table, "preset": preset, "seed": options.seed}
    heading |= {"n_real": N_REAL, "budget": options.budget}
    return {**heading, **quickest(runs), "repeats": options.repeats}


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tables", nargs="+", default=TABLES, choices=TABLES)
    presets = (*LIMITS, RIVAL)
    parser.add_argument("--presets", nargs="+", default=presets, choices=presets)
    parser.add_argument("--budget", type=int, default=BUDGET)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="file of JSON lines to add to")
    page = FOLDER / "speed.md"
    parser.add_argument("--page", nargs="?", type=Path, const=page, help="write a page")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    options = _options(arguments)
    torch.set_num_threads(1)
    found = (
        [_measured(options, table, preset)]
        for table in options.tables
        for preset in options.presets
    )
    with threadpool_limits(1):
        records = list(chain.from_iterable(keep_all(found, options.out, stamp())))
    print(speed_table(records))
    if options.page is not None:
        kept = records if options.out is None else read_records(options.out)
        write_page(options.page, speed_page(kept))


if __name__ == "__main__":
    main()
