"""The main table: every method on every table, at every size (Tables 1 and 9)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from tabtap.compare.printing import TextTable, as_markdown
from tabtap.compare.store import Cell, Record, Store, Terms
from tabtap.study.cell import run_cell
from tabtap.study.figures import ladder, scarcity
from tabtap.study.grid import Grid
from tabtap.study.sources import SOURCES
from tabtap.study.studies import BUDGET, QUICK_BUDGET, Study, StudyOptions
from tabtap.study.tables import (
    CONTROLS,
    LARGER_IS_BETTER,
    METRICS,
    finding,
    gains,
    mean_interval,
    method_label,
    scored_frame,
    show_interval,
    tables_named,
)

SIZES = (20, 50, 100, 200, 500)
SPLITS = 5

METHODS = (
    "Real",
    "Copies",
    "Jitter",
    "SMOTE",
    "TVAE",
    "CTGAN",
    "ARF",
    "SPADA",
    "TabDDPM",
    "TabDiff",
    "One shot",
    "Random inpainting",
    "Hard inpainting",
)
"""All but TAP, whose settings depend on the protocol."""

QUICK_METHODS = ("Real", "Copies", "Jitter", "SMOTE", "ARF", "One shot")
QUICK_TABLES = ("steel-plates-fault", "insurance")

TAPS: Mapping[str, Sequence[Mapping[str, Any]]] = {
    "ours": ({"name": "TAP"}, {"name": "TAP + teacher"}),
    "paper": ({"name": "TAP", "preset": "paper", "diffusion": {"preset": "default"}},),
}
"""By protocol; the paper's loop is run on the backbones that the rungs have."""


def taps_of(options: StudyOptions) -> Sequence[Mapping[str, Any]]:
    """Return TAP as it is compared: without and with a teacher, or the paper's."""
    fast = options.protocol == "ours" and options.preset == "fast"
    changes = {
        **({"preset": "fast"} if fast else {}),
        **({} if options.evaluator is None else {"evaluator": options.evaluator}),
    }
    return [{**tap, **changes} for tap in TAPS[options.protocol]]


def plan(options: StudyOptions) -> Iterator[Cell]:
    """Yield every method on every table, size and split."""
    names = QUICK_METHODS if options.quick else METHODS
    taps = taps_of(options)
    if options.quick:
        taps = ({"name": "TAP", "preset": "fast"},)
    grid = Grid(
        datasets=options.tables or (QUICK_TABLES if options.quick else tuple(SOURCES)),
        n_real=options.n_real or ((20,) if options.quick else SIZES),
        splits=options.splits or (1 if options.quick else SPLITS),
        methods=(*({"name": name} for name in names), *taps),
        terms=Terms(
            seed=options.seed, budget=QUICK_BUDGET if options.quick else BUDGET
        ),
    )
    return grid.cells()


def measure(cell: Cell, store: Store | None) -> Record:  # noqa: ARG001  no other rows
    """Let a method make rows, train predictors on them and score these."""
    return run_cell(cell)


# ---- The page.


def page(records: Sequence[Record]) -> str:
    """Return all tables, the paper's figures below ours, and what they say."""
    frame = scored_frame(records)
    best = best_frame(records)
    parts = [
        "\n".join(f"- {sentence}" for sentence in findings(frame, best)),
        "![Gains over real rows alone](main-gains.svg)",
        "![Scores by real rows](main-scarcity.svg)",
    ]
    for title, name in (
        ("Gains", "gains"),
        ("Cells won", "wins"),
        ("Beside the paper", "paper"),
        ("Scores", "main"),
        ("F1 and absolute errors", "f1"),
    ):
        parts += [f"## {title}", *map(as_markdown, tables_named(name, records))]
        if name == "gains":
            parts += [
                as_markdown(_by_size(frame, metric)) for metric in _metrics(frame)
            ]
        if name == "wins":
            parts.append(as_markdown(loss_table(frame)))
    parts += [
        "## The best learner",
        "The predictor that is best on the validation rows is chosen, with the rows of "
        "each method, and scored on the test rows: what somebody would train.",
        *(as_markdown(_best_table(best, metric)) for metric in _metrics(best)),
    ]
    for title, name in (
        ("Predictor by predictor", "per-predictor"),
        ("Costs", "cost"),
        ("Failures", "failures"),
    ):
        parts += [f"## {title}", *map(as_markdown, tables_named(name, records))]
    return "\n\n".join(parts)


def _by_size(frame: pd.DataFrame, metric: str) -> TextTable:
    gained = gains(frame, metric).assign(metric=metric)
    return size_gain_table(gained, metric, list(gained["method"].unique()))


