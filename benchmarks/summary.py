"""Usefulness in a few tables: means by method, and differences with their errors.

Read by: usefulness, report.

Differences are paired: both methods on the same table, n_real, split and seed.  Their
standard error is over those cells.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from records import markdown_table

from tabtap.study.sources import SOURCES

Records = Sequence[Mapping[str, Any]]
Place = tuple[str, int, int]
"""Table, split and seed of a measurement."""

RIVALS = ("copies", "jitter", "smote")
CONTROLS = ("real", *RIVALS)


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
            rows.append([name, unit, *map(_with_error, gains), str(n_cells)])
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


def mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean and its standard error, NaN where there are too few values."""
    mean = float(np.mean(values)) if len(values) else float("nan")
    if len(values) < 2:
        return mean, float("nan")
    return mean, float(np.std(values, ddof=1) / np.sqrt(len(values)))


def column_name(record: Mapping[str, Any]) -> str:
    """Return the method, with the settings that were not the default."""
    settings = record.get("config") or {}
    # As JSON, so that a tuple and the list that a file makes of it are one setting.
    shown = {name: json.dumps(settings[name]).strip('"') for name in sorted(settings)}
    text = " ".join(f"{name}={value}" for name, value in shown.items())
    return f"{record['method']} {text}".strip()


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


def _with_error(values: Sequence[float]) -> str:
    mean, error = mean_and_error(values)
    if np.isnan(mean):
        return "-"
    return f"{mean:+.1f}" + ("" if np.isnan(error) else f" ± {error:.1f}")
