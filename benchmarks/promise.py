"""How the rule of the promise was chosen: learner, part of the pool, bar, partitions.

    python benchmarks/promise.py measure --splits 10 11 --workers 2
    python benchmarks/promise.py page

``measure`` asks the panel about real rows alone, with parts of a pool of drawn rows, of
one that a teacher labels (``--teacher``), and with copies, by cross-fitting and on rows
that nobody saw.  Nothing is decided there.  ``page`` applies every rule to what
was measured and writes docs/results/promise.md.

A cell (table, n_real, split, seed, preset) is one file of arrays in the folder
``--out``; what is there is not measured again.
"""

from __future__ import annotations

import argparse
import json
import time
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import answers_cell as answers
import numpy as np
import pages
import torch
from answers_page import LIMITS, STEPS, SURE, UNITS, grouped
from numpy.typing import NDArray
from records import ROOT, Record, hand_out, stamp
from scipy.special import stdtrit
from threadpoolctl import threadpool_limits

from tabtap.api import run
from tabtap.api.choices import task_of
from tabtap.config import CommitConfig, preset_named
from tabtap.domain import Bound, Lineages, RefereeScores, judgement
from tabtap.evaluate.evaluators import PANEL, panel_learners
from tabtap.evaluate.figures import figure_kinds, plain_figure, prediction_of
from tabtap.evaluate.teachers import choose_teacher
from tabtap.loop.augment import fill_window
from tabtap.loop.commit import copies_like
from tabtap.proposal import InpainterStack
from tabtap.rivals.ladder import request_for
from tabtap.rng import stream
from tabtap.stopwatch import Stopwatch
from tabtap.table import Table, read_frame
from tabtap.table.frame import write_frame
from tabtap.table.schema import FloatArray, IntArray, Task

PAGE = pages.FOLDER / "promise.md"
OUT = ROOT / "build" / "results" / "promise"
N_PARTITIONS = 3
"""Most partitions that rules are compared with; fewer are the first of them."""

ALONE = "alone"
DRAWN = {f"drawn {size:g}n": size for size in (4, 1)}
TAUGHT = {f"taught {size:g}n": size for size in (10, 2.5)}
"""Parts of a pool, in real rows; each is inside those before it."""

COPIES = "copies 10n"


# ---- Measuring a cell.


def measure(heading: Record, folder: Path) -> None:
    """Measure a cell and write its file; what goes wrong is told and stops no other."""
    started, place, mark = time.process_time(), name_of(heading), stamp()
    try:
        torch.set_num_threads(1)
        with warnings.catch_warnings(), threadpool_limits(1):
            warnings.simplefilter("ignore")
            found, arrays = _measured(heading)
    except Exception:  # noqa: BLE001  it is told, and measured again by the next call
        print(f"{place}: failed\n{traceback.format_exc()}", flush=True)
        return
    seconds = round(time.process_time() - started, 1)
    about = {**heading, **found, "seconds": seconds, **mark}
    folder.mkdir(parents=True, exist_ok=True)
    unfinished = folder / f"{place}.part"
    with unfinished.open("wb") as file:
        np.savez_compressed(file, about=np.array(json.dumps(about)), **arrays)
    unfinished.replace(folder / f"{place}.npz")
    print(f"{place}: {seconds:g} CPU seconds", flush=True)


