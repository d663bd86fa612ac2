"""Measurements of evaluators as tables.

Read by: evaluators_page.

What was measured more than once counts with its least time, among the measurements of
the newest commit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from records import markdown_table
from summary import mean_and_error

Record = Mapping[str, Any]
Records = Sequence[Record]

OURS = "tabpfn-v1 float32"
AVERAGED: Mapping[str, int] = {OURS: 1, f"{OURS}, 3 permutations": 3}
"""Our evaluators that are compared with the package, and how much they average."""

LIMITS_MS: Mapping[int, float] = {40: 60.0, 300: 250.0}
"""Most CPU milliseconds of TabPFN v1 in bfloat16, by context rows."""

IDENTITY = (
    *("part", "task", "evaluator", "members"),
    *("n_context", "n_features", "table", "seed"),
)
"""What tells one measurement from another."""


def of_part(records: Records, part: str) -> list[Record]:
    """Return one part's measurements at the newest commit, each with its least time."""
    chosen = [record for record in records if record["part"] == part]
    kept: dict[tuple[object, ...], Record] = {}
    for record in chosen:
        if record["commit"] != chosen[-1]["commit"]:
            continue
        key = tuple(record.get(name) for name in IDENTITY)
        before = kept.get(key)
        if before is None or record.get("seconds", 0) < before.get("seconds", 0):
            kept[key] = record
    return list(kept.values())


def speed_table(records: Records, task: str) -> str:
    """Return CPU milliseconds by evaluator and size; the last line is the limit."""
    chosen = [r for r in of_part(records, "speed") if r["task"] == task]
    if not chosen:
        return ""
    sizes = _found(chosen, "n_context", "n_features")
    rows = []
    for name in dict.fromkeys(record["evaluator"] for record in chosen):
        seconds = {
            (record["n_context"], record["n_features"]): record["seconds"]
            for record in chosen
            if record["evaluator"] == name
        }
        rows.append([name, *(_milliseconds(seconds.get(size)) for size in sizes)])
    if task == "classification":
        limits = [LIMITS_MS.get(n_context) for n_context, _ in sizes]
        told = ["-" if limit is None else f"{limit:.0f}" for limit in limits]
        rows.append(["*limit for tabpfn-v1 bfloat16*", *told])
    return markdown_table(
        ["", *(f"{rows} x {columns}" for rows, columns in sizes)], rows
    )


def limit_table(records: Records) -> str:
    """Return what the forward computes, and its time beside the least possible."""
    measured = of_part(records, "speed")
    rows = []
    for record in of_part(records, "limit"):
        taken = [
            other["seconds"]
            for other in measured
            if other["evaluator"] == OURS and other["n_context"] == record["n_context"]
        ]
        least = record["operations"] / record["rate"]
        taken_text = "-" if not taken else f"{1e3 * min(taken):.0f}"
        share = "-" if not taken else f"{100 * least / min(taken):.0f} %"
        needed = record["operations"] / (LIMITS_MS[record["n_context"]] / 1e3)
        rows.append(
            [
                f"5 x {record['n_context']} rows",
                f"{record['operations'] / 1e9:.1f}",
                f"{record['rate'] / 1e9:.0f}",
                f"{1e3 * least:.0f}",
                taken_text,
                share,
                f"{needed / 1e9:.0f}",
            ]
        )
    header = ["context", "GFLOP", "rate, GFLOP/s", "ms at that rate", "ms measured"]
    return markdown_table([*header, "share", "GFLOP/s the limit asks for"], rows)


def quality_table(records: Records, task: str) -> str:
    """Return mean scores by evaluator, table and context size, and what they cost."""
    chosen = [r for r in of_part(records, "quality") if r["task"] == task]
    if not chosen:
        return ""
    places = list(dict.fromkeys((r["table"], r["n_context"]) for r in chosen))
    rows = []
    for name in dict.fromkeys(record["evaluator"] for record in chosen):
        own = [record for record in chosen if record["evaluator"] == name]
        scores = [_score([r for r in own if _place(r) == place]) for place in places]
        cost = [record["seconds"] for record in own if record["n_context"] == 50]
        rows.append(
            [name, *scores, _milliseconds(float(np.mean(cost))) if cost else "-"]
        )
    header = [f"{table} {n_context}" for table, n_context in places]
    return markdown_table(["", *header, "CPU ms"], rows)