def size_gain_table(
    gained: pd.DataFrame, metric: str, names: Sequence[str], *, unit: str = ""
) -> TextTable:
    """Return mean gains of some methods in one metric, by size, with intervals."""
    part = gained[gained["metric"] == metric]
    sizes = sorted(part["n_real"].unique())
    digits = 1 if metric in METRICS else 3
    rows = []
    for name in names:
        own = part[part["method"] == name]
        cells = [_mean_gain(own[own["n_real"] == size], digits) for size in sizes]
        rows.append((name, *cells, _mean_gain(own, digits)))
    unit = unit or {"accuracy": "points", "rmse": "%"}[metric]
    is_error = not LARGER_IS_BETTER.get(metric, True)
    better = "; positive is a smaller RMSE" if is_error else ""
    return TextTable(
        f"Gain over real rows alone: {metric}, {unit}, with its 95 % interval{better}",
        ("method", *(f"{size} real rows" for size in sizes), "all"),
        tuple(rows),
    )


def _mean_gain(part: pd.DataFrame, digits: int) -> str:
    gain = mean_interval(part["gain"].to_list(), part["dataset"].to_list())
    return show_interval(gain, digits)


def figures(records: Sequence[Record]) -> Mapping[str, Figure]:
    """Draw gains over real rows, and scores by scarcity."""
    frame = scored_frame(records)
    return {"main-gains.svg": ladder(frame), "main-scarcity.svg": scarcity(frame)}


def findings(frame: pd.DataFrame, best: pd.DataFrame) -> list[str]:
    """Return what the paper claims of its main table, found or not."""
    said = []
    for metric in _metrics(frame):
        unit = " points" if LARGER_IS_BETTER[metric] else " % of RMSE"
        wide = _wide(frame, metric)
        ours = [name for name in wide if name.startswith("TAP")]
        rivals = [n for n in wide if n not in (*CONTROLS, *ours)]
        for tap in ours:
            own = wide[[tap]].dropna()
            over_real = mean_interval(own[tap].to_list(), _tables(own))
            said.append(
                finding(f"{metric}, {tap} over real rows", over_real, unit=unit)
            )
            if not rivals:
                continue
            pair = pd.DataFrame({"own": wide[tap], "best": wide[rivals].max(axis=1)})
            pair = pair.dropna()
            ahead = mean_interval((pair["own"] - pair["best"]).to_list(), _tables(pair))
            claim = f"{metric}, {tap} over the best other method of each cell"
            said.append(finding(claim, ahead, unit=unit))
            chosen = _wide(best, metric)
            if tap in chosen:
                own = chosen[[tap]].dropna()
                gain = mean_interval(own[tap].to_list(), _tables(own))
                claim = f"{metric}, the best learner with rows of {tap} over without"
                said.append(finding(claim, gain, unit=unit))
    return said


def loss_table(frame: pd.DataFrame) -> TextTable:
    """Return in how many cells each method is below real rows alone."""
    found = pd.concat([gains(frame, metric) for metric in METRICS])
    rows = []
    for method, part in found.groupby("method", sort=False):
        n_below = int((part["gain"] < 0).sum())
        rows.append((str(method), f"{n_below} of {len(part)}"))
    return TextTable(
        "Cells in which a method is below real rows", ("method", "cells"), tuple(rows)
    )


def best_frame(records: Sequence[Record]) -> pd.DataFrame:
    """Return the test scores of the predictors that were best on the validation rows.

    As ``score_frame`` has them, with one predictor for each cell, under the name that
    stands for all.
    """
    lines = []
    for record in records:
        validation = record.get("validation")
        if not validation:
            continue
        metric = "accuracy" if record["task"] == "classification" else "rmse"
        sign = 1.0 if LARGER_IS_BETTER[metric] else -1.0
        name = max(validation, key=lambda n: sign * validation[n][metric])
        cell, score = record["cell"], record["scores"][name][metric]
        if LARGER_IS_BETTER[metric]:
            score *= 100.0
        where = (cell["dataset"], cell["n_real"], cell["split"], method_label(cell))
        lines.append((*where, "mean", metric, score))
    columns = ["dataset", "n_real", "split", "method", "predictor", "metric", "score"]
    return pd.DataFrame(lines, columns=columns)


def _best_table(best: pd.DataFrame, metric: str) -> TextTable:
    found = gains(best, metric)
    rows = []
    for method, part in found.groupby("method", sort=False):
        gain = mean_interval(part["gain"].to_list(), part["dataset"].to_list())
        worse = int((part["gain"] < 0).sum())
        rows.append((str(method), show_interval(gain), f"{worse} of {len(part)}"))
    unit = "points" if LARGER_IS_BETTER[metric] else "% of the error"
    return TextTable(
        f"Best learner with rows against best learner without: {metric}, {unit}, with "
        "its 95 % interval",
        ("method", "gain", "cells in which it is worse"),
        tuple(rows),
    )


def _wide(frame: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return gains over real rows, cells in rows and methods in columns."""
    found = gains(frame, metric)
    return found.pivot_table("gain", ["dataset", "n_real", "split"], "method")


def _tables(frame: pd.DataFrame) -> list[str]:
    return [str(name) for name in frame.index.get_level_values("dataset")]


def _metrics(frame: pd.DataFrame) -> list[str]:
    return [metric for metric in METRICS if (frame["metric"] == metric).any()]


STUDY = Study(
    name="main",
    title="The main table",
    question="Do rows of TAP help predictors more than those of other methods?",
    paper="Tables 1 and 9",
    plan=plan,
    measure=measure,
    page=page,
    figures=figures,
)