def _measured(heading: Record) -> tuple[Record, dict[str, NDArray[Any]]]:
    source = answers.load(heading["table"])
    frames = answers.split_frames(source.name, heading["n_real"], heading["split"])
    real = read_frame(frames[0], source.target, task=source.task)
    preset = preset_named(answers.NAMED[heading["preset"]])
    utility = replace(preset.augment.utility, n_partitions=N_PARTITIONS)
    preset = replace(preset, augment=replace(preset.augment, utility=utility))
    request = request_for(real, preset, heading["seed"], learner="auto")
    lineages = run.lineages_of(request)
    parts = offered(request, lineages, heading["teacher"])
    referee = run.referee_of(request, lineages)
    judged = [referee.scores(rows) for rows in (real.empty(), *parts.values())]
    about = {
        **{"task": source.task, "parts": [ALONE, *parts], "learners": list(PANEL)},
        "n_folds": lineages.n_folds_each,
    }
    scores, plain = zip(*(_by_row(one, real) for one in judged), strict=True)
    arrays: dict[str, NDArray[Any]] = {
        "partitions": lineages.partitions,
        "clusters": np.zeros(0) if request.groups is None else request.groups,
        **{"scores": np.stack(scores), "plain": np.stack(plain)},
    }
    given = [
        delivered(rows, lineages, number)
        for number in range(1, len(lineages.partitions) + 1)
        for rows in (real.empty(), *parts.values())
    ]
    tables = answers.read_together([*frames, *map(write_frame, given)], source)
    truth = answers.Truth(tables[0], tables[1], panel_learners(source.task))
    asked = [truth.ask(rows, PANEL) for rows in tables[2:]]
    shape = (len(lineages.partitions), len(judged), len(PANEL), -1)
    for name in ("scores", "losses"):
        rows = np.stack([[getattr(one, name)[who] for who in PANEL] for one in asked])
        arrays[f"test_{name}"] = rows.reshape(shape).astype(np.float32)
    return about, arrays


def offered(request: run.Request, lineages: Lineages, teacher: str) -> dict[str, Table]:
    """Return parts of a run's first pool, drawn and taught, and copies, by name."""
    real = request.real
    stack = run.fit_stack(request, lineages)
    chosen = choose_teacher(teacher, real, task_of(real))
    pools = {
        "drawn": first_pool(request, lineages, stack),
        "taught": first_pool(replace(request, teacher=chosen), lineages, stack),
    }
    parts = {
        name: first_rows(pools[kind], lineages, round(size * len(real)), request.seed)
        for kind, sizes in (("drawn", DRAWN), ("taught", TAUGHT))
        for name, size in sizes.items()
    }
    whole = parts[next(iter(TAUGHT))]
    return {**parts, COPIES: copies_like(whole, real, lineages)}


def first_pool(
    request: run.Request, lineages: Lineages, stack: InpainterStack
) -> Table:
    """Return what a run would offer first."""
    context = run.make_context(request, lineages, stack, Stopwatch())
    start = run.fresh_start(request)
    baseline = context.stages.utility.baseline(start.committed.rows)
    window = fill_window(context, start, baseline, lambda _: None, lambda: True)
    return window.pool.rows  # there is one: time is not short


def first_rows(pool: Table, lineages: Lineages, n_rows: int, seed: int) -> Table:
    """Return so many rows of every lineage; fewer are the first of more."""
    chosen = []
    for member in lineages.members:
        own = np.flatnonzero(pool.unseen_fold == member)
        chosen.append(stream(seed, "part", member).permutation(own)[:n_rows])
    return pool.take(np.concatenate(chosen))


def delivered(rows: Table, lineages: Lineages, n_partitions: int) -> Table:
    """Return what a user has of some rows if there are only the first partitions."""
    first = Lineages(np.atleast_2d(lineages.fold)[:n_partitions], crossfit=True)
    own = rows.take(np.isin(rows.unseen_fold, first.members))
    return own.take(first.delivered(own))


def _by_row(judged: RefereeScores, real: Table) -> list[NDArray[np.float32]]:
    """Return scores and plain figures of shape (n_learners, n_partitions, n_real)."""
    said = [judged.answers[name] for name in PANEL]
    scores = [[prediction_of(part, real).scores(real) for part in a] for a in said]
    sign = 1.0 if figure_kinds(real)[0].larger_is_better else -1.0
    plain = [[sign * plain_figure(real, [part[None]]) for part in a] for a in said]
    return [np.array(both, dtype=np.float32) for both in (scores, plain)]


# ---- Cells, as they are read from their files.


class Truly(NamedTuple):
    """A gain on unseen rows: yardstick, its error, and points or per cent of RMSE."""

    score: float
    error: float
    plain: float


