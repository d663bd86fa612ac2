"""Equations 8 and 45: redrawn cells come from q(x_m | kept cells, c), label fixed."""

import numpy as np
import pandas as pd
import pytest

from tabtap.diffusion import DiffusionConfig, fit_backbone
from tabtap.diffusion.network import Denoiser
from tabtap.table import read_frame

REDRAWN, KEPT = 0, 1
N_STEPS = 12


@pytest.fixture(scope="module", params=["clean", "overwrite"])
def scene(request):
    """Learn x near +3 or -3 by the label, beside a column that says nothing."""
    rng = np.random.default_rng(0)
    sick = np.resize([True, False], 400)
    frame = pd.DataFrame(
        {
            "x": np.where(sick, 3.0, -3.0) + 0.5 * rng.normal(size=400),
            "other": rng.normal(size=400),
            "label": np.where(sick, "sick", "well"),
        }
    )
    config = DiffusionConfig(
        n_steps=300,
        n_sample_steps=N_STEPS,
        width=32,
        depth=2,
        conditioning=request.param,
        device="cpu",
    )
    table = read_frame(frame, "label")
    return table, fit_backbone(table, rng=rng, config=config)


def redraw(scene):
    table, backbone = scene
    mask = np.zeros(table.missing.shape, dtype=bool)
    mask[:, REDRAWN] = True
    return backbone.inpaint(table, mask, np.random.default_rng(1))


def test_the_label_and_the_kept_columns_are_fixed(scene):
    table, _ = scene

    made = redraw(scene)

    assert made.target.tobytes() == table.target.tobytes()
    assert made.cells[KEPT].tobytes() == table.cells[KEPT].tobytes()
    assert (made.cells[REDRAWN] != table.cells[REDRAWN]).mean() > 0.9


def test_redrawn_cells_follow_the_condition(scene):
    made = redraw(scene)

    levels = np.array(made.schema.target.column.levels)[made.target]
    x = made.cells[REDRAWN]
    assert (x[levels == "sick"] > 0).mean() > 0.97
    assert (x[levels == "well"] < 0).mean() > 0.97


def test_the_network_is_given_the_label_at_every_reverse_step(scene, monkeypatch):
    table, _ = scene
    told = []
    answer = Denoiser.__call__

    def listen(self, weights, noisy, level, rest):
        told.append(rest[-1][0, : len(table)].numpy().copy())
        return answer(self, weights, noisy, level, rest)

    monkeypatch.setattr(Denoiser, "__call__", listen)
    redraw(scene)

    # Two calls in every step, but one in the last.
    assert len(told) == 2 * N_STEPS - 1
    assert all(np.array_equal(condition, table.target) for condition in told)
