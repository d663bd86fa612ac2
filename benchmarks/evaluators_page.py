"""Measurements into docs/results/evaluators.md: every number computed, none typed.

Run: ``make results``, or ``python benchmarks/evaluators_page.py --records
evaluators.jsonl``.

What was measured more than once counts with its least time, among the measurements of
the newest commit.  What the numbers mean is written by hand in
docs/results/evaluators_notes.md and copied to the end of the page.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from pages import (
    FOLDER,
    markdown_table,
    page_of,
    provenance,
    read_notes,
    with_error,
    write_page,
)
from records import Records, read_records

Record = Mapping[str, Any]

PAGE = FOLDER / "evaluators.md"
NOTES = PAGE.with_name("evaluators_notes.md")
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

HEADING = """# How quick and how good the judges are

Computed by `benchmarks/evaluators_page.py` from recorded measurements; `make results`
measures and writes anew. A plus after a commit: measured with changes not yet
committed. `±` is a standard error. All on one thread; CPU time, the least of the
repeats."""
SPEED = """## One utility question

CPU milliseconds for what each step of the method asks: five folds in one call, each
with a context of so many rows and so many numeric features, and a fifth of the fold as
queries (2 of 10 rows, 15 of 75). A dash: not asked, because a smaller question had
taken more than 30 seconds."""
LIMIT = """## How far TabPFN v1 is from the machine's limit

*GFLOP*: multiplications and additions in the matrix products of five folds' forward.
*Rate*: a plain float32 product of as many rows, 512 to 1,024 columns, in the same run.
*At that rate*: the least time such products can take here. *Share*: of the whole
question's time, tables in and probabilities out."""
QUALITY = """## Quality on small contexts

Accuracy in per cent (diabetes: RMSE in the target's own unit, standard deviation 77) on
up to 200 other rows, mean over stratified contexts; *CPU ms*: mean over the tables for
one context of 50 rows with its queries. A panel's score is the mean of its members'."""
PACKAGE = """## Beside the package's own estimator

The classifier of `tabpfn` 0.1.11, the package of TabPFN v1, with the same weights and
the same torch, asked once per fold. *Members*: what it averages over, 3 by default.
*Times*: its CPU time over that of one call of ours. Below, accuracy in per cent over
all classification contexts of the section before."""


def page(records: Records, notes: str = "") -> str:
    """Return the page; a part without records gets no section."""
    sections = [HEADING]
    for part, text in (
        ("speed", _speed),
        ("limit", _limit),
        ("quality", _quality),
        ("package speed", _package),
    ):
        if chosen := of_part(records, part):
            if part == "package speed":
                chosen = [*chosen, *of_part(records, "package quality")]
            sections += [text(records), _provenance(chosen)]
    return page_of(sections, notes)


def _speed(records: Records) -> str:
    parts = [SPEED]
    for task in ("classification", "regression"):
        parts += [f"### {task.capitalize()}", speed_table(records, task)]
        lacking = [r for r in of_part(records, "absent") if r["task"] == task]
        parts.append("\n".join(map(_lacking, lacking)))
    return "\n\n".join(part for part in parts if part)


def _lacking(record: Mapping[str, Any]) -> str:
    # Where its owner's files lie is nobody else's business.
    why = record["why"].replace(str(Path.home()), "~")
    return f"- {record['evaluator']} was not measured: {why}"


def _limit(records: Records) -> str:
    known = of_part(records, "limit")[-1]["instructions"]
    told = "unknown" if known is None else ", ".join(known)
    return "\n\n".join(
        [LIMIT, limit_table(records), f"Instructions of the CPU: {told}."]
    )


def _quality(records: Records) -> str:
    parts = [QUALITY]
    for task in ("classification", "regression"):
        parts.append(quality_table(records, task))
    return "\n\n".join(part for part in parts if part)


def _package(records: Records) -> str:
    parts = [PACKAGE, package_speed_table(records), package_quality_table(records)]
    return "\n\n".join(part for part in parts if part)


def _provenance(records: Records) -> str:
    """Return how, when, where and with which code the records were made."""
    part = records[0]["part"].partition(" ")[0].replace("limit", "speed")
    options = f"--parts {part}"
    if repeats := [record["repeats"] for record in records if "repeats" in record]:
        options += f" --repeats {max(repeats)}"
    if seeds := [record["seed"] for record in records if "seed" in record]:
        options += f" --seeds {1 + max(seeds)}"
    if part == "package":
        options += " --package-python PATH"
    return provenance(records, [f"python benchmarks/evaluators.py {options}"])


# ---- The tables.


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
    told = with_error([100 * (own[cell] - other[cell]) for cell in shared], "+.2f")
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


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    file = Path("evaluators.jsonl")
    parser.add_argument("--records", type=Path, default=file, help="JSON lines")
    parser.add_argument("--notes", type=Path, default=NOTES, help="markdown")
    parser.add_argument("--out", type=Path, default=PAGE, help="page to write")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the measurements and write the page."""
    options = _options(arguments)
    records = read_records(options.records)
    if not records:
        raise SystemExit(
            f"There are no measurements in {options.records}. Run make results."
        )
    write_page(options.out, page(records, read_notes(options.notes)))


if __name__ == "__main__":
    main()