@dataclass(frozen=True, slots=True, eq=False)
class Cell:
    """What was measured of a table, a split and a seed; learners as in the panel."""

    about: Record

    scores: FloatArray
    """Shape (n_parts, n_learners, n_partitions, n_real): the yardstick, cross-fitted;
    the first part is none."""

    plain: FloatArray
    """Likewise each row's share in the plain figure, accuracy or minus RMSE."""

    test_scores: FloatArray
    """Shape (n_partitions, n_parts, n_learners, n_test): the yardstick on rows that
    nobody saw, by learners trained with what so many partitions deliver."""

    test_losses: FloatArray
    """Likewise losses as ``plain_change`` takes them."""

    partitions: IntArray
    clusters: IntArray | None = None

    def told(self, part: str, n_partitions: int) -> FloatArray:
        """Return scores of shape (n_learners, n_real), over the first partitions."""
        found = self.scores[self.about["parts"].index(part)]
        return np.asarray(found[:, :n_partitions].mean(axis=1))

    def truth(self, part: str, learner: int, alone: int, n_partitions: int) -> Truly:
        """Return what a learner with a part truly gains over one alone."""
        place, number = self.about["parts"].index(part), n_partitions - 1
        scores, losses = self.test_scores[number], self.test_losses[number]
        rise = scores[place, learner] - scores[0, alone]
        new, old = [losses[place, learner]], [losses[0, alone]]
        error = float(np.std(rise, ddof=1) / np.sqrt(len(rise)))
        gain, _ = answers.plain_change(new, old, self.about["task"])
        return Truly(float(rise.mean()), error, gain)


def read_cell(path: Path) -> Cell:
    """Read a cell's file."""
    with np.load(path) as found:
        arrays = {name: found[name] for name in found.files}
    about = json.loads(str(arrays.pop("about")))
    clusters = arrays.pop("clusters")
    for name in ("scores", "plain", "test_scores", "test_losses"):
        arrays[name] = arrays[name].astype(np.float64)
    return Cell(about, **arrays, clusters=clusters if len(clusters) else None)


def read_cells(folder: Path, n_real: int, preset: str, teacher: str) -> list[Cell]:
    """Read the cells of a size, a preset and a teacher."""
    names = sorted(folder.glob(f"*-{n_real}-*-*-{preset}-{teacher}.npz"))
    return [read_cell(name) for name in names]


# ---- Rules: from scores to a promise.  Those that were not chosen live only here.


@dataclass(frozen=True, slots=True, eq=False)
class Choices:
    """What a rule may choose from, and what it may know."""

    alone: FloatArray
    """Scores of shape (n_learners, n_real) without new rows."""

    options: FloatArray
    """Scores of shape (n_parts * n_learners, n_real), part by part, whole pool first;
    so an option of the whole pool has the number of its learner."""

    partitions: IntArray
    confidence: float

    @property
    def best(self) -> int:
        """The learner that is best alone; also the option of it with the whole pool."""
        return int(self.alone.mean(axis=1).argmax())


class Found(NamedTuple):
    """An option, each row's score without rows and with them, what widens the bar."""

    option: int
    before: FloatArray
    after: FloatArray
    widening: float = 1.0


def stable(choices: Choices) -> Found:
    """Choose for each fold by the others; the first option unless one is ahead."""
    scores, first = list(choices.options), choices.best
    after = judgement.best_elsewhere(scores, choices.partitions, first)
    return Found(judgement.best_place(scores, first), choices.alone[first], after)


def chosen(choices: Choices) -> Found:
    """Do as the product does: ``stable``, parts being asked of two learners only."""
    n_learners = len(choices.alone)
    with_whole = int(choices.options[:n_learners].mean(axis=1).argmax())
    numbers = np.arange(len(choices.options))
    likely = np.isin(numbers % n_learners, (choices.best, with_whole))
    asked = numbers[(numbers < n_learners) | likely]
    found = stable(replace(choices, options=choices.options[asked]))
    return found._replace(option=int(asked[found.option]))


def naive(choices: Choices) -> Found:
    """Promise the best option's own gain, as if it had not been chosen."""
    option = int(choices.options.mean(axis=1).argmax())
    return Found(option, choices.alone[choices.best], choices.options[option])


def maxt(choices: Choices) -> Found:
    """Promise as ``naive``, with a bar that holds for all options at once.

    Widened by the simulated quantile of the largest t value over that of a single one.
    """
    n_rows, level = choices.options.shape[1], choices.confidence
    gains = choices.options - choices.alone[choices.best]
    gains = gains - gains.mean(axis=1, keepdims=True)
    gains /= gains.std(axis=1, ddof=1, keepdims=True) + 1e-12
    draws = np.random.default_rng(0).standard_normal((2000, n_rows))
    largest = (draws @ gains.T / np.sqrt(n_rows - 1)).max(axis=1)
    ratio = float(np.quantile(largest, level) / stdtrit(n_rows - 1, level))
    return naive(choices)._replace(widening=max(ratio, 1.0))


