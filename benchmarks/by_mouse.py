"""MiceProtein split at random, and with all rows of a mouse on one side.

    tabtap study run main --preset fast --store build/results/studies
    tabtap bench run benchmarks/grids/mice-by-mouse.toml --store build/results/by-mouse
    python benchmarks/by_mouse.py

writes docs/results/mice-by-mouse.md, from records alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from pages import FOLDER, markdown_table, page_of, with_error, write_page
from records import ROOT, Record

from tabtap.compare.store import Store
from tabtap.study.studies import study_named, study_records
from tabtap.study.tables import gains, means, score_frame

PAGE = FOLDER / "mice-by-mouse.md"
RESULTS = ROOT / "build" / "results"
TABLE, METRIC = "MiceProtein", "accuracy"
COMMANDS = [line.strip() for line in __doc__.splitlines() if line.startswith("    ")]

HEADING = """# Mice that were seen, and mice that were not

Fifteen rows of MiceProtein are of one mouse and nearly copies, and a random split has
rows of a mouse on both sides: scores are about mice that were seen. *By mouse*: all
rows of a mouse are on one side. Accuracy in per cent, mean of six predictors; gains in
points over real rows alone; `±` is a standard error over splits."""


def mice_page(random: Sequence[Record], by_mouse: Sequence[Record]) -> str:
    """Return the page; of the random split the cells that the other has as well."""
    there = {_place(record) for record in by_mouse}
    both = {
        "random": [record for record in random if _place(record) in there],
        "by mouse": list(by_mouse),
    }
    told = [f"- command: `{command}`" for command in COMMANDS]
    for name, records in both.items():
        cells = [record["cell"] for record in records]
        splits, seeds = {c["split"] for c in cells}, {c["seed"] for c in cells}
        commits = sorted({record["commit"] for record in records})
        told.append(
            f"- {name}: splits {sorted(splits)}, seed {sorted(seeds)}, commit "
            f"{', '.join(commits)}"
        )
    return page_of([HEADING, mice_table(both), "\n".join(told)])


def mice_table(by_split: Mapping[str, Sequence[Record]]) -> str:
    """Return levels and gains of every method and size, kinds of splits abreast."""
    frames = {name: score_frame(records) for name, records in by_split.items()}
    gained = {name: gains(frame, METRIC) for name, frame in frames.items()}
    first = means(next(reversed(frames.values())), METRIC)
    rows = []
    for n_real in sorted(first["n_real"].unique()):
        for method in first["method"].unique():
            levels, changes = [], []
            for name, frame in frames.items():
                of = means(frame, METRIC)
                own = of[(of["n_real"] == n_real) & (of["method"] == method)]
                levels.append(f"{own['mean'].iloc[0]:.1f}" if len(own) else "-")
                part = gained[name]
                own = part[(part["n_real"] == n_real) & (part["method"] == method)]
                changes.append(with_error(own["gain"].to_list()))
            rows.append([str(n_real), method, *levels, *changes])
    header = ["n_real", "method", *by_split, *(f"gain, {name}" for name in by_split)]
    return markdown_table(header, rows)


def _place(record: Record) -> tuple[str, int, int, str, str]:
    cell = record["cell"]
    named = cell["method"], str(sorted(cell["settings"].items()))
    return (cell["dataset"], cell["n_real"], cell["split"], *named)


def main(results: Path = RESULTS, page: Path = PAGE) -> None:
    """Write the page."""
    random = study_records(study_named("main"), Store(str(results / "studies")))
    by_mouse = Store(str(results / "by-mouse")).records()
    write_page(page, mice_page(list(random), list(by_mouse)))


if __name__ == "__main__":
    main()
