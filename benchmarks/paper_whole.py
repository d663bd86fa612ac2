"""What came of the paper's method whole, from its records into paper-method.md.

    tabtap bench run benchmarks/grids/paper-numbers.toml --store STORE
    tabtap bench run benchmarks/grids/paper-classes.toml --store STORE
    python benchmarks/paper_whole.py

STORE is build/results/paper-whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from pages import FOLDER, markdown_table
from records import ROOT, Record

from tabtap.archive import put_in_place
from tabtap.compare.store import Store

PAGE = FOLDER / "paper-method.md"
STORE = ROOT / "build" / "results" / "paper-whole"
BEGIN, END = "<!-- outcome -->", "<!-- end of outcome -->"


def outcome(records: Sequence[Record]) -> str:
    """Return scores without and with rows, learner by learner, and the costs."""
    real = {r["cell"]["dataset"]: r for r in records if r["cell"]["method"] == "Real"}
    rows, said = [], []
    for record in (r for r in records if r["cell"]["method"] == "TAP"):
        name, with_rows = record["cell"]["dataset"], record["scores"]
        metric = "accuracy" if record["task"] == "classification" else "rmse"
        alone = {who: s[metric] for who, s in real[name]["scores"].items()}
        made = {who: s[metric] for who, s in with_rows.items()}
        for who in alone:
            rows.append((name, metric, who, f"{alone[who]:.3f}", f"{made[who]:.3f}"))
        means = [f"{np.mean(list(part.values())):.3f}" for part in (alone, made)]
        rows.append((name, metric, "mean", *means))
        spent = record["costs"]["cpu_seconds"]
        parts = [f"{n} {spent[n]:.0f}" for n in ("backbones", "evaluator", "proposals")]
        said.append(
            f"- {name}: {record['n_rows']} rows committed in "
            f"{spent['method']:.0f} CPU seconds ({', '.join(parts)})"
        )
    header = ("table", "score", "predictor", "real rows", "with the paper's rows")
    return "\n\n".join([markdown_table(header, rows), "\n".join(said)])


def written(page: str, records: Sequence[Record]) -> str:
    """Return the page with what came of it between its marks."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{outcome(records)}\n\n{END}{after}"


def main(store: Path = STORE, page: Path = PAGE) -> None:
    """Write the part of the page that is measured."""
    records = list(Store(str(store)).records())
    put_in_place(written(page.read_text("utf-8"), records).encode(), page)


if __name__ == "__main__":
    main()