def xf(choices: Choices) -> Found:
    """Choose for each fold by the others, with rows and without; no first option."""
    before = _leader_elsewhere(choices.alone, choices.partitions)
    after = _leader_elsewhere(choices.options, choices.partitions)
    return Found(naive(choices).option, before, after)


def xf0(choices: Choices) -> Found:
    """Choose for each fold by the others with rows; without, the best of all."""
    after = _leader_elsewhere(choices.options, choices.partitions)
    return Found(naive(choices).option, choices.alone[choices.best], after)


def _leader_elsewhere(scores: FloatArray, partitions: IntArray) -> FloatArray:
    """Score each fold by whichever has the largest mean on the others."""
    found = np.zeros(partitions.shape)
    for place, fold in enumerate(partitions):
        for number in np.unique(fold):
            mine = fold == number
            leader = scores[:, ~mine].mean(axis=1).argmax()
            found[place, mine] = scores[leader, mine]
    return np.asarray(found.mean(axis=0))


RULES: Mapping[str, Callable[[Choices], Found]] = {
    rule.__name__: rule for rule in (chosen, stable, naive, maxt, xf, xf0)
}
NAIVE, WIDE, OWN, SHARES = "naive", "Nadeau-Bengio", "product", "product, named"
"""Bars as of independent rows, wider by a factor, and those of the product."""


# ---- A rule applied to a cell.


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Which rule, with which bar, partitions and parts; the product's by default."""

    rule: str = "chosen"
    bar: str = OWN
    n_partitions: int = N_PARTITIONS
    parts: tuple[str, ...] = tuple(TAUGHT)
    """The whole pool first."""

    confidence: float = judgement.confidence_at(1, CommitConfig().confidence)


class Judged(NamedTuple):
    """What a rule made of a cell, and what was true."""

    let_in: bool
    before: FloatArray
    after: FloatArray
    bound: Bound
    truth: Truly


def judge(cell: Cell, setting: Setting) -> Judged:
    """Decide by a rule as the product decides about a first pool."""
    number, level = setting.n_partitions, setting.confidence
    options = np.concatenate([cell.told(part, number) for part in setting.parts])
    partitions = cell.partitions[:number]
    choices = Choices(cell.told(ALONE, number), options, partitions, level)
    found, alone = RULES[setting.rule](choices), choices.best
    bound = bar(found.before, found.after, cell, setting.bar, level)
    bound = replace(bound, margin=bound.margin * found.widening)
    place, learner = divmod(found.option, len(choices.alone))
    promise = (setting.parts[place], learner, alone, number)
    let_in = bound.lower > 0.0 and worth(cell, *promise) >= CommitConfig().min_gain
    truth = cell.truth(*promise)
    return Judged(bool(let_in), found.before, found.after, bound, truth)


def worth(cell: Cell, part: str, learner: int, alone: int, number: int) -> float:
    """Return the estimated gain in points of accuracy, or as a share of the RMSE."""
    plain = cell.plain[:, :, :number].mean(axis=(2, 3))
    before, after = plain[0, alone], plain[cell.about["parts"].index(part), learner]
    whole = abs(before) if cell.about["task"] == "regression" else 1.0
    return float((after - before) / whole)


def bar(
    before: FloatArray, after: FloatArray, cell: Cell, kind: str, confidence: float
) -> Bound:
    """Bound a mean gain by one of the bars."""
    task, clusters = cell.about["task"], cell.clusters
    if kind in (OWN, SHARES):
        is_squared = task == "regression"
        bars = judgement.Bars(
            judgement.WIDENING, is_squared=is_squared, is_strict=kind == OWN
        )
        return judgement.gain_bound(before, after, confidence, bars, clusters)
    if kind == NAIVE:
        return judgement.one_sided(after - before, confidence, clusters)
    n_folds = cell.about["n_folds"]
    return judgement.cross_fitted(after - before, confidence, n_folds, clusters)


# ---- Calibration: how far estimates are from the truth, in errors.


