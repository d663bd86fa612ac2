"""Measurements into docs/results/evaluators.md: every number computed, none typed.

Run: ``make results``, or ``python benchmarks/evaluators_page.py --records
evaluators.jsonl``.

What the numbers mean is written by hand in docs/results/evaluators_notes.md and copied
to the end of the page.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evaluators_tables import (
    Records,
    limit_table,
    of_part,
    package_quality_table,
    package_speed_table,
    quality_table,
    speed_table,
)
from records import ROOT, read_records

PAGE = ROOT / "docs" / "results" / "evaluators.md"
NOTES = PAGE.with_name("evaluators_notes.md")
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
    if notes.strip():
        sections.append(f"## Notes\n\n{notes.strip()}")
    return "\n\n".join(sections) + "\n"


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
    lines = [f"- command: `python benchmarks/evaluators.py {options}`"]
    for name in ("seed", "commit", "date", "machine"):
        found = sorted({record[name] for record in records if name in record})
        if found:
            lines.append(f"- {name}: {', '.join(map(str, found))}")
    return "\n".join(lines)


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
    records: list[dict[str, Any]] = read_records(options.records)
    if not records:
        raise SystemExit(
            f"There are no measurements in {options.records}. Run make results."
        )
    notes = options.notes.read_text(encoding="utf-8") if options.notes.is_file() else ""
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(page(records, notes), encoding="utf-8")
    print(f"Written: {options.out}")


if __name__ == "__main__":
    main()
