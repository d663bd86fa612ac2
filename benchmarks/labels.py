"""Taught targets or drawn ones: what each is worth, and whether a rule can tell.

    python benchmarks/labels.py measure --splits 60 61
    python benchmarks/labels.py tell

The first pool of a run is made with a teacher and without, from the same generators.
Learners are scored with each by the run's own referee, as a check does it, and on rows
that nobody saw.  ``tell`` prints what rules that see the former have of the latter.
"""

from __future__ import annotations

import argparse
import importlib
import tempfile
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import torch
from answers_cell import Truth, load, read_together, run, split_frames
from pages import markdown_table, with_error
from records import ROOT, Record, measure_missing, read_records
from threadpoolctl import threadpool_limits

from tabtap.api.choices import choose_referee
from tabtap.domain import Candidates
from tabtap.domain.judgement import best_place
from tabtap.evaluate.evaluators import booster, panel_learners
from tabtap.evaluate.judging import FoldReferee
from tabtap.evaluate.metric import metric_of
from tabtap.loop import RunContext
from tabtap.table.frame import write_frame
from tabtap.table.schema import FloatArray
from tabtap.table.table import Table, concat

OUT = ROOT / "build" / "results" / "labels.jsonl"
TABLES = (
    *("ailerons", "insurance", "airfoil", "friedman1"),
    *("steel-plates-fault", "credit-g", "wine"),
)
LEARNERS = ("linear", "lightgbm")
N_ROWS = 500

TAUGHT, ASKED, DRAWN, HALF = "taught", "the same, as asked", "drawn", "half and half"
"""Pools: taught rows; these with the targets they were drawn for; rows of a run without
a teacher; half of the first and half of the third."""

CROSSED = "crossed ones taught"
"""Rows between the targets are taught, the others are as asked."""


# ---- Measuring a cell.


class PoolMade(Exception):
    """The first pool of a run, before it is judged; nothing more is wanted."""


def first_pool(
    heading: Record, teacher: str, folder: str
) -> tuple[RunContext, Candidates]:
    """Return the first pool that a run offers, cut to the budget."""
    module = importlib.import_module("tabtap.loop.augment")

    def stop(context: Any, progress: Any, *rest: Any) -> None:  # noqa: ANN401
        _, window, limits = rest
        cut = module._cut_to_budget
        pool = cut(context, progress.committed, window.pool, limits.budget)
        raise PoolMade(context, pool)

    source = load(heading["table"])
    real, _ = split_frames(source.name, heading["n_real"], heading["split"])
    asked = {**heading, "preset": "fast", "learner": "linear", "budget": N_ROWS}
    try:
        with mock.patch.object(module, "_check_pool", stop):
            run(
                real,
                source.target,
                source.task,
                asked,
                teacher=teacher,
                checkpoint=folder,
            )
    except PoolMade as made:
        return made.args
    raise AssertionError


def measure(heading: Record) -> Record:
    """Make both pools of a cell, and score learners with each."""
    torch.set_num_threads(1)
    started = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        context, taught = first_pool(heading, "auto", folder)
        _, drawn = first_pool(heading, "none", folder)
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        found = _scored(heading, context, pools_of(context, taught, drawn))
    return {**heading, **found, "seconds": round(time.process_time() - started, 1)}


def pools_of(
    context: RunContext, taught: Candidates, drawn: Candidates
) -> dict[str, Table]:
    """Return every pool that is compared, by name."""
    halves = []
    for rows, start in ((taught.rows, 0), (drawn.rows, 1)):
        for member in context.lineages.members:
            own = np.flatnonzero(rows.unseen_fold == member)
            halves.append(rows.take(own[start::2]))
    asked = replace(taught.rows, target=taught.asked)
    # A row that descends from one of the target that was asked for was not crossed.
    is_whole = context.real.condition[asked.origin] == asked.condition
    mixed = np.where(is_whole, asked.target, taught.rows.target)
    return {
        TAUGHT: taught.rows,
        ASKED: asked,
        DRAWN: drawn.rows,
        HALF: concat(halves),
        CROSSED: replace(taught.rows, target=mixed),
    }


