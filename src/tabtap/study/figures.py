"""Figures of comparisons and studies: gains, scores by scarcity, lines with bands."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from tabtap.errors import UserInputError
from tabtap.study.tables import LARGER_IS_BETTER, gains, means

_UNIT = {True: "points of accuracy", False: "% of RMSE"}
_STYLE: Any = {"svg.fonttype": "none", "svg.hashsalt": "tabtap"}
_N_COLUMNS = 4
_MARKS = "osD^vP*X<>hpd8"


def ladder(frame: pd.DataFrame) -> Figure:
    """Draw each method's mean gain over real rows, with its standard error.

    One panel for each task, one colour for each number of real rows.
    """
    panels = [m for m in ("accuracy", "rmse") if (frame["metric"] == m).any()]
    figure = Figure(figsize=(4.5 * len(panels) + 1.5, 4.5), layout="constrained")
    axes = figure.subplots(1, len(panels), squeeze=False)[0]
    for axis, metric in zip(axes, panels, strict=True):
        _ladder_panel(axis, gains(frame, metric), metric)
    return figure


def scarcity(frame: pd.DataFrame) -> Figure:
    """Draw scores against the number of real rows, a panel for each dataset."""
    datasets = list(frame["dataset"].unique())
    n_rows = math.ceil(len(datasets) / _N_COLUMNS)
    n_columns = min(_N_COLUMNS, len(datasets))
    size = (3.2 * n_columns, 2.8 * n_rows + 0.6)
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(n_rows, n_columns, squeeze=False).ravel()
    for axis, dataset in zip(axes, datasets, strict=False):
        _scarcity_panel(axis, frame[frame["dataset"] == dataset], str(dataset))
    for axis in axes[len(datasets) :]:
        axis.set_visible(False)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5, fontsize=8)
    return figure


def lines_with_bands(frame: pd.DataFrame, x_label: str, y_label: str) -> Figure:
    """Draw means against something, with their intervals shaded.

    Columns of ``frame`` are panel, line, x, mean, low and high.
    """
    panels = list(frame["panel"].unique())
    size = (4.2 * len(panels) + 0.6, 3.6)
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(1, len(panels), squeeze=False)[0]
    for axis, panel in zip(axes, panels, strict=True):
        part = frame[frame["panel"] == panel]
        for number, (name, line) in enumerate(part.groupby("line", sort=False)):
            line = line.sort_values("x")
            mark = _MARKS[number % len(_MARKS)]
            axis.plot(line["x"], line["mean"], marker=mark, label=str(name), zorder=3)
            axis.fill_between(line["x"], line["low"], line["high"], alpha=0.15)
        axis.axhline(0.0, color="grey", linewidth=0.8)
        ticks = sorted(part["x"].unique())
        axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axis.set_title(str(panel), fontsize=9)
        axis.set_xlabel(x_label, fontsize=8)
        axis.set_ylabel(y_label, fontsize=8)
        axis.tick_params(labelsize=8)
    axes[0].legend(fontsize=8, frameon=False)
    return figure


FIGURES: Mapping[str, Callable[[pd.DataFrame], Figure]] = MappingProxyType(
    {"ladder": ladder, "scarcity": scarcity}
)
"""Figures by name."""


def save_figure(figure: Figure, path: str | Path) -> None:
    """Write a figure as SVG or PNG, by its extension, whole or not at all."""
    import matplotlib as mpl

    path = Path(path)
    kind = path.suffix.lower().removeprefix(".")
    if kind not in ("svg", "png"):
        raise UserInputError(
            f"A figure cannot be written to {path.name!r}: it must end in .svg or .png."
        )
    FigureCanvasAgg(figure)
    part = path.with_name(f".{path.name}.part")
    about = {"Date": None} if kind == "svg" else {"Software": None}
    try:
        with mpl.rc_context(_STYLE):
            figure.savefig(part, format=kind, dpi=150, metadata=about)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _ladder_panel(axis: Any, table: pd.DataFrame, metric: str) -> None:  # noqa: ANN401
    methods = list(table["method"].unique())
    sizes = sorted(table["n_real"].unique())
    for number, n_real in enumerate(sizes):
        part = table[table["n_real"] == n_real].groupby("method")["gain"]
        mean, error = part.mean().reindex(methods), part.sem().reindex(methods)
        shift = 0.25 * (number - (len(sizes) - 1) / 2)
        axis.errorbar(
            mean,
            np.arange(len(methods)) + shift,
            xerr=error.fillna(0.0),
            fmt=_MARKS[number % len(_MARKS)],
            markersize=4,
            linewidth=1,
            label=f"{n_real} real rows",
        )
    axis.axvline(0.0, color="grey", linewidth=0.8)
    axis.set_yticks(np.arange(len(methods)), methods)
    axis.invert_yaxis()
    axis.set_xlabel(f"gain over real rows alone, {_UNIT[LARGER_IS_BETTER[metric]]}")
    if methods:
        axis.legend(fontsize=8, frameon=False)


def _scarcity_panel(axis: Any, part: pd.DataFrame, dataset: str) -> None:  # noqa: ANN401
    metric = "accuracy" if (part["metric"] == "accuracy").any() else "rmse"
    averages = means(part, metric)
    for number, method in enumerate(averages["method"].unique()):
        line = averages[averages["method"] == method].sort_values("n_real")
        bold = method.startswith("TAP") or method == "Real"
        axis.plot(
            line["n_real"],
            line["mean"],
            marker=_MARKS[number % len(_MARKS)],
            markersize=4,
            linewidth=1.8 if bold else 0.8,
            alpha=1.0 if bold else 0.7,
            label=method,
        )
    sizes = sorted(averages["n_real"].unique())
    axis.set_xscale("log")
    axis.set_xticks(sizes, [str(size) for size in sizes])
    axis.minorticks_off()
    axis.set_title(f"{dataset} ({metric})", fontsize=9)
    axis.set_xlabel("real rows", fontsize=8)
    axis.tick_params(labelsize=8)
