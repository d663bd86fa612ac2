"""How long the panel's network has to learn: fewer iterations beside its own.

    python benchmarks/network.py --splits 70 71

Trained on 50 real rows, and on these with 500 rows of jitter beside them, it is scored
on rows that nobody saw.  Prints what DECISIONS.md, 72, quotes.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator, Sequence
from itertools import product

from answers_cell import TABLES, load, obstacle, read_together, split_frames
from pages import markdown_table, with_error
from records import Record
from threadpoolctl import threadpool_limits

from tabtap.domain import ClassPrediction
from tabtap.evaluate.evaluators import panel_learners
from tabtap.evaluate.learners import answer_with
from tabtap.rivals.simple import Jitter
from tabtap.rng import stream
from tabtap.stopwatch import Stopwatch
from tabtap.table.table import concat

N_REAL, N_ROWS = 50, 500
USUAL = 200
"""Iterations that the others stand beside."""


def fits(table: str, split: int, iterations: Sequence[int]) -> Iterator[Record]:
    """Yield what the network scores with each number of iterations."""
    source = load(table)
    real, test = read_together(split_frames(table, N_REAL, split), source)
    rng = stream(0, "network", table, split)
    noisy = Jitter().make(real, N_ROWS, rng, Stopwatch())
    contexts = {"real rows": real, "with jitter": concat([real, noisy])}
    network = panel_learners(source.task)["network"]
    (setting,) = (name for name in network.get_params() if name.endswith("max_iter"))
    for (kind, context), most in product(contexts.items(), iterations):
        started = time.process_time()
        learners = {"network": network.set_params(**{setting: most})}
        (answers,) = answer_with(learners, [context], [test])
        spent = time.process_time() - started
        said = answers["network"].in_unit_of(real)
        is_class = isinstance(said, ClassPrediction)
        plain = said.right(test).mean() if is_class else said.losses(test).mean() ** 0.5
        yield {
            "task": source.task,
            "context": kind,
            "iterations": most,
            "score": float(said.scores(test).mean()),
            "plain": float(plain),
            "seconds": spent,
        }


def table_of(cells: Sequence[Sequence[Record]]) -> str:
    """Return differences from the usual number, cells of a task together."""
    kinds = dict.fromkeys(
        (r["task"], r["context"], r["iterations"]) for cell in cells for r in cell
    )
    rows = []
    for kind in sorted(kinds):
        found = [
            _beside_usual(cell, kind) for cell in cells if cell[0]["task"] == kind[0]
        ]
        score, plain, seconds = zip(*found, strict=True)
        told = with_error(score, "+.4f"), with_error(plain, "+.4f")
        rows.append(
            [*map(str, kind), str(len(found)), *told, with_error(seconds, ".3f")]
        )
    header = ["task", "learned", "iterations", "fits", "score", "accuracy or RMSE"]
    return markdown_table([*header, "CPU s"], rows)


def _beside_usual(
    cell: Sequence[Record], kind: tuple[str, str, int]
) -> tuple[float, float, float]:
    own = {r["iterations"]: r for r in cell if r["context"] == kind[1]}
    one, usual = own[kind[2]], own[USUAL]
    return one["score"] - usual["score"], one["plain"] - usual["plain"], one["seconds"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tables", nargs="+", default=TABLES)
    parser.add_argument("--splits", nargs="+", type=int, default=[70, 71])
    parser.add_argument("--iterations", nargs="+", type=int, default=[50, 100])
    options = parser.parse_args(arguments)
    tables = [name for name in options.tables if obstacle(name, N_REAL) is None]
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        cells = [
            list(fits(table, split, [*options.iterations, USUAL]))
            for table, split in product(tables, options.splits)
        ]
    print(table_of(cells))


if __name__ == "__main__":
    main()
