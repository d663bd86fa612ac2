"""How like held-out rows drawn rows are, and how many of them are mere copies.

Run: ``python benchmarks/fidelity.py --out fidelity.jsonl``.

Tables of full size.  Beside the backbone stand a bootstrap of the training rows, the
most faithful rows that teach nothing, and columns drawn independently of each other.
One JSON line for each table, seed and method; what is there is not measured again.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from cells import Settings, add_config_option, column_name, config_overrides
from pages import in_percent, markdown_table
from records import Record, Records, measure_missing
from threadpoolctl import threadpool_limits

from tabtap.config import DiffusionConfig
from tabtap.diffusion import fit_backbone
from tabtap.fidelity import copy_share, shape_error, trend_error
from tabtap.rivals.simple import bootstrap, independent_columns
from tabtap.rng import stream
from tabtap.study.cell import load_table
from tabtap.study.sources import SOURCES
from tabtap.table import Table
from tabtap.table.distance import DistanceScale

TABLES = ("credit-g", "electricity", "ailerons")
MAX_ROWS = 5000
"""Most training rows, and most held-out rows."""

ERRORS = {
    "shape_error": "shape error",
    "trend_error": "trend error",
    "exact_copies": "exact copies",
    "near_copies": "near copies",
}
"""What is measured, and how a table calls it; all in per cent there."""

Draw = Callable[[Table, int, np.random.Generator], Table]


def divide(table: Table, rng: np.random.Generator) -> tuple[Table, Table]:
    """Return training and held-out rows: up to 5,000 of each, half each if few."""
    n_train = min(MAX_ROWS, len(table) // 2)
    rows = rng.permutation(len(table))
    held_out = rows[n_train : n_train + MAX_ROWS]
    return table.take(rows[:n_train]), table.take(held_out)


def methods(settings: Settings) -> dict[str, Draw]:
    """Return the ways to make rows, by name."""
    config = DiffusionConfig(**settings)

    def backbone(train: Table, n: int, rng: np.random.Generator) -> Table:
        return fit_backbone(train, rng=rng, config=config).sample(n, rng)

    return {
        "backbone": backbone,
        "bootstrap": bootstrap,
        "independent columns": independent_columns,
    }


def measure(
    name: str, table: Table, method: str, seed: int, settings: Settings
) -> Record:
    """Compare as many drawn rows as are held out with the held-out rows.

    Parameters
    ----------
    name : str
        What the table is called.
    table : Table
        All of its rows.
    method : str
        A key of ``methods``.
    seed : int
        Chooses the training rows and everything drawn.
    settings : mapping
        Settings of the backbone that differ from the default.

    Returns
    -------
    dict
        Errors and shares in [0, 1]; CPU seconds of fitting and drawing together.
    """
    train, held_out = divide(table, stream(seed, "divide", name))
    with threadpool_limits(1):
        started = time.process_time()
        draw = methods(settings)[method]
        rows = draw(train, len(held_out), stream(seed, method, name))
        seconds = time.process_time() - started
        copied = copy_share(train, rows, DistanceScale.of(train))
    return {
        **_heading(name, method, seed, settings),
        "n_train": len(train),
        "n_held_out": len(held_out),
        "shape_error": shape_error(held_out, rows),
        "trend_error": trend_error(held_out, rows),
        "exact_copies": copied.exact,
        "near_copies": copied.near,
        "seconds": round(seconds, 3),
    }


def fidelity_table(records: Records) -> str:
    """Return errors and shares in per cent, averaged over seeds."""
    header = ["table", "rows drawn by", *ERRORS.values(), "CPU s", "seeds"]
    rows = error_rows(records, lambda r: (r["table"], column_name(r)), ERRORS)
    return markdown_table(header, rows)


def error_rows(
    records: Records,
    kind_of: Callable[[Mapping[str, Any]], tuple[str, ...]],
    errors: Iterable[str],
) -> list[list[str]]:
    """Return a row for each kind: errors in per cent, CPU seconds, how many seeds."""
    kinds: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    for record in records:
        kinds.setdefault(kind_of(record), []).append(record)
    return [
        [
            *kind,
            *(in_percent([record[name] for record in chosen]) for name in errors),
            f"{np.mean([record['seconds'] for record in chosen]):.1f}",
            str(len(chosen)),
        ]
        for kind, chosen in kinds.items()
    ]


def _heading(name: str, method: str, seed: int, settings: Settings) -> Record:
    config = dict(settings) if method == "backbone" else {}
    return {"table": name, "method": method, "seed": seed, "config": config}


def _identity(record: Mapping[str, Any]) -> tuple[object, ...]:
    return record["table"], record["seed"], column_name(record)


def _measure_named(heading: Record) -> Record:
    name = heading["table"]
    what = heading["method"], heading["seed"], heading["config"]
    return measure(name, load_table(name)[0], *what)


def _run(options: argparse.Namespace) -> list[Record]:
    settings = config_overrides(options.config)
    wanted = [
        _heading(name, method, seed, settings)
        for name in options.tables
        for seed in options.seeds
        for method in methods(settings)
    ]
    return measure_missing(_measure_named, wanted, _identity, options.out)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tables", nargs="+", default=TABLES, choices=tuple(SOURCES))
    parser.add_argument("--seeds", nargs="+", type=int, default=(0, 1, 2))
    parser.add_argument("--out", type=Path, help="file of JSON lines to add to")
    add_config_option(parser)
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> list[Record]:
    """Measure what is missing, print the table and return the records."""
    records = _run(_options(arguments))
    print(fidelity_table(records))
    return records


if __name__ == "__main__":
    main()
