import numpy as np
import pytest
import torch

from tabtap.policy.learned import adaptive_weights, kto_loss, logistic_loss

LABELS = torch.tensor([True, False, True, False])


def ratios(*values):
    return torch.tensor(values, dtype=torch.float64)


def test_the_gradient_is_that_of_finite_differences():
    point, kl = ratios(0.3, -0.2, -1.0, 0.8), ratios(0.1, 0.0, 0.4, 0.2)

    def loss(at):
        return kto_loss(at, LABELS, kl, 1.5, 0.7, 3.0)

    assert torch.autograd.gradcheck(loss, point.clone().requires_grad_())


def test_desirable_actions_are_pushed_up_and_undesirable_ones_down():
    point = ratios(0.3, -0.2, -1.0, 0.8).requires_grad_()

    kto_loss(point, LABELS, torch.zeros(()), 1.0, 1.0, 3.0).backward()

    assert (point.grad < 0).tolist() == LABELS.tolist()


def test_an_action_far_on_its_side_is_hardly_pushed_any_further():
    point = ratios(0.0, 3.0, -3.0).requires_grad_()
    labels = torch.tensor([True, True, False])

    kto_loss(point, labels, torch.zeros(()), 1.0, 1.0, 3.0).backward()

    pull = point.grad.abs()
    assert (pull[1:] < 0.001 * pull[0]).all()


def test_no_gradient_flows_into_the_divergence():
    kl = ratios(0.2, 0.2, 0.2, 0.2).requires_grad_()
    point = torch.zeros(4, dtype=torch.float64, requires_grad=True)

    kto_loss(point, LABELS, kl, 1.0, 1.0, 3.0).backward()

    assert kl.grad is None


def test_a_divergence_estimated_below_zero_counts_as_zero():
    point = ratios(0.3, -0.2, -1.0, 0.8)

    below = kto_loss(point, LABELS, torch.tensor(-0.5), 1.0, 1.0, 3.0)

    assert below == kto_loss(point, LABELS, torch.tensor(0.0), 1.0, 1.0, 3.0)


def test_the_logistic_gradient_is_that_of_finite_differences():
    point = ratios(0.3, -0.2, -1.0, 0.8)

    def loss(at):
        return logistic_loss(at, LABELS, 1.5, 0.7, 3.0)

    assert torch.autograd.gradcheck(loss, point.clone().requires_grad_())


@pytest.mark.parametrize(("n_good", "n_bad"), [(3, 1), (2, 2), (1, 7)])
def test_the_logistic_loss_is_least_where_the_evidence_is_weighed(n_good, n_bad):
    labels = torch.tensor([True] * n_good + [False] * n_bad)
    grid = np.linspace(-1, 1, 2001)

    losses = [
        float(logistic_loss(torch.full((n_good + n_bad,), r), labels, 1.0, 1.0, 3.0))
        for r in grid
    ]

    expected = np.log(n_good / n_bad) / 3.0
    assert grid[np.argmin(losses)] == pytest.approx(expected, abs=0.002)


def test_the_loss_of_the_kto_paper_follows_any_majority_to_the_end():
    labels = torch.tensor([True, True, True, False, False])
    grid = np.linspace(-1, 1, 21)

    losses = [
        float(kto_loss(torch.full((5,), r), labels, torch.zeros(()), 1.0, 1.0, 3.0))
        for r in grid
    ]

    assert np.argmin(losses) == len(grid) - 1


@pytest.mark.parametrize(("n_good", "n_bad"), [(1, 1), (2, 6), (30, 2)])
def test_both_kinds_weigh_the_same_and_an_action_one_on_average(n_good, n_bad):
    good, bad = adaptive_weights(n_good, n_bad)

    assert good * n_good == pytest.approx(bad * n_bad)
    assert good * n_good + bad * n_bad == pytest.approx(n_good + n_bad)


def test_a_kind_that_is_alone_keeps_half_of_the_weight():
    assert adaptive_weights(0, 8)[1] == 0.5
    assert adaptive_weights(8, 0)[0] == 0.5
