"""How much the window and the threshold of commitment matter (Table 5)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from tabtap.compare.printing import TextTable, as_markdown
from tabtap.compare.store import ROWS, Cell, Record, Store
from tabtap.study.cell import SYNTHETIC
from tabtap.study.runs import (
    CLASSIFICATION,
    QUICK_TABLES,
    plan_cells,
    prepare,
    run_tap,
    scores_with,
)
from tabtap.study.studies import Study, StudyOptions
from tabtap.study.tables import AVERAGE, mean_frame, mean_interval, show_interval

WINDOWS: tuple[int, ...] = (1, 5, 10, 20, 50)
THRESHOLDS: tuple[float, ...] = (0.0, 0.02, 0.05, 0.1, 0.2)

DEFAULT = "default"
N_STEPS = 400
"""Of our own loop: each window divides it, but for its own of 32 steps."""

PUBLISHED: Mapping[str, tuple[float, float, float]] = {
    "K": (0.011, 0.015, 0.015),
    "tau": (0.002, 0.004, 0.004),
}
"""Table 5: mean, 90th percentile and maximum of the worst drop in accuracy."""


def plan(options: StudyOptions) -> Iterator[Cell]:
    """Yield the default and each value of K and tau, on the classification tables."""
    windows, thresholds = WINDOWS, THRESHOLDS
    if options.quick:
        windows, thresholds = (4, 16), (0.0, 0.1)
    configurations: dict[str, dict[str, Any]] = {DEFAULT: {}}
    for length in windows:
        changes: dict[str, Any] = {"commit": {"window_length": length}}
        if options.protocol == "ours" and not options.quick:
            changes["n_steps"] = N_STEPS
        configurations[f"K={length}"] = {"augment": changes}
    for least in thresholds:
        changes = {"commit": {"min_gain": least}}
        configurations[f"tau={least:g}"] = {"augment": changes}
    tables = QUICK_TABLES[:1] if options.quick else CLASSIFICATION
    return plan_cells("sensitivity", options, configurations, tables=tables)


def measure(cell: Cell, store: Store | None) -> Record:  # noqa: ARG001  no other rows
    """Run TAP with the settings of the cell, and score its rows."""
    ground = prepare(cell)
    run = run_tap(ground)
    return {
        "scores": scores_with(ground, run.rows),
        "run": run.about,
        ROWS: {SYNTHETIC: run.rows},
    }


def worst_drop(default: float, others: Sequence[float]) -> float:
    """Return how far accuracy falls below the default's at worst (equation 47).

    Negative if every other value does better.

    Examples
    --------
    >>> round(worst_drop(0.75, [0.76, 0.72, 0.75]), 3)
    0.03
    """
    return float(max(default - other for other in others))


# ---- The page.


def page(records: Sequence[Record]) -> str:
    """Return Table 5, the paper's figures below ours, and accuracies by value."""
    frame = accuracy_frame(records)
    said, rows = [], []
    for name, theirs in PUBLISHED.items():
        drops = worst_drops(frame, name)
        if not len(drops):
            continue
        ours = (drops.mean(), float(np.percentile(drops, 90)), drops.max())
        values = ", ".join(_values(frame, name))
        rows.append((name, values, *(f"{value:.3f}" for value in ours)))
        rows.append(("(paper)", "", *(f"{value:.3f}" for value in theirs)))
        chance = _noise(frame)
        small = ours[2] <= np.fmax(theirs[2], chance)
        verdict = "**Found.**" if small else "**Not found.**"
        error = f"a standard error of a mean over splits is {chance:.3f}"
        if np.isnan(chance):
            error = "of one split nobody can say how much of it is chance"
        said.append(
            f"{verdict} {name} matters little: the worst drop is {ours[2]:.3f} at most "
            f"(paper {theirs[2]:.3f}; {error})."
        )
    table = TextTable(
        "Worst drop of the accuracy (a share, not percent) from the default, over "
        "tables",
        ("setting", "values", "mean", "90th percentile", "maximum"),
        tuple(rows),
        n_labels=2,
    )
    return "\n\n".join(
        [
            "The worst drop of equation 47, for each table and size: the accuracy with "
            "the default less that with the worst value, means over splits. The "
            "largest of several noisy drops is above 0 by chance alone.",
            "\n".join(f"- {sentence}" for sentence in said),
            as_markdown(table),
            as_markdown(_accuracies(frame)),
        ]
    )


def accuracy_frame(records: Sequence[Record]) -> pd.DataFrame:
    """Return accuracies as shares: dataset, n_real, split, method, score."""
    frame = mean_frame((r["cell"], r["cell"]["method"], r["scores"]) for r in records)
    chosen = frame[(frame["metric"] == "accuracy") & (frame["predictor"] == AVERAGE)]
    shares = chosen.assign(score=chosen["score"] / 100.0)
    return shares.sort_values("method", key=lambda names: names.map(_place))


def _place(name: str) -> tuple[str, float]:
    """Return what values of a setting are sorted by; the default has none."""
    setting, _, value = name.partition("=")
    return setting, float(value or 0)


def worst_drops(frame: pd.DataFrame, setting: str) -> pd.Series:
    """Return equation 47 for each table and size that has the default."""
    means = frame.groupby(["dataset", "n_real", "method"])["score"].mean().unstack()
    values = [name for name in means if str(name).startswith(f"{setting}=")]
    if DEFAULT not in means or not values:
        return pd.Series(dtype=np.float64)
    return means.apply(
        lambda row: worst_drop(row[DEFAULT], row[values].dropna().to_list()), axis=1
    )


def _values(frame: pd.DataFrame, setting: str) -> list[str]:
    names = [name for name in frame["method"].unique() if name.startswith(setting)]
    return [name.partition("=")[2] for name in names]


def _noise(frame: pd.DataFrame) -> float:
    """Return the standard error of a paired difference of means over splits.

    NaN where there is one split.
    """
    wide = frame.pivot_table("score", ["dataset", "n_real", "split"], "method")
    if DEFAULT not in wide:
        return float("nan")
    others = wide.drop(columns=DEFAULT).rsub(wide[DEFAULT], axis=0)
    errors = others.groupby(["dataset", "n_real"]).sem()
    known = errors.to_numpy()[errors.notna().to_numpy()]
    return float(known.mean()) if len(known) else float("nan")


def _accuracies(frame: pd.DataFrame) -> TextTable:
    wide = frame.pivot_table(
        "score", ["dataset", "n_real", "split"], "method", sort=False
    )
    rows = []
    for name in wide:
        if name == DEFAULT or DEFAULT not in wide:
            continue
        apart = (wide[name] - wide[DEFAULT]).dropna()
        tables = [str(n) for n in apart.index.get_level_values("dataset")]
        change = mean_interval((100 * apart).to_list(), tables)
        rows.append(
            (str(name), f"{100 * wide[name].mean():.1f}", show_interval(change))
        )
    base = 100 * wide[DEFAULT].mean() if DEFAULT in wide else float("nan")
    return TextTable(
        f"Accuracy in percent, and points above the default's {base:.1f} with the 95 % "
        "interval",
        ("value", "accuracy", "above the default"),
        tuple(rows),
    )


STUDY = Study(
    name="sensitivity",
    title="Window and threshold of commitment",
    question="Does it matter how K and tau are set?",
    paper="Table 5",
    plan=plan,
    measure=measure,
    page=page,
)
