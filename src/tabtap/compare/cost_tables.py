"""What methods cost, and where they failed, from the records of a comparison."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from tabtap.compare.printing import TextTable
from tabtap.compare.scores import in_paper_order, method_label
from tabtap.compare.store import Record

_MEGABYTE = 1_000_000


def cost_table(records: Iterable[Record]) -> TextTable:
    """Return rows made, CPU seconds by stage and peak memory: means per method."""
    lines = [_cost(record) for record in records if record.get("costs")]
    frame = in_paper_order(pd.DataFrame(lines))
    rows = []
    for (method, n_real), part in frame.groupby(["method", "n_real"], sort=False):
        figures = part.drop(columns=["method", "n_real"]).mean()
        rows.append(
            (
                str(method),
                str(n_real),
                f"{figures['rows']:.0f}",
                f"{figures['method_seconds']:.1f}",
                f"{part['method_seconds'].max():.1f}",
                f"{figures['score_seconds']:.1f}",
                f"{figures['peak'] / _MEGABYTE:.0f}",
            )
        )
    header = (
        "method",
        "n_real",
        "rows",
        "CPU s",
        "CPU s, dearest",
        "scoring CPU s",
        "peak MB",
    )
    return TextTable("Means over cells", header, tuple(rows), n_labels=2)


def failure_table(records: Iterable[Record]) -> TextTable:
    """Return how often each method failed, and why, most frequent reason first."""
    counts: dict[str, int] = {}
    reasons: dict[str, dict[str, int]] = {}
    for record in records:
        name = method_label(record["cell"])
        counts[name] = counts.get(name, 0) + 1
        if record["failure"]:
            told = reasons.setdefault(name, {})
            reason = str(record["failure"]["reason"])
            told[reason] = told.get(reason, 0) + 1
    rows = []
    for name, told in reasons.items():
        for reason, times in sorted(told.items(), key=lambda pair: -pair[1]):
            rows.append((name, reason, f"{times} of {counts[name]}"))
    notes = () if rows else (f"None of {sum(counts.values())} cells failed.",)
    title = "Cells in which a method failed, and added nothing"
    return TextTable(title, ("method", "reason", "cells"), tuple(rows), notes, 2)


def _cost(record: Record) -> dict[str, Any]:
    seconds: Mapping[str, float] = record["costs"]["cpu_seconds"]
    peaks: Mapping[str, int | None] = record["costs"]["peak_bytes"]
    peak = peaks.get("method")
    return {
        "method": method_label(record["cell"]),
        "n_real": record["cell"]["n_real"],
        "rows": record["n_rows"],
        "method_seconds": seconds.get("method", 0.0),
        "score_seconds": seconds.get("score", 0.0),
        "peak": np.nan if peak is None else float(peak),
    }
