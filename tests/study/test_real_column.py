"""The first check of the protocol: real rows alone score as in the paper.

With one exception, which the page of the main table names: macro F1 of credit-g.
"""

import os

import numpy as np
import pytest

from tabtap.compare.store import Cell
from tabtap.study.cell import run_cell
from tabtap.study.sources import SOURCES, published_figure
from tabtap.study.tables import means, score_frame

N_SPLITS = 5
METRICS = ("accuracy", "macro_f1", "rmse", "mae")

pytestmark = pytest.mark.skipif(
    "TABTAP_DATA" not in os.environ, reason="TABTAP_DATA is not set"
)


@pytest.fixture(scope="module")
def frame():
    cells = [
        Cell(dataset=name, n_real=n_real, split=split, method="Real")
        for name in SOURCES
        for n_real in (20, 50)
        for split in range(N_SPLITS)
    ]
    return score_frame(run_cell(cell) for cell in cells)


def standard_errors_apart(frame, metric):
    """Return by how much our figures are above the paper's, by table and size."""
    apart = {}
    for ours in means(frame, metric).itertuples():
        theirs = published_figure(ours.dataset, ours.n_real, metric, "Real")
        chance = np.hypot(ours.deviation, theirs.deviation) / np.sqrt(N_SPLITS - 1)
        apart[ours.dataset, ours.n_real] = (ours.mean - theirs.mean) / chance
    return apart


def test_real_rows_score_as_in_the_paper(frame):
    apart = [
        value
        for metric in METRICS
        for (dataset, _), value in standard_errors_apart(frame, metric).items()
        if (dataset, metric) != ("credit-g", "macro_f1")
    ]

    assert len(apart) == 26
    assert np.sqrt(np.mean(np.square(apart))) < 1.6  # 1 if only the splits differ
    assert np.abs(apart).max() < 4


def test_macro_f1_of_credit_g_is_above_the_paper_s_which_has_another_table(frame):
    apart = standard_errors_apart(frame, "macro_f1")

    # Not so any more?  Then claims.md is to be mended.
    assert min(apart["credit-g", 20], apart["credit-g", 50]) > 3
