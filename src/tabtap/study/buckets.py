"""Bucketed injection: candidates in five bins of learnability, each added in turn.

The interventional check of section 4.2.  Candidates are drawn by one backbone, whole
(unanchored) or by random inpainting (anchored), sorted by equation 22, and cut into
five bins of equal size.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tabtap.compare.printing import TextTable, as_markdown
from tabtap.compare.store import Cell, Record, Store, Terms
from tabtap.errors import UserInputError
from tabtap.rivals import method_named
from tabtap.rng import stream
from tabtap.stopwatch import Stopwatch
from tabtap.study.cell import repetition_of
from tabtap.study.learnability import (
    HARMFUL,
    diagnose,
    equal_bins,
    percentiles,
)
from tabtap.study.sources import SOURCES
from tabtap.study.studies import Study, StudyOptions
from tabtap.study.tables import Interval, finding, mean_interval, show_interval
from tabtap.table.table import Table

N_BINS = 5

KINDS = ("One shot", "Random inpainting")
"""How candidates are drawn: without an anchor, and with one."""


def plan(options: StudyOptions) -> Iterator[Cell]:
    """Yield both kinds of candidates on every table."""
    quick = options.quick
    tables = ("steel-plates-fault", "insurance") if quick else tuple(SOURCES)
    sizes, splits = ((50,), 1) if quick else ((50,), 5)
    terms = Terms(seed=options.seed, budget=100 if quick else 500)
    for split, n_real, table in options.repetitions(tables, sizes, splits):
        for kind in KINDS:
            yield Cell(
                dataset=table,
                n_real=n_real,
                split=split,
                method=kind,
                terms=terms,
                study="buckets",
            )


def measure(cell: Cell, store: Store | None) -> Record:  # noqa: ARG001  rows are drawn
    """Draw five times the budget, and score predictors with each fifth of it."""
    part = repetition_of(cell)
    seed = cell.terms.seed
    rng = stream(seed, "buckets", cell.dataset, cell.n_real, cell.split, cell.method)
    n_wanted = N_BINS * cell.terms.budget
    watch = Stopwatch()
    method = method_named(cell.method, **cell.settings)
    rows = method.make(part.real, n_wanted, rng, watch)
    if len(rows) < N_BINS:
        raise UserInputError(
            f"{cell.method} drew {len(rows)} candidates, too few for {N_BINS} bins. "
            "Use another kind of candidates."
        )
    scores = diagnose(rows, part.real).inconsistency
    usual = diagnose(part.test, part.real).inconsistency
    surprise = percentiles(scores, usual)
    bins = equal_bins(scores, N_BINS)
    mixed = rng.permutation(len(rows))[: cell.terms.budget]
    pools = {str(k): np.flatnonzero(bins == k) for k in range(N_BINS)}
    pools["mixed"] = mixed
    return {
        "n_candidates": len(rows),
        "harmful": float((surprise >= HARMFUL).mean()),
        "real": part.score(),
        "bins": {
            name: {
                "n": len(places),
                "surprise": float(surprise[places].mean()),
                "scores": part.score(rows.take(places)),
                "shares": _class_shares(rows.take(places)),
            }
            for name, places in pools.items()
        },
    }


def _class_shares(rows: Table) -> list[float]:
    counts = np.bincount(rows.condition)
    return [float(count) / len(rows) for count in counts]


# ---- The page.


def gain_frame(records: Sequence[Record]) -> pd.DataFrame:
    """Return what each bin gains over real rows: points, or percent of the RMSE."""
    lines = []
    for record in records:
        cell, real = record["cell"], record["real"]
        metric = "accuracy" if "accuracy" in next(iter(real.values())) else "rmse"
        before = float(np.mean([part[metric] for part in real.values()]))
        for name, found in record["bins"].items():
            after = np.mean([part[metric] for part in found["scores"].values()])
            gain = after - before if metric == "accuracy" else 1.0 - after / before
            lines.append(
                {
                    "dataset": cell["dataset"],
                    "split": cell["split"],
                    "n_real": cell["n_real"],
                    "kind": cell["method"],
                    "task": "classes" if metric == "accuracy" else "numbers",
                    "bin": name,
                    "gain": 100.0 * float(gain),
                    "surprise": found["surprise"],
                }
            )
    return pd.DataFrame(lines)


def page(records: Sequence[Record]) -> str:
    """Return the gain of every bin, and whether the paper's pattern is there."""
    frame = gain_frame(records)
    parts = [
        "Bin 0 is the most learnable fifth of the candidates, bin 4 the least; *mixed* "
        "is as many candidates of all bins. Gains are over real rows alone, mean over "
        "the paper's predictors: points of accuracy, or % of the RMSE. The paper's "
        "claims: gains concentrate in the middle bins, and the last one harms.",
        "\n".join(f"- {said}" for said in findings(frame, records)),
        "![Gain by bin](buckets.svg)",
    ]
    for kind in frame["kind"].unique():
        parts.append(as_markdown(_table(frame[frame["kind"] == kind], str(kind))))
    return "\n\n".join(parts)


