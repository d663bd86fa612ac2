"""The tables of a comparison by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import pandas as pd

from tabtap.compare.cost_tables import cost_table, failure_table
from tabtap.compare.paper_differences import difference_table
from tabtap.compare.printing import TextTable
from tabtap.compare.scores import score_frame
from tabtap.compare.store import Record
from tabtap.compare.tables import gain_table, predictor_tables, score_tables
from tabtap.compare.wins import METRICS, win_table

Made = list[TextTable]


def _measured(frame: pd.DataFrame) -> list[str]:
    return [metric for metric in METRICS if (frame["metric"] == metric).any()]


def _per_predictor(frame: pd.DataFrame) -> Made:
    return [t for metric in _measured(frame) for t in predictor_tables(frame, metric)]


_OF_SCORES: Mapping[str, Callable[[pd.DataFrame], Made]] = MappingProxyType(
    {
        "main": lambda frame: score_tables(frame, ["accuracy", "rmse"]),
        "f1": lambda frame: score_tables(frame, ["macro_f1", "mae"]),
        "per-predictor": _per_predictor,
        "gains": lambda frame: [gain_table(frame, m) for m in _measured(frame)],
        "wins": lambda frame: [win_table(frame)],
        "paper": lambda frame: [difference_table(frame, m) for m in _measured(frame)],
    }
)
_OF_RECORDS: Mapping[str, Callable[[Sequence[Record]], TextTable]] = MappingProxyType(
    {"cost": cost_table, "failures": failure_table}
)

TABLE_NAMES = (*_OF_SCORES, *_OF_RECORDS)


def tables_named(name: str, records: Sequence[Record]) -> Made:
    """Return the tables that go by one of ``TABLE_NAMES``."""
    if name in _OF_RECORDS:
        return [_OF_RECORDS[name](records)]
    return _OF_SCORES[name](score_frame(records))
