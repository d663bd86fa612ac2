"""What a teacher gives, and what the rows: the same rows with other targets.

    python benchmarks/teacher.py measure --n-real 20 50 100 --splits 0 1 --workers 2
    python benchmarks/teacher.py page

Rows of several kinds (drawn whole, crossed, jitter, SMOTE, copies) are made once from
all real rows of a cell and labelled by several teachers of the same rows.  No check
decides: everything is added.  The paper's predictors are trained with them and scored
on rows that nobody saw.  ``page`` writes docs/results/teacher.md.

TabPFN v1 teaches where its weights are, TabPFN v2 where its package is installed too.
``--sizes`` asks one thing only: what 1,500 rows bring that 500 do not, with the teacher
that a run has by default.  ``--mixtures`` asks another, of classes: whether rows mixed
otherwise, or labels that heed the one a row was drawn for, do better than ours.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pages
import torch
from answers_cell import (
    TABLES,
    Truth,
    load,
    obstacle,
    predictor_names,
    read_together,
    split_frames,
)
from answers_page import UNITS, grouped
from records import ROOT, Record, measure_missing, read_records
from threadpoolctl import threadpool_limits

from tabtap.compare.predictors import row_losses
from tabtap.config import PRESETS
from tabtap.diffusion import Backbone, fit_backbone
from tabtap.domain import ClassPrediction, LearnerPrediction
from tabtap.errors import UserInputError
from tabtap.evaluate.teachers import choose_teacher, relabel
from tabtap.proposal import CROSS_REDRAWN, draw_masks, learned_columns
from tabtap.rivals import method_named
from tabtap.rivals.ladder import draw_one_shot
from tabtap.rng import stream
from tabtap.stopwatch import Stopwatch
from tabtap.study.sources import SOURCES
from tabtap.table.split import folds
from tabtap.table.table import Table, concat

PAGE = pages.FOLDER / "teacher.md"
OUT = ROOT / "build" / "results" / "teacher.jsonl"

N_ROWS = 500
"""Rows that are added; three times as many of drawn and crossed ones together."""

STACK, V1, V2, ALL = "stack", "tabpfn-v1", "tabpfn-v2", "all of them"
TEACHERS: Mapping[str, tuple[str, ...]] = {
    STACK: (STACK,),
    V1: (V1,),
    V2: (V2,),
    ALL: (STACK, V1, V2),
}
"""Who teaches, by the name that records give it; those that are absent are left out."""

AUTO = "auto"
"""The teacher of a run that names none."""

ONE_THING = ("sizes", "mixtures")
"""What may be asked alone."""

AS_DRAWN, SAMPLED = "as drawn", "stack, sampled"
OTHERS = ("Jitter", "SMOTE", "Copies")
"""Rows of simpler methods, with the same teacher."""


PAIRED = """Against half crossed rows with the same teacher, over all cells above, each
cell with itself: what is more than ours is positive."""


# ---- Measuring a cell.


def measure(heading: Record) -> Record:
    """Label the rows of a cell in every way, and tell what each is worth."""
    torch.set_num_threads(1)
    started = time.process_time()
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        found = _measured(heading)
    return {**heading, **found, "seconds": round(time.process_time() - started, 1)}


def _measured(heading: Record) -> Record:
    source = load(heading["table"])
    frames = split_frames(source.name, heading["n_real"], heading["split"])
    real, test = read_together(list(frames), source)
    rng = stream(heading["seed"], "teacher", source.name, heading["split"])
    if heading.get("sizes"):
        return _sizes_measured(real, test, rng)
    if heading.get("mixtures"):
        rng = stream(heading["seed"], "mix", source.name, heading["split"])
        return _mixtures_measured(real, test, rng)
    made = make_rows(real, rng)
    everything = concat(list(made.values()))
    ends = np.cumsum([len(rows) for rows in made.values()])
    places = dict(
        zip(made, np.split(np.arange(len(everything)), ends[:-1]), strict=True)
    )
    truth = Truth(real, test, {})
    levels = {"real": _levels(truth, real.empty())}
    costs = {}
    for kind, rows in made.items():
        levels[f"{kind}, {AS_DRAWN}"] = _levels(truth, rows.take(np.arange(N_ROWS)))
    for name, parts in teachers_at_hand(real, heading["teachers"]).items():
        begun = time.process_time()
        answer = answered(parts, real, everything)
        costs[name] = round(time.process_time() - begun, 2)
        ways = {name: relabel(everything, answer, real)[0]}
        if name == STACK and isinstance(answer, ClassPrediction):
            ways[SAMPLED] = _sampled(everything, answer, rng)
        for way, labelled in ways.items():
            for kind, rows in variants(labelled, places, way).items():
                levels[f"{kind}, {way}"] = _levels(truth, rows)
    task = source.task
    return {"task": task, "levels": levels, "costs": costs, "best": best_of(real)}


def _sizes_measured(real: Table, test: Table, rng: np.random.Generator) -> Record:
    """Tell what 500 and 1,500 rows are worth, half of them crossed in both."""
    truth, half = Truth(real, test, {}), N_ROWS // 2
    rows = concat([*draw_rows(real, (3 * half, 3 * half), rng).values()])
    begun = time.process_time()
    chosen = choose_teacher("auto", real, truth.task)
    labelled = relabel(rows, answered([chosen.teacher], real, rows), real)[0]
    costs = {AUTO: round(time.process_time() - begun, 2)}
    few = labelled.take(np.r_[:half, 3 * half : 4 * half])
    levels = {
        "real": _levels(truth, real.empty()),
        f"half crossed, {AUTO}": _levels(truth, few),
        f"1,500 half crossed, {AUTO}": _levels(truth, labelled),
    }
    return {"task": truth.task, "levels": levels, "costs": costs, "best": best_of(real)}


def _mixtures_measured(real: Table, test: Table, rng: np.random.Generator) -> Record:
    """Tell what other mixtures and other labels of 500 rows are worth."""
    truth = Truth(real, test, {})
    made = draw_rows(real, (2 * N_ROWS, N_ROWS), rng)
    made["Jitter"] = method_named("Jitter").make(real, N_ROWS, rng, Stopwatch())
    rows = concat(list(made.values()))
    teacher = choose_teacher(STACK, real, truth.task).teacher
    answer = answered([teacher], real, rows)
    if not isinstance(answer, ClassPrediction):
        raise UserInputError("Mixtures are of classes: give --tables that have them.")

    def labelled(odds: float = 0.0) -> Table:
        """Take the likeliest class, that which was asked for being likelier by odds."""
        likely = np.log(np.clip(answer.probabilities, 1e-6, 1.0))
        likely[np.arange(len(rows)), rows.target] += odds
        return replace(rows, target=likely.argmax(axis=1).astype(rows.target.dtype))

    taught, drawn, crossed, near = labelled(), 0, 2 * N_ROWS, 3 * N_ROWS
    agreed = np.flatnonzero(taught.target[:crossed] == rows.target[:crossed])

    def some(table: Table, *parts: tuple[int, int]) -> Table:
        return table.take(np.concatenate([np.arange(a, a + n) for a, n in parts]))

    half, third, quarter = N_ROWS // 2, N_ROWS // 3 + 1, N_ROWS // 4
    heeding = {odds: some(labelled(odds), (drawn, half)) for odds in (1.0, 2.0)}
    sets = {
        "half crossed": some(taught, (drawn, half), (crossed, half)),
        "near": some(taught, (near, N_ROWS)),
        "drawn, crossed, near": some(
            taught, (drawn, third), (crossed, third), (near, N_ROWS - 2 * third)
        ),
        "drawn, near": some(taught, (drawn, half), (near, half)),
        "drawn": some(taught, (drawn, N_ROWS)),
        "drawn, odds e": some(labelled(1.0), (drawn, N_ROWS)),
        "drawn, odds e^2": some(labelled(2.0), (drawn, N_ROWS)),
        "drawn, as drawn": some(rows, (drawn, N_ROWS)),
        "drawn, where both agree": taught.take(agreed[:N_ROWS]),
        "drawn by odds e, crossed, near": concat(
            [heeding[1.0], some(taught, (crossed, quarter), (near, quarter))]
        ),
        "half crossed, odds e^2": concat([heeding[2.0], some(taught, (crossed, half))]),
    }
    levels = {"real": _levels(truth, real.empty())}
    levels |= {name: _levels(truth, added) for name, added in sets.items()}
    return {"task": truth.task, "levels": levels, "costs": {}, "best": best_of(real)}


def draw_rows(
    real: Table, n_rows: tuple[int, int], rng: np.random.Generator
) -> dict[str, Table]:
    """Return rows of a generator: so many whole ones, and so many crossed ones."""
    config = PRESETS["fast"].diffusion
    backbone = fit_backbone(real, rng=rng, config=config)
    return {
        "drawn": draw_one_shot(backbone, real, n_rows[0], rng),
        "crossed": draw_crossed(backbone, real, n_rows[1], rng),
    }


def make_rows(real: Table, rng: np.random.Generator) -> dict[str, Table]:
    """Return rows of every kind: whole ones, crossed ones, those of simpler methods."""
    made = draw_rows(real, (N_ROWS, 2 * N_ROWS), rng)
    for name in OTHERS:
        made[name] = method_named(name).make(real, N_ROWS, rng, Stopwatch())
    return made


def draw_crossed(
    backbone: Backbone, real: Table, n: int, rng: np.random.Generator
) -> Table:
    """Redraw half of the cells of real rows for the target of another row."""
    rows = np.resize(rng.permutation(len(real)), n)
    anchors = replace(real.take(rows), target=real.target[rng.permutation(rows)])
    masks = draw_masks(learned_columns(real.schema), CROSS_REDRAWN, n, rng)
    return backbone.inpaint(anchors, masks, rng)


def variants(
    labelled: Table, places: Mapping[str, np.ndarray], way: str
) -> dict[str, Table]:
    """Return the sets of rows that are compared, with their labels."""
    half = N_ROWS // 2
    drawn, crossed = places["drawn"], places["crossed"]
    sets = {"half crossed": np.concatenate([drawn[:half], crossed[:half]])}
    if way != V1:
        sets["drawn"] = drawn
    if way == STACK:
        sets["crossed"] = crossed[:N_ROWS]
    if way in (STACK, V2, ALL):
        sets["1,500 rows"] = np.concatenate([drawn, crossed])
        sets |= {name: places[name] for name in OTHERS}
    return {kind: labelled.take(rows) for kind, rows in sets.items()}


def teachers_at_hand(real: Table, wanted: Sequence[str]) -> dict[str, list[Any]]:
    """Return each teacher's parts, those that are not on this machine left out."""
    target = real.schema.target
    task = "classification" if target is None else target.task
    parts = {}
    for name in dict.fromkeys(part for own in TEACHERS.values() for part in own):
        try:
            parts[name] = choose_teacher(name, real, task).teacher
        except UserInputError:
            continue
    found = {}
    for name, own in TEACHERS.items():
        there = [parts[part] for part in own if part in parts]
        if name in wanted and (len(there) == 1 if name != ALL else len(there) > 1):
            found[name] = there
    return found