def deviation(
    before: FloatArray, after: FloatArray, truth: Truly, cell: Cell
) -> tuple[float, ...]:
    """Hold an estimated gain against the true one, in standard errors.

    Returns the difference in errors of the naive bar and the test rows (NaN for none),
    how many times as long these are by the other bar, and the rows that count.
    """
    count = len(after if cell.clusters is None else np.unique(cell.clusters))
    one = stdtrit(count - 1, 0.9)
    bounds = [bar(before, after, cell, kind, 0.9) for kind in (NAIVE, WIDE)]
    plain, wide = (
        float(np.hypot(bound.margin / one, truth.error)) or np.nan for bound in bounds
    )
    gain = float((after - before).mean())
    return (gain - truth.score) / plain, wide / plain, count


def learner_deviations(
    cells: Sequence[Cell], learners: Sequence[int], n_partitions: int
) -> FloatArray:
    """Return deviations of learners with new rows against themselves without."""
    found = []
    for cell, part in product(cells, (*DRAWN, *TAUGHT)):
        alone, after = (cell.told(name, n_partitions) for name in (ALONE, part))
        for who in learners:
            truth = cell.truth(part, who, who, n_partitions)
            found.append(deviation(alone[who], after[who], truth, cell))
    return np.array(found)


# ---- The page.


LEVELS = (0.8, 0.85, 0.9, 0.95)

HEADING = f"""# The rule of the promise

Computed by `benchmarks/promise.py` from recorded measurements; none is typed. The panel
was asked about real rows alone, with parts of a pool of drawn rows, of one with a
teacher's labels (1 to 10 times n, the real ones), and with copies, by cross-fitting in
up to {N_PARTITIONS} partitions. The truth is asked on up to 500 rows that nobody saw,
of learners trained on all real rows and what so many partitions deliver. `±` is a
standard error over cells."""

CALIBRATION = """## Are the bars wide enough

(Estimated - true gain of the yardstick) / error; the error is that of the naive bar and
of the test rows. *Learners*: each with new rows against itself without, all parts;
with the most partitions, each by itself too. *Chosen rule*: what the product promises,
one value in a cell. Behind each quantile, those that the naive bar and that of Nadeau
and Bengio predict: a bar is wide enough where the quantile is not larger."""

SIDE_BY_SIDE = f"""## Rules side by side

With the most partitions. *Harmed*: let in, and worse by more than
{LIMITS["classification"]:g} point or {LIMITS["regression"]:g} % of RMSE. *Bound held*:
the true gain is not below the bound, in all cells, let in or not; *but for noise*: not
by more than {SURE:g} standard errors of the test rows. *Power*: how many are let in of
the cells where what the rule itself would have one train truly gains more than
{STEPS["classification"][0]:g} points or {STEPS["regression"][0]:g} % of RMSE. All
rules ask for a gain worth having, and a plain figure that is not estimated to get
worse. *chosen* is the product's."""

PARTS = "## Which rows: taught, drawn, a part\n\nThe chosen rule with its bar."

PARTITIONS = "## How many partitions\n\nThe chosen rule, with either bar."

CONFIDENCE = "## How sure it has to be\n\nThe chosen rule with its bar."

NAMED = "## Where a learner is named\n\nThe whole taught pool, each learner by itself."


def promise_page(cells: Sequence[Cell], notes: str = "") -> str:
    """Return the page about cells of one size."""
    setting = Setting(n_partitions=min(len(cell.partitions) for cell in cells))
    records = [cell.about for cell in cells]
    marks = ("commit", "date", "machine")
    source = pages.provenance(records, commands_of(records), marks)
    seconds = pages.with_error([record["seconds"] for record in records], ".0f")
    told = (
        f"{len(cells)} cells of {len({r['table'] for r in records})} tables, {seconds} "
        f"CPU seconds each. Bounds hold with {100 * setting.confidence:g} %, one-sided."
    )
    sections = [HEADING, told, source, CALIBRATION, calibration_table(cells, setting)]
    return pages.page_of([*sections, *_comparisons(cells, setting)], notes)


