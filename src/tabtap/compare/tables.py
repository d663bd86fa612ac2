"""The paper's tables from the records of a comparison, with the paper's own figures."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from tabtap.compare.printing import TextTable
from tabtap.compare.published import published
from tabtap.compare.scores import (
    AVERAGE,
    LARGER_IS_BETTER,
    gains,
    means,
)

_WORDS = {
    "accuracy": "Accuracy in percent, larger is better",
    "macro_f1": "Macro F1 in percent, larger is better",
    "rmse": "RMSE in units of the target's deviation, smaller is better",
    "mae": "MAE in units of the target's deviation, smaller is better",
}

MISSING = "-"


def score_tables(
    frame: pd.DataFrame, metrics: Sequence[str], *, beside_paper: bool = True
) -> list[TextTable]:
    """Return one table per metric: rows as in the paper, a column for each method.

    Parameters
    ----------
    frame : pandas.DataFrame
        From ``score_frame``.
    metrics : sequence of str
        Such as accuracy and rmse; one without a record is left out.
    beside_paper : bool, default=True
        Whether the paper's figure, and ours minus it, follow in lines of their own.
    """
    return [
        _score_table(frame, metric, beside_paper=beside_paper)
        for metric in metrics
        if (frame["metric"] == metric).any()
    ]


def predictor_tables(frame: pd.DataFrame, metric: str) -> list[TextTable]:
    """Return one table per predictor, without the paper's figures."""
    chosen = frame[frame["metric"] == metric]
    names = [name for name in chosen["predictor"].unique() if name != AVERAGE]
    return [
        _score_table(frame, metric, predictor=name, beside_paper=False)
        for name in names
    ]


def gain_table(frame: pd.DataFrame, metric: str) -> TextTable:
    """Return the mean gain of every method over real rows, and over copies.

    The error bar is the standard error over cells; cells of one dataset are not
    independent of each other, so it is on the small side.
    """
    columns = {
        over: gains(frame, metric, over)
        for over in ("Real", "Copies")
        if (frame["method"] == over).any()
    }
    rows = []
    for method in _methods(frame):
        cells = [_gain(table[table["method"] == method]) for table in columns.values()]
        if any(cell != MISSING for cell in cells):
            rows.append((method, *cells))
    unit = "points" if LARGER_IS_BETTER[metric] else "% of the error"
    return TextTable(
        f"Mean gain in {metric}, {unit}, with its standard error over cells",
        ("method", *(f"over {over}" for over in columns)),
        tuple(rows),
    )


def _score_table(
    frame: pd.DataFrame,
    metric: str,
    *,
    predictor: str = AVERAGE,
    beside_paper: bool,
) -> TextTable:
    told = means(frame, metric, predictor)
    methods = _methods(told)
    rows: list[tuple[str, ...]] = []
    for (dataset, n_real), part in told.groupby(["dataset", "n_real"], sort=False):
        ours = part.set_index("method")
        rows.append(
            (str(dataset), str(n_real), *(_ours(ours, m, metric) for m in methods))
        )
        if beside_paper:
            rows += _paper_rows(str(dataset), int(n_real), metric, methods, ours)
    who = "mean over predictors" if predictor == AVERAGE else predictor
    splits = sorted(set(told["splits"]))
    n_splits = " to ".join(map(str, sorted({splits[0], splits[-1]})))
    return TextTable(
        f"{_WORDS[metric]}; {who}; mean ± deviation over {n_splits} splits",
        ("dataset", "n_real", *methods),
        tuple(rows),
        n_labels=2,
    )


def _paper_rows(
    dataset: str, n_real: int, metric: str, methods: Sequence[str], ours: pd.DataFrame
) -> list[tuple[str, ...]]:
    theirs, difference = [], []
    for method in methods:
        figure = published(dataset, n_real, metric, method)
        mean = ours["mean"].get(method)
        theirs.append(
            MISSING if figure is None else _pair(figure.mean, figure.deviation, metric)
        )
        difference.append(
            MISSING
            if figure is None or mean is None
            else _signed(mean - figure.mean, metric)
        )
    if all(cell == MISSING for cell in theirs):
        return []
    return [("", "paper", *theirs), ("", "ours - paper", *difference)]


def _ours(ours: pd.DataFrame, method: str, metric: str) -> str:
    if method not in ours.index:
        return MISSING
    line = ours.loc[method]
    return _pair(line["mean"], line["deviation"], metric)


def _pair(mean: float, deviation: float, metric: str) -> str:
    digits = _digits(metric)
    return f"{mean:.{digits}f} ± {deviation:.{digits}f}"


def _signed(value: float, metric: str) -> str:
    return f"{value:+.{_digits(metric)}f}"


def _digits(metric: str) -> int:
    return 1 if LARGER_IS_BETTER[metric] else 3


def _gain(part: pd.DataFrame) -> str:
    if part.empty:
        return MISSING
    gain = part["gain"]
    if len(gain) == 1:
        return f"{gain.iloc[0]:+.1f}"
    return f"{gain.mean():+.1f} ± {gain.sem():.1f} ({len(gain)})"


def _methods(frame: pd.DataFrame) -> list[str]:
    """Return the methods in the order in which a grid names them."""
    return [str(name) for name in frame["method"].unique()]