def answered(parts: Sequence[Any], real: Table, rows: Table) -> LearnerPrediction:
    """Return what one or several teachers say together of some rows."""
    together = replace(
        parts[0],
        evaluators=tuple(e for part in parts for e in part.evaluators),
    )
    return together.fit([real]).predict([rows])[0]


def _sampled(rows: Table, answer: ClassPrediction, rng: np.random.Generator) -> Table:
    """Draw labels from the teacher's probabilities instead of the most likely one."""
    upto = answer.probabilities.cumsum(axis=1)
    labels = (rng.random((len(rows), 1)) * upto[:, -1:] > upto).sum(axis=1)
    return replace(rows, target=labels.astype(rows.target.dtype))


def _levels(truth: Truth, rows: Table) -> dict[str, float]:
    """Return accuracy or RMSE of each of the paper's predictors with some rows."""
    losses = row_losses(
        concat([truth.real, rows]),
        truth.test,
        predictor_names(truth.task),
        reference=truth.real,
    )
    means = {name: float(own.mean()) for name, own in losses.items()}
    if truth.task == "regression":
        return {name: round(float(np.sqrt(m)), 5) for name, m in means.items()}
    return {name: round(1.0 - m, 5) for name, m in means.items()}


def best_of(real: Table) -> str:
    """Return the predictor that cross-validation on the real rows calls best."""
    fold = folds(real.condition, 5, np.random.default_rng(0))
    target = real.schema.target
    names = predictor_names("classification" if target is None else target.task)
    total = dict.fromkeys(names, 0.0)
    for number in np.unique(fold):
        seen, asked = real.take(fold != number), real.take(fold == number)
        losses = row_losses(seen, asked, names, reference=real)
        total = {name: total[name] + float(losses[name].sum()) for name in names}
    return min(total, key=lambda name: total[name])