def _comparisons(cells: Sequence[Cell], setting: Setting) -> list[str]:
    """Return the sections that hold settings side by side."""
    bars = [replace(setting, bar=kind) for kind in (NAIVE, WIDE, OWN)]
    rules = [replace(one, rule=name) for name in RULES for one in bars]
    numbers = range(1, setting.n_partitions + 1)
    partitions = [replace(one, n_partitions=n) for n in numbers for one in bars]
    whole, part = setting.parts
    drawn = next(iter(DRAWN))
    pools = [(whole,), (part,), (whole, part), tuple(DRAWN), (whole, drawn)]
    pools += [(COPIES,)]
    offered_parts = [replace(setting, parts=parts) for parts in pools]
    levels = [replace(setting, confidence=level) for level in LEVELS]
    return [
        *(SIDE_BY_SIDE, *outcome_tables(cells, ("rule", "bar"), rules)),
        *(PARTS, *outcome_tables(cells, ("parts",), offered_parts)),
        *(PARTITIONS, *outcome_tables(cells, ("n_partitions", "bar"), partitions)),
        *(CONFIDENCE, *outcome_tables(cells, ("confidence",), levels)),
        *(NAMED, *named_tables(cells, setting)),
    ]


def named_tables(cells: Sequence[Cell], setting: Setting) -> list[str]:
    """Return, for each task, what comes of each learner as if it were the named one."""
    sections = []
    for task, some in grouped(cells, lambda cell: cell.about["task"]).items():
        rows = []
        for kind, level in product((NAIVE, WIDE, SHARES), LEVELS):
            here = replace(setting, bar=kind, confidence=level)
            pairs = product(some, range(len(PANEL)))
            judged = [judge_named(cell, who, here) for cell, who in pairs]
            told = outcome(judged, task)
            rows.append([kind, f"{100 * level:g} %", *told.values()])
        table = pages.markdown_table(["bar", "confidence", *told], rows)
        sections += [f"In {UNITS[task]}, {len(some)} cells, six learners each:", table]
    return sections


def judge_named(cell: Cell, who: int, setting: Setting) -> Judged:
    """Decide about the whole pool as if one learner were named."""
    part, number = setting.parts[0], setting.n_partitions
    before, after = (cell.told(name, number)[who] for name in (ALONE, part))
    bound = bar(before, after, cell, setting.bar, setting.confidence)
    large = worth(cell, part, who, who, number) >= CommitConfig().min_gain
    truth = cell.truth(part, who, who, number)
    return Judged(bool(bound.lower > 0.0 and large), before, after, bound, truth)


def calibration_table(cells: Sequence[Cell], setting: Setting) -> str:
    """Return the distribution of z by task, by number of partitions, and of what."""
    rows, most = [], setting.n_partitions
    groups = {**grouped(cells, lambda cell: cell.about["task"]), "both": cells}
    for (task, some), number in product(groups.items(), range(1, most + 1)):
        here = replace(setting, n_partitions=number)
        judged = [(judge(cell, here), cell) for cell in some]
        promised = [
            deviation(one.before, one.after, one.truth, cell) for one, cell in judged
        ]
        found = {"chosen rule": np.array(promised)}
        found["learners"] = learner_deviations(some, range(len(PANEL)), number)
        for who, name in enumerate(PANEL if number == most else ()):
            found[name] = learner_deviations(some, [who], number)
        rows += [
            [task, str(number), what, *_distribution(values)]
            for what, values in found.items()
            if np.isfinite(values).all(axis=1).any()
        ]
    levels = [f"{100 * level:g} %" for level in LEVELS]
    header = ["task", "partitions", "of", "values", "mean", "spread", *levels]
    return pages.markdown_table(header, rows)


def _distribution(found: FloatArray) -> list[str]:
    z, wider, count = found[~np.isnan(found[:, 0])].T
    cells = [str(len(z)), f"{z.mean():+.2f}", f"{z.std():.2f}"]
    for level in LEVELS:
        t = float(stdtrit(np.median(count) - 1, level))
        wide = t * float(np.median(wider))
        cells.append(f"{np.quantile(z, level):.2f} ({t:.2f}, {wide:.2f})")
    return cells


def outcome_tables(
    cells: Sequence[Cell], names: Sequence[str], settings: Sequence[Setting]
) -> list[str]:
    """Return, for each task, what came of settings, told by some of their fields."""
    sections = []
    for task, some in grouped(cells, lambda cell: cell.about["task"]).items():
        rows = []
        for setting in settings:
            fields = [getattr(setting, name) for name in names]
            label = [", ".join(f) if isinstance(f, tuple) else str(f) for f in fields]
            judged = [judge(cell, setting) for cell in some]
            told = outcome(judged, task)
            rows.append([*label, *told.values()])
        table = pages.markdown_table([*names, *told], rows)
        sections += [f"In {UNITS[task]}, {len(some)} cells:", table]
    return sections


