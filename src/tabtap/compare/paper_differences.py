"""How far our figures are from the paper's, beside what chance alone would do."""

from __future__ import annotations

import numpy as np
import pandas as pd

from tabtap.compare.printing import TextTable
from tabtap.compare.published import published
from tabtap.compare.scores import LARGER_IS_BETTER, means

_PAPER_SPLITS = 5


def difference_table(frame: pd.DataFrame, metric: str) -> TextTable:
    """Return, for every method of the paper, ours minus the paper's figures.

    Parameters
    ----------
    frame : pandas.DataFrame
        From ``score_frame``.
    metric : str
        Such as accuracy.

    Returns
    -------
    TextTable
        Per method: how many figures both have, the mean difference, and the typical
        difference as a multiple of the one that other splits alone would make.
    """
    figures = _figures(frame, metric)
    digits = 1 if LARGER_IS_BETTER[metric] else 3
    rows = tuple(
        (str(method), str(len(part)), *_told(part, digits))
        for method, part in figures.groupby("method", sort=False)
    )
    unit = "points" if LARGER_IS_BETTER[metric] else "the target's deviation"
    return TextTable(
        f"Ours minus the paper's {metric}, in {unit}",
        ("method", "figures", "mean difference", "of that by chance"),
        rows,
        (
            "The last column is 1 if only the splits differ: root mean square of the "
            "differences, over that of their standard errors.",
        ),
    )


def _figures(frame: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return a line for each mean that both have: difference and its variance."""
    lines = []
    for ours in means(frame, metric).itertuples():
        theirs = published(ours.dataset, ours.n_real, metric, ours.method)
        if theirs is None:
            continue
        own = ours.deviation**2 / (ours.splits - 1) if ours.splits > 1 else np.nan
        chance = own + theirs.deviation**2 / (_PAPER_SPLITS - 1)
        lines.append((ours.method, ours.mean - theirs.mean, chance))
    return pd.DataFrame(lines, columns=["method", "difference", "chance"])


def _told(part: pd.DataFrame, digits: int) -> tuple[str, str]:
    apart = part["difference"]
    mean = f"{apart.mean():+.{digits}f}"
    if len(apart) > 1:
        mean += f" ± {apart.sem():.{digits}f}"
    known = part.dropna()
    if known.empty:
        return mean, "-"
    ratio = np.sqrt((known["difference"] ** 2).mean() / known["chance"].mean())
    return mean, f"{ratio:.1f}"
