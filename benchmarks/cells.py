"""Cells of the paper's tables: what is asked for, what all share, how rows are scored.

A cell is one table, n_real, split and seed.  Whatever is measured in one has the same
real rows and the same test rows.
"""

from __future__ import annotations

import argparse
import ast
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from records import Record

from tabtap.compare.predictors import mean_score
from tabtap.config import DiffusionConfig
from tabtap.rivals.simple import copies, jitter, smote
from tabtap.rng import stream
from tabtap.study.protocol import Repetition, repetition
from tabtap.study.sources import SOURCES
from tabtap.table import Table

Settings = Mapping[str, Any]
"""Of the backbone, where they differ from the default."""


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

    def repetition(self, table: Table) -> Repetition:
        """Return its rows; real rows are numbered from 0, as a user's are."""
        return repetition(table, self.n_real, self.split, seed=self.seed).renumbered()


CONTROLS: Mapping[str, Callable[[Table, int, np.random.Generator], Table | None]] = {
    "real": lambda _real, _n, _rng: None,
    "copies": copies,
    "jitter": jitter,
    "smote": smote,
}
"""Methods that need no backbone, by name."""


def scored(
    part: Repetition, rows: Table | None, seconds: Mapping[str, float]
) -> Record:
    """Return the predictors' scores with some rows added, and CPU seconds by stage."""
    started = time.process_time()
    scores = part.score(rows)
    spent = {**seconds, "score": time.process_time() - started}
    target = part.real.schema.target
    metric = "rmse" if target and target.task == "regression" else "accuracy"
    return {
        "metric": metric,
        "mean": mean_score(scores, metric),
        "scores": scores,
        "seconds": {name: round(value, 3) for name, value in spent.items()},
    }


def column_name(record: Mapping[str, Any]) -> str:
    """Return the method, with the settings that were not the default."""
    settings = record.get("config") or {}
    # As JSON, so that a tuple and the list that a file makes of it are one setting.
    shown = {name: json.dumps(settings[name]).strip('"') for name in sorted(settings)}
    text = " ".join(f"{name}={value}" for name, value in shown.items())
    return f"{record['method']} {text}".strip()


def add_cell_options(
    parser: argparse.ArgumentParser,
    sizes: Sequence[int],
    what: str,
    names: Sequence[str],
) -> None:
    """Let a command be told which cells, and what of each is to be measured."""
    tables = tuple(SOURCES)
    parser.add_argument("--tables", nargs="+", default=tables, choices=tables)
    parser.add_argument("--n-real", nargs="+", type=int, default=sizes)
    parser.add_argument("--splits", type=int, default=3, help="splits of each table")
    parser.add_argument(f"--{what}", nargs="+", default=names, choices=names)
    parser.add_argument("--seed", type=int, default=0, help="chooses the splits")
    parser.add_argument("--jobs", type=int, default=1, help="processes")


def add_config_option(parser: argparse.ArgumentParser) -> None:
    """Let a command be told settings of the inpainter, as ``--config width=128``."""
    parser.add_argument(
        "--config",
        action="append",
        default=[],
        type=_override,
        metavar="KEY=VALUE",
        help="a setting of DiffusionConfig; may be given again and again",
    )


def config_overrides(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return settings by name, checked by making a config of them."""
    overrides = dict(pairs)
    DiffusionConfig(**overrides)
    return overrides


def _override(text: str) -> tuple[str, Any]:
    name, _, value = text.partition("=")
    known = [field.name for field in fields(DiffusionConfig)]
    if name not in known:
        raise argparse.ArgumentTypeError(
            f"no setting is called {name!r}; choose from {', '.join(known)}"
        )
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value
