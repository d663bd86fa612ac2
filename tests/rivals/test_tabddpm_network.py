import math

import torch

from tabtap.rivals.tabddpm import DdpmNetwork, fourier_features


def test_steps_become_waves_of_falling_frequency():
    found = fourier_features(torch.tensor([0, 5]))

    assert found.shape == (2, 128)
    assert found[0].tolist() == [1.0] * 64 + [0.0] * 64
    assert math.isclose(found[1, 64], math.sin(5), rel_tol=1e-5)
    assert math.isclose(found[1, 127], math.sin(5 / 10_000 ** (63 / 64)), rel_tol=1e-4)


def test_time_and_class_change_what_is_predicted():
    network = DdpmNetwork(3, 2, (8,), torch.Generator().manual_seed(0))
    row, step, label = torch.ones(1, 3), torch.tensor([4]), torch.tensor([0])

    plain = network(row, step, None)

    assert plain.shape == (1, 3)
    assert not torch.equal(plain, network(row, step + 500, None))
    assert not torch.equal(network(row, step, label), network(row, step, label + 1))
