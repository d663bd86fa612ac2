"""Equations 17 and 40: leaving the reference costs KL(pi || pi_ref), computed exactly.

Its solution, pi* proportional to pi_ref exp(A / beta), shows what beta means.
"""

import numpy as np
import pytest
import torch
from scipy.integrate import quad
from scipy.stats import entropy, norm

from tabtap.policy.reference import ActionDistribution


def distribution(targets, templates, mean, scale):
    return ActionDistribution(
        torch.tensor(np.array([targets])).log(),
        torch.tensor([templates], dtype=torch.float64).log(),
        torch.tensor([mean], dtype=torch.float64),
        torch.tensor([scale], dtype=torch.float64),
    )


POLICY = distribution([0.5, 0.0, 0.5], [0.9, 0.1], 0.7, 0.1)
REFERENCE = distribution([0.8, 0.0, 0.2], [0.4, 0.6], 0.4, 0.2)


def test_the_divergence_is_that_of_its_three_parts():
    one, other = norm(0.7, 0.1), norm(0.4, 0.2)
    gaussian, _ = quad(
        lambda x: one.pdf(x) * (one.logpdf(x) - other.logpdf(x)), -1, 2, points=[0.7]
    )

    found = float(POLICY.divergence(REFERENCE))

    discrete = entropy([0.5, 0.5], [0.8, 0.2]) + entropy([0.9, 0.1], [0.4, 0.6])
    assert found == pytest.approx(discrete + gaussian, rel=1e-6)


def test_its_gradient_is_finite_where_a_target_is_not_available():
    shift = torch.zeros(1, 3, dtype=torch.float64, requires_grad=True)
    moved = ActionDistribution(
        POLICY.target_logits + shift, POLICY.template_logits, POLICY.mean, POLICY.scale
    )

    moved.divergence(REFERENCE).sum().backward()

    assert torch.isfinite(shift.grad).all()
    assert float(shift.grad[0, 1]) == 0.0


def test_the_exponentially_tilted_reference_solves_the_objective():
    beta, advantage = 3.0, np.array([2.0, -1.0, 4.0])
    reference = np.array([0.2, 0.5, 0.3])
    tilted = reference * np.exp(advantage / beta)
    best = tilted / tilted.sum()

    def objective(targets):
        policy = distribution(targets, [0.5, 0.5], 0.5, 0.2)
        anchor = distribution(reference, [0.5, 0.5], 0.5, 0.2)
        return np.dot(targets, advantage) - beta * float(policy.divergence(anchor))

    rng = np.random.default_rng(0)
    rivals = [objective(rng.dirichlet(50 * best)) for _ in range(200)]
    assert objective(best) > max(rivals)
