"""Table 4: every hyperparameter of the paper, in the settings of its protocol.

What the gating rows do is shown in ``test_table4_gates.py``.
"""

import inspect

import numpy as np
import pandas as pd
import pytest
import torch

from tabtap.api import PRESETS, TabularAugmenter
from tabtap.config import AugmentConfig
from tabtap.policy.learned import AdamState, adamw_step
from tabtap.table import read_frame

PAPER = AugmentConfig.paper()


@pytest.mark.parametrize(
    ("found", "printed"),
    [
        ((PAPER.policy.n_layers, PAPER.policy.width), (2, 128)),
        (PAPER.policy.learning_rate, 3e-4),
        (PAPER.policy.max_grad_norm, 0.5),
        (PAPER.policy.kl_strength, 3.0),
        ((PAPER.policy.feedback_quantile, PAPER.policy.feedback_window), (0.6, 200)),
        (PAPER.utility.n_folds, 5),
        (PAPER.utility.focus_fraction, 0.2),
        (PAPER.proposal.candidates_per_step, 16),
        (PAPER.commit.window_length, 20),
        (PAPER.commit.min_gain, 0.0),
        (PAPER.gates.range_quantiles, (0.01, 0.99)),
        ((PAPER.gates.min_probability, PAPER.gates.min_margin), (0.3, 0.1)),
        (PAPER.gates.residual_percentile, 95),
        (PAPER.gates.min_distance, 0.1),
    ],
    ids=[
        "MLP layers and hidden width",
        "learning rate",
        "max grad norm",
        "KL coefficient beta",
        "feedback quantile and window",
        "CV folds M",
        "focused query ratio alpha",
        "candidates per step",
        "commit interval K",
        "commit threshold tau",
        "numeric clipping quantiles",
        "classification p_min and margin",
        "regression residual percentile",
        "diversity threshold",
    ],
)
def test_the_paper_s_setting_is(found, printed):
    assert found == printed


def test_the_optimiser_is_adamw():
    weights = torch.tensor([1.0, -2.0, 3.0], dtype=torch.float64)
    theirs = weights.clone().requires_grad_()
    optimiser = torch.optim.AdamW([theirs], lr=3e-4)
    ours, state = weights, AdamState.fresh(weights)

    for step in range(5):
        gradient = torch.tensor([0.1, -0.2, 0.3], dtype=torch.float64) * (step - 2)
        theirs.grad = gradient.clone()
        optimiser.step()
        ours, state = adamw_step(ours, gradient, state, 3e-4)

    assert ours.tolist() == pytest.approx(theirs.tolist(), rel=1e-12)


def test_the_synthetic_budget_is_500():
    assert inspect.signature(TabularAugmenter).parameters["budget"].default == 500


def test_a_regression_target_has_seven_bins():
    value = np.random.default_rng(0).normal(size=70)

    table = read_frame(pd.DataFrame({"x": value, "y": 2 * value + 0.1}), "y")

    assert np.bincount(table.condition).tolist() == [10] * 7


def test_the_preset_of_the_paper_uses_them():
    assert PRESETS["paper"].augment == PAPER
    assert PRESETS["paper"].diffusion.clip_quantiles == (0.01, 0.99)


def test_the_rest_of_the_protocol_is_the_paper_s_text():
    assert PAPER.commit.protocol == "paper"
    assert PAPER.commit.confidence == 0.95  # t(0.975) in the calibration appendix
    assert PAPER.actions_per_batch == 1  # algorithm 1
    assert PAPER.gates.plausibility
    assert not PAPER.proposal.redraw_target  # the label is fixed, section 3.2
    assert PAPER.utility.max_committed is None  # D_t is all of D_0 and B_t
    assert PAPER.proposal.explored == "numbers"  # appendix C.2.3


def test_no_refusal_ends_a_run_of_the_paper_early():
    assert PAPER.commit.patience * PAPER.commit.window_length == PAPER.n_steps
