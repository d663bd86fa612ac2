"""Tables on which nothing was chosen, and whether the default helps there too.

    python benchmarks/unseen.py --store build/results/unseen --jobs 2

Five tables that come with scikit-learn.  No setting was ever chosen by looking at them;
they are split and scored as the paper's tables are.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from pages import FOLDER, read_notes, write_page
from records import stamp
from sklearn import datasets

from tabtap.compare.printing import as_markdown
from tabtap.compare.runner import Cluster, run_cells
from tabtap.compare.store import Cell, Record, Store, Terms
from tabtap.study.cell import run_cell
from tabtap.study.tables import tables_named
from tabtap.table import Table, read_frame

TABLES = {
    "wine": datasets.load_wine,
    "breast cancer": datasets.load_breast_cancer,
    "iris": datasets.load_iris,
    "digits": datasets.load_digits,
    "diabetes": datasets.load_diabetes,
}
METHODS = ("Real", "Copies", "SMOTE", "One shot", "TAP")
PAGE = FOLDER / "unseen.md"
NOTES = PAGE.with_name("unseen_notes.md")
HEAD = """# Tables on which nothing was chosen

Five tables that come with scikit-learn, split and scored as the paper's are. No setting
was chosen by looking at them.
"""


def load(name: str) -> Table:
    """Read one of the tables."""
    frame = TABLES[name](as_frame=True).frame
    task = "regression" if name == "diabetes" else "classification"
    return read_frame(frame, "target", task=task)


def work(cell: Cell) -> Record:
    """Do one cell: split, make rows, score."""
    return run_cell(cell, load(cell.dataset))


def cells(splits: int, seed: int) -> list[Cell]:
    """Return all cells, the small sizes of all tables first."""
    return [
        Cell(
            dataset=name,
            n_real=n_real,
            split=split,
            method=method,
            terms=Terms(seed=seed),
        )
        for split in range(splits)
        for n_real in (20, 50)
        for name in TABLES
        for method in METHODS
    ]


def page(records: list[Record], command: str) -> str:
    """Return the page's text."""
    parts = [HEAD]
    for title, name in (("Gains", "gains"), ("Cells won", "wins"), ("Scores", "main")):
        parts += [f"## {title}", *map(as_markdown, tables_named(name, records))]
    if notes := read_notes(NOTES):
        parts.append(notes)
    about = stamp()
    parts.append(
        f"- command: `{command}`\n- commit {about['commit']}, {about['machine']}"
    )
    return "\n\n".join(parts) + "\n"


def main(arguments: list[str] | None = None) -> None:
    """Measure what is not measured yet, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--store", required=True)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--page", type=Path, default=PAGE)
    given = parser.parse_args(arguments)
    store = Store(given.store)
    wanted = cells(given.splits, given.seed)
    run_cells(wanted, work, store, cluster=Cluster(jobs=given.jobs))
    command = f"python benchmarks/unseen.py --splits {given.splits} --seed {given.seed}"
    write_page(given.page, page(list(store.records()), command))


if __name__ == "__main__":
    main()
