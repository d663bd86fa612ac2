"""How often a method beats another, cell by cell."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from tabtap.compare.printing import TextTable
from tabtap.compare.scores import AVERAGE, LARGER_IS_BETTER

METRICS = ("accuracy", "rmse")
"""By which a cell is won: one of each task."""

CONTROLS = (
    "Real",
    "Copies",
    "Jitter",
    "One shot",
    "Random inpainting",
    "Hard inpainting",
)
"""Methods that are no rivals of TAP: what it must beat, and the rungs it stands on."""


def win_table(frame: pd.DataFrame) -> TextTable:
    """Return, for every method, the share of cells in which it beats others.

    Parameters
    ----------
    frame : pandas.DataFrame
        From ``score_frame``.

    Returns
    -------
    TextTable
        Against real rows alone, against copies, and against the best of the other
        methods in that cell.  A tie is half a win; cells that lack one of the two are
        left out.
    """
    ranks = _standings(frame)
    rows = []
    for method in ranks.columns:
        others = [name for name in ranks.columns if name not in (*CONTROLS, method)]
        rows.append(
            (
                str(method),
                _share(ranks, method, ["Real"]),
                _share(ranks, method, ["Copies"]),
                _share(ranks, method, others),
            )
        )
    return TextTable(
        "Cells won, in percent (accuracy or RMSE, mean over predictors)",
        ("method", "against Real", "against Copies", "against the best rival"),
        tuple(rows),
        ("A tie is half a win.",),
    )


def _standings(frame: pd.DataFrame) -> pd.DataFrame:
    """Return cells in rows and methods in columns; larger is better."""
    chosen = frame[
        frame["metric"].isin(METRICS) & (frame["predictor"] == AVERAGE)
    ].copy()
    sign = chosen["metric"].map(lambda name: 1.0 if LARGER_IS_BETTER[name] else -1.0)
    chosen["score"] *= sign
    place = ["dataset", "n_real", "split"]
    wide = chosen.pivot_table("score", place, "method", sort=False)
    return wide[[name for name in frame["method"].unique() if name in wide.columns]]


def _share(ranks: pd.DataFrame, method: str, others: Sequence[str]) -> str:
    there = [name for name in others if name in ranks.columns and name != method]
    if not there:
        return "-"
    pair = pd.DataFrame({"own": ranks[method], "best": ranks[there].max(axis=1)})
    pair = pair.dropna()
    if pair.empty:
        return "-"
    won = (pair["own"] > pair["best"]).mean() + 0.5 * (
        pair["own"] == pair["best"]
    ).mean()
    return f"{100 * won:.0f} ({len(pair)})"
