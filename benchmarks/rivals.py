"""CTGAN and TVAE beside the package of their authors, on the same rows.

Run: ``python benchmarks/rivals.py --package-python PYTHON --out rivals.jsonl``, where
PYTHON has the package (see packages.py).  ``--page docs/results/rivals.md`` writes
the page.

Both get the same 500 rows, as numbers and codes without holes, and are compared with
500 others.  Beside them stand a bootstrap of the training rows and columns drawn
independently of each other.  One JSON line for each table, seed, method and maker; what
is there is not measured again.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from fidelity import error_rows
from pages import in_percent, markdown_table, provenance
from records import Record, Records, measure_missing
from threadpoolctl import threadpool_limits

from tabtap.fidelity import shape_error, trend_error
from tabtap.rivals.ctgan import Ctgan
from tabtap.rivals.matrices import FlatColumns, FlatRows
from tabtap.rivals.simple import bootstrap, independent_columns
from tabtap.rivals.tvae import Tvae
from tabtap.rng import stream
from tabtap.stopwatch import Stopwatch
from tabtap.study.cell import load_table
from tabtap.study.sources import SOURCES
from tabtap.table import Table

SCRIPT = Path(__file__).with_name("packages.py")
TABLES = ("electricity", "credit-g")
N_ROWS = 500
"""Training rows, held-out rows and drawn rows, of each so many."""

METHODS = {"CTGAN": Ctgan(), "TVAE": Tvae()}
CONTROLS = {"bootstrap": bootstrap, "independent columns": independent_columns}
PACKAGE = "ctgan package"
ERRORS = ("shape_error", "trend_error")


def divide(table: Table, rng: np.random.Generator) -> tuple[Table, Table]:
    """Return training rows and held-out rows, half each if there are few."""
    n_rows = min(N_ROWS, len(table) // 2)
    rows = rng.permutation(len(table))
    return table.take(rows[:n_rows]), table.take(rows[n_rows : 2 * n_rows])


def draw(
    train: Table, method: str, maker: str, seed: int, python: Path | None
) -> tuple[Table, float]:
    """Return as many drawn rows as there are training rows, and the CPU seconds."""
    if maker == PACKAGE:
        if python is None:
            raise SystemExit("Name a Python that has ctgan with --package-python.")
        return draw_by_package(train, method, seed, python)
    rng, started = stream(seed, method), time.process_time()
    if method in CONTROLS:
        rows = CONTROLS[method](train, len(train), rng)
    else:
        rows = METHODS[method].make(train, len(train), rng, Stopwatch())
    return rows, time.process_time() - started


def draw_by_package(
    train: Table, method: str, seed: int, python: Path
) -> tuple[Table, float]:
    """Have the package draw rows, in a process of its own."""
    columns = FlatColumns.of(train)
    rows = columns.rows(train)
    with tempfile.TemporaryDirectory() as folder:
        given, made = Path(folder) / "rows.npz", Path(folder) / "drawn.npz"
        np.savez(given, numbers=rows.numbers, codes=rows.codes)
        options = ["--model", method, "--n", str(len(train)), "--seed", str(seed)]
        done = subprocess.run(
            [str(python), str(SCRIPT), "ctgan", str(given), str(made), *options],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise SystemExit(f"{python} could not run the package:\n{done.stderr}")
        with np.load(made) as file:
            drawn = FlatRows(file["numbers"], file["codes"])
    return columns.table(drawn), float(done.stdout.splitlines()[-1])


def measure(name: str, table: Table, what: Record, python: Path | None) -> Record:
    """Compare drawn rows with held-out ones.

    Parameters
    ----------
    name : str
        What the table is called.
    table : Table
        All of its rows.
    what : dict
        The ``method``, the ``maker`` and the ``seed``, which chooses the rows too.
    python : Path, optional
        A Python that has the package.
    """
    train, held_out = divide(table, stream(what["seed"], "divide", name))
    with threadpool_limits(1):
        rows, seconds = draw(train, what["method"], what["maker"], what["seed"], python)
    return {
        "table": name,
        **what,
        "shape_error": shape_error(held_out, rows),
        "trend_error": trend_error(held_out, rows),
        "seconds": round(seconds, 3),
    }


def rivals_table(records: Records) -> str:
    """Return errors in per cent, averaged over seeds."""
    header = ["table", "method", "by", "shape error", "trend error", "CPU s", "seeds"]
    rows = error_rows(records, lambda r: (r["table"], r["method"], r["maker"]), ERRORS)
    return markdown_table(header, rows)


def gap_table(records: Records) -> str:
    """Return errors of ours less those of the package's, paired by seed."""
    found = {_identity(record): record for record in records}
    rows = []
    for table, method in dict.fromkeys((r["table"], r["method"]) for r in records):
        seeds = [
            seed
            for other, name, maker, seed in found
            if (other, name, maker) == (table, method, PACKAGE)
            and (table, method, "tabtap", seed) in found
        ]
        gaps = [
            [
                found[table, method, "tabtap", seed][error]
                - found[table, method, PACKAGE, seed][error]
                for seed in seeds
            ]
            for error in ERRORS
        ]
        if seeds:
            rows.append([table, method, *map(in_percent, gaps), str(len(seeds))])
    return markdown_table(["table", "method", "shape", "trend", "seeds"], rows)


