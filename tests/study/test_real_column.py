"""The first check of the protocol: real rows alone score as in the paper."""

import os

import numpy as np
import pytest

from tabtap.compare.store import Cell
from tabtap.study.cell import run_cell
from tabtap.study.sources import SOURCES, published_figure
from tabtap.study.tables import means, score_frame

N_SPLITS = 5


@pytest.mark.skipif("TABTAP_DATA" not in os.environ, reason="TABTAP_DATA is not set")
def test_real_rows_score_as_in_the_paper():
    cells = [
        Cell(dataset=name, n_real=n_real, split=split, method="Real")
        for name in SOURCES
        for n_real in (20, 50)
        for split in range(N_SPLITS)
    ]
    frame = score_frame(run_cell(cell) for cell in cells)

    apart = []
    for metric in ("accuracy", "rmse"):
        for ours in means(frame, metric).itertuples():
            theirs = published_figure(ours.dataset, ours.n_real, metric, "Real")
            chance = np.hypot(ours.deviation, theirs.deviation) / np.sqrt(N_SPLITS - 1)
            apart.append((ours.mean - theirs.mean) / chance)

    assert len(apart) == 14
    assert np.sqrt(np.mean(np.square(apart))) < 1.6  # 1 if only the splits differ
    assert np.abs(apart).max() < 4