def findings(frame: pd.DataFrame, records: Sequence[Record]) -> list[str]:
    """Return the paper's claims, each with what was found."""
    said = []
    for kind in frame["kind"].unique():
        part = frame[frame["kind"] == kind]
        keys = ["dataset", "n_real", "split"]
        wide = part.pivot_table("gain", keys, "bin")
        middle = wide[["1", "2", "3"]].mean(axis=1)
        tables = [str(name) for name in wide.index.get_level_values("dataset")]
        for claim, apart in (
            ("the middle bins gain more than the first", middle - wide["0"]),
            ("the middle bins gain more than the last", middle - wide["4"]),
            ("the last bin harms (its loss is shown)", -wide["4"]),
        ):
            interval = mean_interval(apart.to_list(), tables)
            said.append(finding(f"{kind}: {claim}", interval, unit=" points or %"))
    shares = harmful_shares(records)
    if len(shares) == len(KINDS):
        whole, anchored = (shares[kind] for kind in KINDS)
        said.append(
            "Severely inconsistent candidates (beyond the "
            f"{HARMFUL:.0f}th percentile of real rows): {whole:.1f} % of those drawn "
            f"whole, {anchored:.1f} % of those with an anchor. The paper says that "
            f"anchors make fewer: {'found' if anchored < whole else 'not found'}."
        )
    return said


def harmful_shares(records: Sequence[Record]) -> dict[str, float]:
    """Return, by kind of candidates, the percentage that is severely inconsistent."""
    by_kind: dict[str, list[float]] = {}
    for record in records:
        by_kind.setdefault(record["cell"]["method"], []).append(record["harmful"])
    return {kind: 100.0 * float(np.mean(part)) for kind, part in by_kind.items()}


def _table(part: pd.DataFrame, kind: str) -> TextTable:
    names = [*map(str, range(N_BINS)), "mixed"]
    rows = []
    for dataset in [name for name in SOURCES if name in set(part["dataset"])]:
        own = part[part["dataset"] == dataset].groupby("bin")["gain"].mean()
        rows.append((dataset, *(f"{own[name]:+.1f}" for name in names)))
    for task in ("classes", "numbers"):
        of_task = part[part["task"] == task]
        if of_task.empty:
            continue
        means = [_interval(of_task, name) for name in names]
        rows.append((f"mean, {task}", *(show_interval(mean) for mean in means)))
    typical = part.groupby("bin")["surprise"].mean()
    rows.append(("mean percentile", *(f"{typical[name]:.0f}" for name in names)))
    return TextTable(
        f"Gain over real rows by bin of learnability; candidates: {kind.lower()}",
        ("table", *names),
        tuple(rows),
    )


def _interval(part: pd.DataFrame, name: str) -> Interval:
    own = part[part["bin"] == name]
    return mean_interval(own["gain"].to_list(), own["dataset"].to_list())


def figures(records: Sequence[Record]) -> Mapping[str, Figure]:
    """Draw the mean gain of every bin, a panel for each task."""
    frame = gain_frame(records)
    tasks = list(frame["task"].unique())
    figure = Figure(figsize=(5.0 * len(tasks), 4.0), layout="constrained")
    axes = figure.subplots(1, len(tasks), squeeze=False)[0]
    units = {"classes": "points of accuracy", "numbers": "% of RMSE"}
    for axis, task in zip(axes, tasks, strict=True):
        part = frame[(frame["task"] == task) & (frame["bin"] != "mixed")]
        for kind in part["kind"].unique():
            own = part[part["kind"] == kind].groupby("bin")["gain"]
            axis.errorbar(
                own.mean().index.astype(int),
                own.mean().to_numpy(),
                yerr=own.sem().fillna(0.0).to_numpy(),
                marker="o",
                label=str(kind),
            )
        axis.axhline(0.0, color="grey", linewidth=0.8)
        axis.set_xticks(range(N_BINS))
        axis.set_xlabel("bin of learnability (0 most, 4 least learnable)")
        axis.set_ylabel(f"gain over real rows, {units[task]}")
        axis.legend(fontsize=8, frameon=False)
    return {"buckets.svg": figure}


STUDY = Study(
    name="buckets",
    title="Bucketed injection",
    question="Which rows help: those a learner agrees with, or those that surprise it?",
    paper="Figure 4",
    plan=plan,
    measure=measure,
    page=page,
    figures=figures,
)
