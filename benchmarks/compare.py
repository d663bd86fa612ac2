"""What the runner of comparisons costs beside the work that it hands out.

    python benchmarks/compare.py

A grid of trivial cells is run from the start of its workers to the last record: all of
that time is the runner's.  It is set beside the cheapest work a cell can have, six
predictors trained on 20 real rows and no method at all, measured in the same run.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from typing import Any

import numpy as np

from tabtap.compare.predictors import score_predictors
from tabtap.compare.runner import Cluster, run_cells
from tabtap.compare.store import Cell, Store
from tabtap.datasets import load_penguins
from tabtap.table import read_frame


def trivial(cell: Cell) -> dict[str, Any]:
    """Do nothing, and say so."""
    return {"cell": cell.written(), "scores": {}, "failure": None}


def runner_seconds(n: int, jobs: int) -> float:
    """Return the wall time of a grid of trivial cells in a new store."""
    cells = [Cell(dataset="toy", n_real=20, split=i, method="Real") for i in range(n)]
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        summary = run_cells(cells, trivial, Store(folder), cluster=Cluster(jobs=jobs))
        spent = time.perf_counter() - started
    if summary.n_done != n:
        raise AssertionError(f"{summary.n_done} of {n} cells have records")
    return spent


def work_seconds() -> float:
    """Return the CPU time of the cheapest cell: predictors on 20 real rows."""
    birds = read_frame(load_penguins(), target="species")
    rows = np.random.default_rng(0).permutation(len(birds))
    started = time.process_time()
    score_predictors(birds.take(rows[:20]), birds.take(rows[20:]))
    return time.process_time() - started


def main(arguments: list[str] | None = None) -> None:
    """Measure, and print a line for each part."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cells", type=int, default=2000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args(arguments)
    cold = runner_seconds(given.cells, given.jobs)
    print(f"{given.cells} trivial cells, new workers: {cold:.1f} s")
    rounds = range(given.repeats)
    warm = min(runner_seconds(given.cells, given.jobs) for _ in rounds)
    work = min(work_seconds() for _ in rounds)
    each = warm * given.jobs / given.cells
    print(f"of a worker's time, each cell: {1e3 * each:.1f} ms")
    print(f"the cheapest cell's work: {1e3 * work:.0f} ms; overhead {each / work:.1%}")


if __name__ == "__main__":
    main()
