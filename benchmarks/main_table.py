"""The page of the main table, from the records of ``tabtap bench run``.

    tabtap bench run benchmarks/grids/main.toml --store build/results/main
    python benchmarks/main_table.py --store build/results/main

What the figures mean is written by hand in ``main-table_notes.md`` and appended.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import pandas as pd
from pages import FOLDER, read_notes, write_page
from records import stamp

from tabtap.compare.printing import TextTable, as_markdown
from tabtap.compare.store import Record, Store
from tabtap.study.figures import FIGURES, save_figure
from tabtap.study.tables import gains, score_frame, tables_named

PAGE = FOLDER / "main-table.md"
NOTES = PAGE.with_name("main-table_notes.md")
GRID = "benchmarks/grids/main.toml"

HEAD = """# The main table

The paper's nine methods, two controls and three rungs of the mechanism ladder on its
seven tables: rows are added to so many real ones, the paper's predictors are trained,
and asked about rows that nobody has seen. Below each of our figures stands the paper's
own, and the difference. Splits and draws are ours, so single figures differ by some
points; the column of real rows says by how many.
"""

PARTS = (
    ("Gains", "gains"),
    ("Cells won", "wins"),
    ("Beside the paper", "paper"),
    ("Scores", "main"),
    ("F1 and absolute errors", "f1"),
    ("Costs", "cost"),
    ("Failures", "failures"),
)


def loss_table(records: list[Record]) -> TextTable:
    """Return in how many cells each method is below real rows alone."""
    frame = score_frame(records)
    found = pd.concat([gains(frame, "accuracy"), gains(frame, "rmse")])
    rows = []
    for method, part in found.groupby("method", sort=False):
        n_below = int((part["gain"] < 0).sum())
        rows.append((str(method), f"{n_below} of {len(part)}"))
    return TextTable(
        "Cells in which a method is below real rows", ("method", "cells"), tuple(rows)
    )


def page(records: list[Record], commit: str) -> str:
    """Return the page's text."""
    parts = [HEAD, "![Gains over real rows alone](main-table.svg)"]
    for title, name in PARTS:
        tables = [as_markdown(table) for table in tables_named(name, records)]
        parts += [f"## {title}", *tables]
        if name == "wins":
            parts.append(as_markdown(loss_table(records)))
    if notes := read_notes(NOTES):
        parts.append(notes)
    return "\n\n".join([*parts, provenance(records, commit)]) + "\n"


def provenance(records: list[Record], commit: str) -> str:
    """Return where the figures come from."""
    versions = sorted({record["versions"]["tabtap"] for record in records})
    spent = sum(
        record["costs"]["seconds"].get("method", 0.0)
        + record["costs"]["seconds"].get("score", 0.0)
        for record in records
        if record.get("costs")
    )
    finished = sorted(record["finished"] for record in records if "finished" in record)
    seeds = sorted({record["cell"]["seed"] for record in records})
    return "\n".join(
        [
            "## Where this comes from",
            "",
            f"- grid: `{GRID}`; {len(records)} cells, seeds {seeds}",
            f"- command: `tabtap bench run {GRID} --store build/results/main`, then "
            "`python benchmarks/main_table.py --store build/results/main`",
            f"- time: {spent / 3600:.1f} hours of workers, between {finished[0]} and "
            f"{finished[-1]}",
            f"- tabtap {', '.join(versions)}, commit {commit}; {stamp()['machine']}",
        ]
    )


def main(arguments: list[str] | None = None) -> None:
    """Write the page and its figure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--store", required=True)
    parser.add_argument("--out", type=Path, default=PAGE)
    parser.add_argument(
        "--commit", default=stamp()["commit"], help="the one whose cells were run"
    )
    given = parser.parse_args(arguments)
    records = list(Store(given.store).records())
    save_figure(FIGURES["ladder"](score_frame(records)), given.out.with_suffix(".svg"))
    write_page(given.out, page(records, given.commit))


if __name__ == "__main__":
    main()
