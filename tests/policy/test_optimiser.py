import pytest
import torch

from tabtap.policy.learned import AdamState, adamw_step, clip_gradient


def test_steps_are_those_of_torch():
    generator = torch.Generator().manual_seed(0)
    weights = torch.randn(7, generator=generator, dtype=torch.float64)
    theirs = weights.clone().requires_grad_()
    adam = torch.optim.AdamW([theirs], lr=0.01)
    state = AdamState.fresh(weights)

    for _ in range(5):
        gradient = torch.randn(7, generator=generator, dtype=torch.float64)
        theirs.grad = gradient.clone()
        adam.step()
        weights, state = adamw_step(weights, gradient, state, 0.01)

    torch.testing.assert_close(weights, theirs.detach(), rtol=1e-12, atol=1e-12)
    assert state.n_updates == 5


def test_what_a_step_is_given_stays_as_it_is():
    weights = torch.ones(3, dtype=torch.float64)
    state = AdamState.fresh(weights)

    adamw_step(weights, torch.ones(3, dtype=torch.float64), state, 0.1)

    assert weights.tolist() == [1.0, 1.0, 1.0]
    assert state.first.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("given", "expected"), [([3.0, 4.0], [0.3, 0.4]), ([0.1, 0.2], [0.1, 0.2])]
)
def test_only_long_gradients_are_shortened(given, expected):
    found = clip_gradient(torch.tensor(given, dtype=torch.float64), 0.5)

    assert found.tolist() == pytest.approx(expected)
