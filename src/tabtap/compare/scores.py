"""Records of a comparison as one long frame, and what is computed from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from tabtap.compare.sources import SOURCES
from tabtap.compare.store import Record
from tabtap.rivals import METHOD_NAMES

LARGER_IS_BETTER: Mapping[str, bool] = {
    "accuracy": True,
    "macro_f1": True,
    "rmse": False,
    "mae": False,
}

AVERAGE = "mean"
"""Stands for the mean over predictors where predictors go by name."""

_COLUMNS = ("dataset", "n_real", "split", "method", "predictor", "metric", "score")


def method_label(cell: Mapping[str, Any]) -> str:
    """Return a method's name, with the settings that a grid gave it.

    Examples
    --------
    >>> method_label({"method": "TAP", "settings": {"preset": "fast"}})
    'TAP (preset=fast)'
    """
    given = ", ".join(f"{key}={part}" for key, part in cell["settings"].items())
    return f"{cell['method']} ({given})" if given else str(cell["method"])


def score_frame(records: Iterable[Record]) -> pd.DataFrame:
    """Return one row per cell, predictor and metric.

    Returns
    -------
    pandas.DataFrame
        Columns dataset, n_real, split, method, predictor, metric, score.  Accuracy and
        macro F1 are in percent, as in the paper.  Each cell also has the mean over its
        predictors.
    """
    lines = []
    for record in records:
        cell = record["cell"]
        place = (cell["dataset"], cell["n_real"], cell["split"], method_label(cell))
        by_metric: dict[str, list[float]] = {}
        for predictor, scores in record["scores"].items():
            for metric, score in scores.items():
                shown = 100.0 * score if LARGER_IS_BETTER.get(metric) else score
                lines.append((*place, predictor, metric, shown))
                by_metric.setdefault(metric, []).append(shown)
        for metric, values in by_metric.items():
            lines.append((*place, AVERAGE, metric, float(np.mean(values))))
    return in_paper_order(pd.DataFrame(lines, columns=list(_COLUMNS)))


def in_paper_order(frame: pd.DataFrame) -> pd.DataFrame:
    """Sort rows as the paper has its tables: by dataset, size, split and method."""
    orders = {"dataset": list(SOURCES), "method": list(METHOD_NAMES)}
    keys = [name for name in ("dataset", "n_real", "split", "method") if name in frame]

    def rank(column: pd.Series) -> pd.Series:
        order = orders.get(str(column.name))
        if order is None:
            return column
        return column.map(lambda name: (_place(name, order), name))

    return frame.sort_values(keys, key=rank, kind="stable", ignore_index=True)


def _place(name: str, order: list[str]) -> int:
    base = name.partition(" (")[0]
    return order.index(base) if base in order else len(order)


def means(frame: pd.DataFrame, metric: str, predictor: str = AVERAGE) -> pd.DataFrame:
    """Return mean, deviation and number of splits per dataset, n_real and method."""
    chosen = frame[(frame["metric"] == metric) & (frame["predictor"] == predictor)]
    by = chosen.groupby(["dataset", "n_real", "method"], sort=False)["score"]
    # The deviation as numpy has it, of splits that are all there are.
    told = by.agg(mean="mean", deviation=lambda part: part.std(ddof=0), splits="count")
    return told.reset_index()


def gains(frame: pd.DataFrame, metric: str, over: str = "Real") -> pd.DataFrame:
    """Return what each method gains over another, cell by cell; larger is better.

    Returns
    -------
    pandas.DataFrame
        Columns dataset, n_real, split, method, gain: points of the metric, or percent
        of the error.  Only cells that both have.
    """
    chosen = frame[(frame["metric"] == metric) & (frame["predictor"] == AVERAGE)]
    place = ["dataset", "n_real", "split"]
    base = chosen[chosen["method"] == over].set_index(place)["score"]
    joined = chosen.join(base.rename("base"), on=place, how="inner")
    if LARGER_IS_BETTER[metric]:
        gain = joined["score"] - joined["base"]
    else:
        gain = 100.0 * (joined["base"] - joined["score"]) / joined["base"]
    told = joined.assign(gain=gain)[joined["method"] != over]
    return told[[*place, "method", "gain"]].reset_index(drop=True)