# ---- The page.


HEADING = """# A teacher

Computed by `benchmarks/teacher.py` from recorded measurements; none is typed. Rows of
several kinds, made from all real rows of a cell, get the targets of several teachers.
500 rows are added and no check decides, so that rows and teachers can be told apart.
Changes against real rows alone on rows that nobody saw, in points of accuracy or per
cent of RMSE, larger is better; `±` is a standard error over cells. *mean*: of the
paper's predictors (six classifiers, four regressors). *best*: of the one that
cross-validation on the real rows calls best, with rows against without. *half
crossed*: half of the rows drawn whole, half redrawn in half of their cells for another
row's target, as tabtap proposes them. *stack*: ordinary learners, which every
installation has."""


def gains(record: Record, variant: str) -> tuple[float, float] | None:
    """Return the change of the mean and of the best predictor; None if not measured."""
    if variant not in record["levels"]:
        return None
    alone, after = record["levels"]["real"], record["levels"][variant]
    pairs = (
        (np.mean(list(alone.values())), np.mean(list(after.values()))),
        (alone[record["best"]], after[record["best"]]),
    )
    if record["task"] == "regression":
        mean, best = (100.0 * (1.0 - new / old) for old, new in pairs)
    else:
        mean, best = (100.0 * (new - old) for old, new in pairs)
    return float(mean), float(best)


