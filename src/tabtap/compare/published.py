"""The paper's own figures, to be set beside ours.

``published.csv`` holds the 630 means and deviations of the paper's tables 1 and of its
appendix: five splits, accuracies and macro F1 in percent, errors in units of the
target's deviation.
"""

from __future__ import annotations

import csv
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple

_NAMES = {
    "Ailerons": "ailerons",
    "Credit-G": "credit-g",
    "Electricity": "electricity",
    "Fourier": "mfeat-fourier",
    "Insurance": "insurance",
    "MiceProtein": "MiceProtein",
    "Steel": "steel-plates-fault",
}
"""What a table is called here, by its name in the paper."""


class Published(NamedTuple):
    """A mean over five splits, and their standard deviation."""

    mean: float
    deviation: float


def published(dataset: str, n_real: int, metric: str, method: str) -> Published | None:
    """Return a figure of the paper; None if it has none.

    Examples
    --------
    >>> published("MiceProtein", 20, "accuracy", "TAP")
    Published(mean=44.6, deviation=5.04)
    >>> published("MiceProtein", 20, "accuracy", "Copies") is None
    True
    """
    return _figures().get((dataset, n_real, metric, method))


@lru_cache(maxsize=1)
def _figures() -> dict[tuple[str, int, str, str], Published]:
    text = files("tabtap.compare").joinpath("published.csv").read_text("utf-8")
    return {
        (
            _NAMES[line["dataset"]],
            int(line["n_real"]),
            line["metric"],
            line["method"],
        ): Published(float(line["mean"]), float(line["std"]))
        for line in csv.DictReader(text.splitlines())
    }