def outcome(judged: Sequence[Judged], task: Task) -> dict[str, str]:
    """Return what came of some decisions, by the heading of its column."""
    added = [one.truth.plain for one in judged if one.let_in]
    short = np.array([one.bound.lower - one.truth.score for one in judged])
    noise = np.array([SURE * one.truth.error for one in judged])
    large = [one.let_in for one in judged if one.truth.plain > STEPS[task][0]]
    return {
        "let in": str(pages.Count(len(added), len(judged))),
        "mean true gain": pages.with_error(added),
        "harmed": str(sum(gain < -LIMITS[task] for gain in added)),
        "bound held": str(pages.Count(int((short <= 0.0).sum()), len(short))),
        "but for noise": str(pages.Count(int((short <= noise).sum()), len(short))),
        "power": str(pages.Count(sum(large), len(large))),
    }


# ---- Commands.


def name_of(heading: Mapping[str, Any]) -> str:
    """Return the name of a cell's file, without its ending."""
    parts = [str(heading[k]) for k in ("table", "n_real", "split", "seed", "preset")]
    return "-".join([*parts, str(heading["teacher"])])


def commands_of(records: Sequence[Record]) -> list[str]:
    """Return the commands that measure what some records hold."""
    commands = []
    names = ("n_real", "seed", "preset", "teacher")
    for kind, some in grouped(records, lambda r: tuple(r[n] for n in names)).items():
        n_real, seed, preset, teacher = kind
        splits = " ".join(map(str, sorted({r["split"] for r in some})))
        tables = " ".join(sorted({r["table"] for r in some}))
        commands.append(
            f"python benchmarks/promise.py measure --n-real {n_real} --splits {splits} "
            f"--seed {seed} --preset {preset} --teacher {teacher} "
            f"--tables {tables}"
        )
    return commands


def measure_missing(options: argparse.Namespace) -> None:
    """Measure the cells that have no file yet."""
    size = options.n_real
    obstacles = {table: answers.obstacle(table, size) for table in options.tables}
    for table, reason in obstacles.items():
        if reason is not None:
            print(f"Left out: {table}. {reason}", flush=True)
    tables = [table for table, reason in obstacles.items() if reason is None]
    shared = {name: getattr(options, name) for name in ("n_real", "seed", "preset")}
    wanted = [
        {"table": table, "split": split, **shared, "teacher": options.teacher}
        for split, table in product(options.splits, tables)
    ]
    known = {path.stem for path in options.out.glob("*.npz")}
    left = [(h, options.out) for h in wanted if name_of(h) not in known]
    print(f"{len(left)} of {len(wanted)} to measure", flush=True)
    for _ in hand_out(measure, left, jobs=options.workers):
        pass


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("command", choices=("measure", "page"))
    parser.add_argument("--n-real", type=int, default=50, help="real rows")
    parser.add_argument("--splits", type=int, nargs="+", default=[10, 11])
    parser.add_argument("--seed", type=int, default=0, help="of the runs")
    parser.add_argument("--tables", nargs="+", default=list(answers.TABLES))
    parser.add_argument("--preset", choices=tuple(answers.NAMED), default="fast")
    parser.add_argument("--teacher", default="auto", help="who labels")
    parser.add_argument("--workers", type=int, default=1, help="processes")
    parser.add_argument("--out", type=Path, default=OUT, help="folder of cells")
    parser.add_argument("--page", type=Path, default=PAGE, help="file to write")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is missing, or write the page."""
    options = _options(arguments)
    if options.command == "measure":
        measure_missing(options)
        return
    cells = read_cells(options.out, options.n_real, options.preset, options.teacher)
    if not cells:
        raise SystemExit(f"{options.out} has no cells. Run the command measure first.")
    notes = pages.read_notes(options.page.with_name(f"{options.page.stem}_notes.md"))
    pages.write_page(options.page, promise_page(cells, notes))


if __name__ == "__main__":
    main()
