import numpy as np
import pytest
import torch

from tabtap.config import PolicyConfig
from tabtap.policy.learned import PolicyNetwork
from tabtap.policy.reference import ActionDistribution

NETWORK = PolicyNetwork(3, PolicyConfig(width=16))


@pytest.fixture
def reference():
    return ActionDistribution(
        torch.tensor([[0.1, -torch.inf, 0.4]] * 5, dtype=torch.float64),
        torch.tensor([[0.0, -1.0]] * 5, dtype=torch.float64),
        torch.tensor([0.0, 0.2, 0.5, 0.9, 1.0], dtype=torch.float64),
        torch.full((5,), 0.2, dtype=torch.float64),
    )


@pytest.fixture
def states():
    return torch.from_numpy(np.random.default_rng(0).normal(size=(5, 9)))


def test_outputs_are_those_of_two_tanh_layers(states):
    rng = np.random.default_rng(1)
    weights = rng.normal(size=NETWORK.n_weights)
    cuts = np.cumsum([9 * 16, 16, 16 * 16, 16, 16 * 7])
    first, one, second, two, last, end = np.split(weights, cuts)

    found = NETWORK.outputs(torch.from_numpy(weights), states)

    hidden = np.tanh(states.numpy() @ first.reshape(9, 16) + one)
    hidden = np.tanh(hidden @ second.reshape(16, 16) + two)
    expected = hidden @ last.reshape(16, 7) + end
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-12)


def test_first_weights_change_nothing(reference, states):
    weights = NETWORK.initial(np.random.default_rng(2))

    found = NETWORK.shifted(weights, states, reference)

    assert torch.equal(found.target_logits, reference.target_logits)
    assert torch.equal(found.template_logits, reference.template_logits)
    assert torch.equal(found.mean, reference.mean)
    assert torch.equal(found.scale, reference.scale)


def test_no_weights_lead_out_of_bounds(reference, states):
    rng = np.random.default_rng(3)
    weights = torch.from_numpy(rng.normal(scale=20.0, size=NETWORK.n_weights))

    found = NETWORK.shifted(weights, states, reference)

    assert (found.target_logits[:, 1] == -torch.inf).all()
    assert (found.mean > -0.02).all()
    assert (found.mean < 1.02).all()
    assert (found.scale / 0.2 >= np.exp(-1.0) - 1e-12).all()
    assert (found.scale / 0.2 <= np.exp(1.0) + 1e-12).all()


def test_equal_generators_give_equal_first_weights():
    first = NETWORK.initial(np.random.default_rng(4))

    assert torch.equal(first, NETWORK.initial(np.random.default_rng(4)))
    assert not torch.equal(first, NETWORK.initial(np.random.default_rng(5)))