def page(records: Records) -> str:
    """Return the page of results."""
    seeds = sorted({record["seed"] for record in records})
    tables = " ".join(dict.fromkeys(record["table"] for record in records))
    command = f"python benchmarks/rivals.py --tables {tables} "
    command += f"--seeds {' '.join(map(str, seeds))} --package-python PYTHON"
    return "\n".join(
        [
            "# Are the rivals what they are called?",
            "",
            "Computed by `benchmarks/rivals.py`. CTGAN and TVAE are written from their",
            "paper (Xu et al. 2019); here they stand beside the package `ctgan` of its",
            f"authors. Both learn the same {N_ROWS} rows, and {N_ROWS} drawn rows are",
            "compared with as many held-out ones. Errors in per cent, smaller is",
            "closer; `±` is a standard error over seeds. Seconds of the package are",
            "those of its main process alone.",
            "",
            rivals_table(records),
            "",
            "Ours less the package's, on the same rows, in points:",
            "",
            gap_table(records),
            "",
            provenance(records, [command], ("commit", "date", "machine")),
            "",
        ]
    )


def _cells(seeds: Sequence[int]) -> list[Record]:
    made = [(method, maker) for method in METHODS for maker in ("tabtap", PACKAGE)]
    made += [(method, "tabtap") for method in CONTROLS]
    return [
        {"method": method, "maker": maker, "seed": seed}
        for method, maker in made
        for seed in seeds
    ]


def _identity(record: Mapping[str, Any]) -> tuple[object, ...]:
    return tuple(record[key] for key in ("table", "method", "maker", "seed"))


def _measure_named(what: Record, python: Path | None) -> Record:
    name = what["table"]
    return measure(name, load_table(name)[0], what, python)


def _run(options: argparse.Namespace) -> list[Record]:
    wanted = [
        {"table": name, **what}
        for name in options.tables
        for what in _cells(options.seeds)
    ]
    work = partial(_measure_named, python=options.package_python)
    return measure_missing(work, wanted, _identity, options.out)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tables", nargs="+", default=TABLES, choices=tuple(SOURCES))
    parser.add_argument("--seeds", nargs="+", type=int, default=(0, 1, 2))
    parser.add_argument("--package-python", type=Path, help="a Python with ctgan")
    parser.add_argument("--out", type=Path, help="file of JSON lines to add to")
    parser.add_argument("--page", type=Path, help="markdown file to write")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> list[Record]:
    """Measure what is missing, print the table and return the records."""
    options = _options(arguments)
    records = _run(options)
    print(rivals_table(records))
    if options.page:
        options.page.write_text(page(records), encoding="utf-8")
    return records


if __name__ == "__main__":
    main()
