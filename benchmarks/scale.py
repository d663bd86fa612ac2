"""Rows against CPU seconds and memory: tables of 40 columns with a rare class.

    python benchmarks/scale.py --out build/results/scale.jsonl

Every measurement is made in a process of its own, whose peak memory is told.  Making
and writing the table is not measured.  ``--page`` writes docs/results/scale.md.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pages
import pandas as pd
from records import ROOT, Record, measure_missing, read_records

PAGE = pages.FOLDER / "scale.md"
NOTES = PAGE.with_name("scale_notes.md")
OUT = ROOT / "build" / "results" / "scale.jsonl"

ROWS = (1_000, 10_000, 200_000, 1_000_000)
N_COLUMNS, N_POSITIVE, N_LATENT = 40, 300, 6
BUDGET = 500

PUBLISHED_EPOCHS = 300
"""Passes over the rows that CTGAN's authors make."""

MEASURED_ROWS = 50_000
"""Rows, counted as often as they are passed, by which a pass of it is measured."""

HEAD = f"""# Tables of many rows

{N_COLUMNS} columns (34 numbers, five categories, the target), at most {N_POSITIVE}
rows of the rare class, and never more than a tenth. CPU seconds of one core; peak
memory of the whole process. All but "read csv" begin with a Parquet file, whose reading
counts.

- read csv, read parquet: the file as `tabtap` reads it
- inspect: all that `tabtap inspect` looks for
- augment: `preset="fast"`, no learner named, {BUDGET} rows asked for
- augment, LightGBM: the same, with `learner="lightgbm"` and
  `scoring="average_precision"`
- augment, logistic regression: the same, with `learner="linear"` and that scoring
- SMOTE: imbalanced-learn's SMOTENC, {BUDGET} rows of the rare class
- CTGAN: `tabtap.rivals.ctgan` with the published settings; a few of the
  {PUBLISHED_EPOCHS} epochs are measured, and the time of all is reckoned from them; in
  brackets what that is for each row"""


# ---- A table with a rare class.