def package_speed_table(records: Records) -> str:
    """Return the package's CPU milliseconds and how many times ours they are.

    It is compared with each of ours that averages no more than it does.
    """
    every = of_part(records, "package speed")
    chosen = [record for record in every if "members" in record]
    sizes = _found(every, "n_context", "n_features")
    ours = {
        name: {_size(r): r["seconds"] for r in every if r.get("evaluator") == name}
        for name in AVERAGED
    }
    rows = [[name, *_line(seconds, sizes)] for name, seconds in ours.items() if seconds]
    for members in dict.fromkeys(record["members"] for record in chosen):
        theirs = {_size(r): r["seconds"] for r in chosen if r["members"] == members}
        name = f"package, {members} member" + ("s" if members > 1 else "")
        rows.append([name, *_line(theirs, sizes)])
        for rival, n_averaged in AVERAGED.items():
            if n_averaged <= members and ours[rival]:
                ratios = _ratios(theirs, ours[rival], sizes)
                rows.append([f"times {rival}", *ratios])
    return markdown_table(["CPU ms", *(f"{n} x {m}" for n, m in sizes)], rows)


def package_quality_table(records: Records) -> str:
    """Return accuracies of ours and the package's, and paired differences."""
    theirs = of_part(records, "package quality")
    ours = [r for r in of_part(records, "quality") if r["task"] == "classification"]
    rows = []
    for name in dict.fromkeys(r["evaluator"] for r in ours):
        if not name.startswith("tabpfn-v1"):
            continue
        own = {_cell(r): r["score"] for r in ours if r["evaluator"] == name}
        for members in dict.fromkeys(record["members"] for record in theirs):
            other = {_cell(r): r["score"] for r in theirs if r["members"] == members}
            shared = [cell for cell in other if cell in own]
            if shared:
                rows.append([name, *_compared(own, other, shared, members)])
    if not rows:
        return ""
    header = ["ours", "accuracy", "package members", "accuracy", "ours minus theirs"]
    return markdown_table([*header, "cells"], rows)


def _compared(
    own: Mapping[Any, float],
    other: Mapping[Any, float],
    shared: Sequence[Any],
    members: int,
) -> list[str]:
    gap, error = mean_and_error([100 * (own[cell] - other[cell]) for cell in shared])
    told = f"{gap:+.2f}" + ("" if np.isnan(error) else f" ± {error:.2f}")
    means = [100 * np.mean([side[cell] for cell in shared]) for side in (own, other)]
    return [f"{means[0]:.1f}", str(members), f"{means[1]:.1f}", told, str(len(shared))]


def _score(records: Records) -> str:
    if not records:
        return "-"
    mean = float(np.mean([record["score"] for record in records]))
    return f"{mean:.1f}" if records[0]["metric"] == "rmse" else f"{100 * mean:.1f}"


def _milliseconds(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    return f"{1e3 * seconds:.1f}" if seconds < 0.01 else f"{1e3 * seconds:,.0f}"


def _line(seconds: Mapping[Any, float], sizes: Sequence[Any]) -> list[str]:
    return [_milliseconds(seconds.get(size)) for size in sizes]


def _ratios(
    theirs: Mapping[Any, float], ours: Mapping[Any, float], sizes: Sequence[Any]
) -> list[str]:
    known = {size: theirs[size] / ours[size] for size in theirs if size in ours}
    return [f"{known[size]:.1f}" if size in known else "-" for size in sizes]


def _found(records: Records, *names: str) -> list[Any]:
    return sorted({tuple(record[name] for name in names) for record in records})


def _place(record: Record) -> tuple[str, int]:
    return record["table"], record["n_context"]


def _size(record: Record) -> tuple[int, int]:
    return record["n_context"], record["n_features"]


def _cell(record: Record) -> tuple[str, int, int]:
    return record["table"], record["n_context"], record["seed"]