def gain_table(records: Sequence[Record]) -> str:
    """Return the changes of every kind of rows and labels, by size."""
    names = dict.fromkeys(v for r in records for v in r["levels"] if v != "real")
    sizes = sorted({record["n_real"] for record in records})
    rows = []
    for name in names:
        cells = [name]
        for size in sizes:
            some = [gains(r, name) for r in records if r["n_real"] == size]
            there = [one for one in some if one is not None]
            cells += [pages.with_error([one[k] for one in there]) for k in (0, 1)]
            cells.append(str(len(there)))
        rows.append(cells)
    parts = ("mean", "best", "cells")
    header = [f"{part}, n = {size}" for size in sizes for part in parts]
    return pages.markdown_table(["rows, labels", *header], rows)


def paired_table(records: Sequence[Record]) -> str:
    """Return what each kind of rows gains beyond the first one, cell by cell."""
    first, *others = [v for v in records[0]["levels"] if _is_taught(records[0], v)]
    rows = []
    for name in others:
        both = [(gains(r, first), gains(r, name)) for r in records]
        there = [(one, two) for one, two in both if one and two]
        cells = [name]
        for k in (0, 1):
            more = [two[k] - one[k] for one, two in there]
            better = f"{sum(gain > 0 for gain in more)} of {len(more)}"
            cells += [pages.with_error(more), better]
        rows.append(cells)
    header = ["rows, labels", "mean", "better in", "best", "better in"]
    return pages.markdown_table(header, rows)