def rare_class(n_rows: int, seed: int = 0) -> pd.DataFrame:
    """Return a table whose rare rows differ a little in a quarter of the columns."""
    rng = np.random.default_rng(seed)
    is_rare = np.zeros(n_rows, dtype=bool)
    n_rare = min(N_POSITIVE, n_rows // 10)
    is_rare[rng.choice(n_rows, n_rare, replace=False)] = True
    latent = rng.normal(size=(n_rows, N_LATENT))
    columns: dict[str, Any] = {}
    for j in range(N_COLUMNS - 6):
        numbers = latent @ rng.normal(size=N_LATENT) + rng.normal(size=n_rows)
        numbers += is_rare * (j < 8)
        whole = np.round(10 * numbers).astype(np.int64)
        columns[f"x{j}"] = np.round(numbers, 4) if j % 3 else whole
    for j in range(5):
        place = latent[:, j] + is_rare * (j < 2) + rng.normal(size=n_rows) + 2.5
        columns[f"c{j}"] = np.array([*"abcdef"])[np.clip(place, 0, 5).astype(int)]
    columns["label"] = np.where(is_rare, "fraud", "ok")
    return pd.DataFrame(columns)


# ---- What is measured, each with a path to the table.


def read_csv(path: Path) -> Record:
    """Read the table from CSV."""
    from tabtap.files import read_table

    read_table(str(path.with_suffix(".csv")))
    return {}


def read_parquet(path: Path) -> Record:
    """Read the table from Parquet."""
    from tabtap.files import read_table

    read_table(str(path))
    return {}


def inspect(path: Path) -> Record:
    """Look the table over."""
    from tabtap.inspection import inspect_table
    from tabtap.table import describe, read_frame

    table = read_frame(pd.read_parquet(path), "label")
    describe(table)
    return {"remarks": len(inspect_table(table))}


def augment(path: Path, **settings: object) -> Record:
    """Augment the table."""
    import tabtap

    frame = pd.read_parquet(path)
    result = tabtap.augment(
        frame, "label", preset="fast", budget=BUDGET, random_state=0, **settings
    )
    bigger, _ = result.augmented()
    if not bigger.iloc[: len(frame)].equals(frame):
        raise AssertionError("real rows have changed")
    return {"verdict": result.verdict, "stop": result.stop.value}


def augment_for(learner: str) -> Callable[[Path], Record]:
    """Augment the table for a learner and by a yardstick for rare classes."""
    return partial(augment, learner=learner, scoring="average_precision")


def smote(path: Path) -> Record:
    """Make rows of the rare class with imbalanced-learn."""
    from imblearn.over_sampling import SMOTENC

    frame = pd.read_parquet(path)
    X, y = frame.drop(columns="label"), frame["label"]
    words = [f"c{j}" for j in range(5)]
    wanted = {"fraud": int((y == "fraud").sum()) + BUDGET}
    SMOTENC(words, sampling_strategy=wanted, random_state=0).fit_resample(X, y)
    return {}


def ctgan(path: Path) -> Record:
    """Train CTGAN for one epoch and for a few, and reckon what all of them take."""
    from tabtap.rivals.ctgan import Ctgan
    from tabtap.stopwatch import Stopwatch
    from tabtap.table import read_frame

    table = read_frame(pd.read_parquet(path), "label")
    more = 1 + max(1, MEASURED_ROWS // len(table))
    watches = {1: Stopwatch(), more: Stopwatch()}
    for n_epochs, watch in watches.items():
        rng = np.random.default_rng(0)
        Ctgan(n_epochs=n_epochs).make(table, BUDGET, rng, watch)
    once, often = (watch.cpu_seconds["fit"] for watch in watches.values())
    epoch = (often - once) / (more - 1)
    return {"all_epochs": round(once + (PUBLISHED_EPOCHS - 1) * epoch, 1)}


MEASURED: Mapping[str, Callable[[Path], Record]] = {
    "read csv": read_csv,
    "read parquet": read_parquet,
    "inspect": inspect,
    "augment": augment,
    "augment, LightGBM": augment_for("lightgbm"),
    "augment, logistic regression": augment_for("linear"),
    "SMOTE": smote,
    "CTGAN": ctgan,
}


def measure(heading: Record) -> Record:
    """Measure one thing on one table, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.parquet"
        table = rare_class(heading["n_rows"], heading["seed"])
        table.to_parquet(path)
        if heading["what"] == "read csv":
            table.to_csv(path.with_suffix(".csv"), index=False)
        del table
        command = [sys.executable, __file__, "--one", heading["what"], str(path)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return {**heading, **json.loads(done.stdout)}


def measure_here(what: str, path: Path) -> Record:
    """Measure one thing in this process."""
    import torch

    torch.set_num_threads(1)
    started = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = MEASURED[what](path)
    seconds = time.process_time() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024  # kB on Linux
    return {**found, "seconds": round(seconds, 2), "gigabytes": round(peak / 1e9, 2)}


# ---- The page.


def page(records: list[Record], command: str) -> str:
    """Return the page's text."""
    sections = [HEAD]
    for title, cell in (("CPU seconds", _seconds), ("Peak memory, GB", _memory)):
        sections += [f"## {title}", _table(records, cell)]
    sections += ["## What came of it", _answers(records)]
    sections.append(pages.provenance(records, [command]))
    return pages.page_of(sections, pages.read_notes(NOTES))


def _table(records: list[Record], cell: Callable[[Record], str]) -> str:
    sizes = pages.found_in(records, "n_rows")
    known = {(record["what"], record["n_rows"]): cell(record) for record in records}
    rows = [
        [what, *(known.get((what, n_rows), "-") for n_rows in sizes)]
        for what in MEASURED
        if any((what, n_rows) in known for n_rows in sizes)
    ]
    return pages.markdown_table(["", *(f"{n:,} rows" for n in sizes)], rows)


def _seconds(record: Record) -> str:
    if record["what"] == "CTGAN":
        seconds = record["all_epochs"]
        return f"about {seconds:,.0f} ({seconds / record['n_rows']:.3f} a row)"
    return f"{record['seconds']:.1f}"


def _memory(record: Record) -> str:
    return f"{record['gigabytes']:.1f}"


def _answers(records: list[Record]) -> str:
    told = sorted(
        (r for r in records if "verdict" in r), key=lambda r: (r["what"], r["n_rows"])
    )
    rows = [[r["what"], f"{r['n_rows']:,}", r["verdict"], r["stop"]] for r in told]
    return pages.markdown_table(["", "rows", "verdict", "it ended because"], rows)


def main(arguments: list[str] | None = None) -> None:
    """Measure what is not measured yet, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=list(ROWS))
    parser.add_argument("--what", nargs="+", default=list(MEASURED), choices=MEASURED)
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--page", type=Path, default=PAGE)
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.one:
        print(json.dumps(measure_here(given.one[0], Path(given.one[1]))))
        return
    wanted = [
        {"what": what, "n_rows": n_rows, "seed": 0}
        for n_rows in given.rows
        for what in given.what
    ]
    found = measure_missing(measure, wanted, _identity, given.out)
    write = f"python benchmarks/scale.py --out {given.out}"
    pages.write_page(given.page, page(read_records(given.out) or found, write))


def _identity(record: Mapping[str, Any]) -> tuple[Any, ...]:
    return record["what"], record["n_rows"], record["seed"]


if __name__ == "__main__":
    main()