def _scored(heading: Record, context: RunContext, pools: Mapping[str, Table]) -> Record:
    source, lineages, real = load(heading["table"]), context.lineages, context.real
    task = source.task
    found: Record = {"task": task, "scores": {}, "truth": {}, "teacher": []}
    for name in LEARNERS:
        judge = choose_referee(
            name, task, n_folds=lineages.n_folds_each, n_jobs=1, license_policy="any"
        )
        referee = FoldReferee(real, lineages, judge.evaluator, metric_of("score"))
        tried = {"real": real.empty(), **pools}
        found["scores"][name] = {
            pool: np.round(_only(referee, rows), 5).tolist()
            for pool, rows in tried.items()
        }
    answers = [a.in_unit_of(real) for a in context.stages.labeller.cross_fitted(real)]
    said = referee._score(referee.by_partition(answers))
    found["teacher"] = np.round(said, 5).tolist()
    found["truth"] = _truth(heading, context, pools)
    found["partitions"] = lineages.partitions.tolist()
    return found


def _only(referee: FoldReferee, rows: Table) -> FloatArray:
    (scores,) = referee.scores(rows).by_learner.values()
    return scores


def _truth(heading: Record, context: RunContext, pools: Mapping[str, Table]) -> Record:
    source = load(heading["table"])
    frames = split_frames(source.name, heading["n_real"], heading["split"])
    delivered = [rows.take(context.lineages.delivered(rows)) for rows in pools.values()]
    tables = read_together([*frames, *map(write_frame, delivered)], source)
    learners = {
        "linear": panel_learners(source.task)["linear"],
        "lightgbm": booster("lightgbm", source.task),
    }
    truth = Truth(tables[0], tables[1], learners)
    truth.known[()] = truth.ask(tables[0].empty(), LEARNERS)
    return {
        pool: {
            name: truth.change(truth.ask(rows, LEARNERS), [name], [name])
            for name in LEARNERS
        }
        for pool, rows in zip(pools, tables[2:], strict=True)
    }


# ---- What rules make of it.


def ways_of(record: Record, learner: str) -> dict[str, str]:
    """Return which pool each rule adds; none of them has seen the truth."""
    scores = {name: np.array(own) for name, own in record["scores"][learner].items()}
    lead = float(np.mean(np.array(record["teacher"]) - scores["real"]))
    true = {pool: own[learner]["change"] for pool, own in record["truth"].items()}

    def chosen(*pools: str) -> str:
        return pools[best_place([scores[pool] for pool in pools])]

    return {
        "always taught": TAUGHT,
        "always drawn": DRAWN,
        "always half and half": HALF,
        "drawn, unless the teacher scores higher": TAUGHT if lead > 0 else DRAWN,
        "as asked, unless the teacher scores higher": TAUGHT if lead > 0 else ASKED,
        "taught or the same as asked, by the check": chosen(TAUGHT, ASKED),
        "taught or drawn, by the check": chosen(TAUGHT, DRAWN),
        "the better of taught and drawn, in hindsight": max(
            (TAUGHT, DRAWN), key=lambda pool: true[pool]
        ),
    }


def tell(records: Sequence[Record]) -> str:
    """Return what every rule has of the truth, and beside always teaching, paired."""
    rows = []
    for task in dict.fromkeys(record["task"] for record in records):
        cells = [(r, n) for r in records if r["task"] == task for n in LEARNERS]
        for rule in ways_of(*cells[0]):
            own = [(r["truth"], n, ways_of(r, n)[rule]) for r, n in cells]
            after = [truth[pool][n]["change"] for truth, n, pool in own]
            taught = [truth[TAUGHT][n]["change"] for truth, n, _ in own]
            over = np.subtract(after, taught)
            differs = sum(pool != TAUGHT for _, _, pool in own)
            changes = with_error(after), f"{min(after):+.1f}", with_error(list(over))
            rows.append([task, rule, *changes, f"{differs} of {len(own)}"])
    header = ["task", "rule", "change", "worst", "over always taught", "other pool"]
    return markdown_table(header, rows)


# ---- Commands.


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is missing, or tell what rules make of it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("command", choices=("measure", "tell"))
    parser.add_argument("--n-real", type=int, nargs="+", default=[50])
    parser.add_argument("--splits", type=int, nargs="+", default=[60, 61])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tables", nargs="+", default=list(TABLES))
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args(arguments)
    if options.command == "tell":
        print(tell(read_records(options.out)))
        return
    cells = product(options.splits, options.n_real, options.tables)
    names = ("table", "n_real", "split", "seed")
    wanted = [
        {"table": t, "n_real": n, "split": s, "seed": options.seed} for s, n, t in cells
    ]
    measure_missing(
        measure, wanted, lambda r: tuple(r[name] for name in names), options.out
    )


if __name__ == "__main__":
    main()