def _is_taught(record: Record, name: str) -> bool:
    """Whether rows have the ordinary teacher's labels, or all were made by ours."""
    return name != "real" and (name.endswith(f", {STACK}") or "mixtures" in record)


def cost_table(records: Sequence[Record]) -> str:
    """Return the CPU seconds that each teacher takes for all rows of a cell."""
    rows = []
    for name in TEACHERS:
        for size, some in grouped(records, lambda r: r["n_real"]).items():
            seconds = [r["costs"][name] for r in some if name in r["costs"]]
            if seconds:
                rows.append([name, str(size), pages.with_error(seconds, ".1f")])
    return pages.markdown_table(["teacher", "n", "CPU seconds for 3,000 rows"], rows)


def teacher_page(records: Sequence[Record], notes: str = "") -> str:
    """Return the page."""
    sections = [HEADING]
    for task, own in grouped(records, lambda r: r["task"]).items():
        mine = [r for r in own if r["table"] in SOURCES]
        rest = [r for r in own if r["table"] not in SOURCES]
        for title, some in (("the paper's tables", mine), ("other tables", rest)):
            if some:
                tables = ", ".join(sorted({r["table"] for r in some}))
                sections += [f"## In {UNITS[task]}: {title}", f"Tables: {tables}."]
                sections.append(gain_table(some))
        if any(_is_taught(own[0], name) for name in own[0]["levels"]):
            sections += [f"## In {UNITS[task]}: beyond ours", PAIRED, paired_table(own)]
    sections += ["## Cost", cost_table(records)]
    sections.append(pages.provenance(records, [command_of(records)]))
    return pages.page_of(sections, notes)


def command_of(records: Sequence[Record]) -> str:
    """Return the command that measures what some records hold."""
    sizes, splits, seeds = (
        " ".join(map(str, sorted({r[name] for r in records})))
        for name in ("n_real", "split", "seed")
    )
    return (
        f"python benchmarks/teacher.py measure --n-real {sizes} --splits {splits} "
        f"--seed {seeds}"
        + "".join(f" --{name}" for name in ONE_THING if records[0].get(name))
    )


# ---- Commands.


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("command", choices=("measure", "page"))
    parser.add_argument("--n-real", type=int, nargs="+", default=[50])
    parser.add_argument("--splits", type=int, nargs="+", default=[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tables", nargs="+", default=list(TABLES))
    parser.add_argument("--teachers", nargs="+", default=list(TEACHERS))
    parser.add_argument("--sizes", action="store_true", help="500 and 1,500 rows only")
    parser.add_argument("--mixtures", action="store_true", help="of classes only")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--page", type=Path, default=PAGE)
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is missing, or write the page."""
    options = _options(arguments)
    if options.command == "page":
        records = read_records(options.out)
        notes = pages.read_notes(options.page.with_name("teacher_notes.md"))
        pages.write_page(options.page, teacher_page(records, notes))
        return
    cells = product(options.splits, options.n_real, options.tables)
    wanted = [
        {
            **{"table": table, "n_real": n_real, "split": split},
            **{"seed": options.seed, "teachers": options.teachers},
            **{name: True for name in ONE_THING if getattr(options, name)},
        }
        for split, n_real, table in cells
        if obstacle(table, n_real) is None
    ]
    names = ("table", "n_real", "split", "seed", *ONE_THING)
    measure_missing(
        measure,
        wanted,
        lambda record: tuple(record.get(name) for name in names),
        options.out,
        jobs=options.workers,
    )


if __name__ == "__main__":
    main()
