"""Equation 43: KTO, as printed and as in the KTO paper (arXiv:2402.01306).

The latter has, instead of log-sigmoids of r,

    value = lambda_D sigmoid(beta (r - z0))   of a desirable action,
            lambda_U sigmoid(beta (z0 - r))   of an undesirable one;

and the loss is the mean of lambda - value.  DECISIONS.md, 10.
"""

import numpy as np
import pytest
import torch
from scipy.special import expit

from tabtap.policy import adaptive_weights, kto_loss, logistic_loss

RATIOS = np.array([0.4, -1.1, 0.0, 2.0, -0.3])
LABELS = np.array([True, True, False, False, False])
KL = np.array([0.1, 0.2, 0.0, 0.5, 0.3])
BETA = 3.0


def ours(weights):
    tensors = [torch.from_numpy(values) for values in (RATIOS, LABELS, KL)]
    return float(kto_loss(*tensors, *weights, BETA))


def test_the_loss_is_that_of_the_kto_paper():
    value = np.where(
        LABELS, 1.7 * expit(BETA * (RATIOS - KL)), 0.6 * expit(BETA * (KL - RATIOS))
    )

    assert ours((1.7, 0.6)) == pytest.approx(
        np.mean(np.where(LABELS, 1.7, 0.6) - value)
    )


def test_adaptive_weights_are_inverse_to_the_counts():
    good, bad = adaptive_weights(2, 3)

    assert good / bad == pytest.approx((1 / 2) / (1 / 3))


def test_with_adaptive_weights_both_kinds_count_the_same():
    loss = ours(adaptive_weights(2, 3))

    good = np.mean(1 - expit(BETA * (RATIOS - KL))[LABELS])
    bad = np.mean(1 - expit(BETA * (KL - RATIOS))[~LABELS])
    assert loss == pytest.approx((good + bad) / 2)


def test_the_logistic_loss_of_strength_one_is_the_equation_as_printed():
    good, bad = 1.7, 0.6
    printed = -good * np.mean(LABELS * np.log(expit(RATIOS)))
    printed -= bad * np.mean(~LABELS * np.log(expit(-RATIOS)))

    ratios, labels = torch.from_numpy(RATIOS), torch.from_numpy(LABELS)
    found = logistic_loss(ratios, labels, good, bad, strength=1.0)

    assert float(found) == pytest.approx(printed)


def test_both_push_every_action_the_same_way():
    ratios = torch.tensor(RATIOS, requires_grad=True)
    labels, kl = torch.from_numpy(LABELS), torch.from_numpy(KL)

    (ours,) = torch.autograd.grad(logistic_loss(ratios, labels, 1, 1, BETA), ratios)
    (kto,) = torch.autograd.grad(kto_loss(ratios, labels, kl, 1, 1, BETA), ratios)

    assert torch.equal(ours.sign(), kto.sign())
    assert (ours < 0).tolist() == LABELS.tolist()
