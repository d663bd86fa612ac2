import numpy as np
import torch

from tabtap.rivals.matrices import SeededDropout, generator_from, linear, perceptron


def test_first_weights_depend_on_the_generator_alone():
    process = torch.get_rng_state()

    first, again, other = (
        linear(9, 4, torch.Generator().manual_seed(seed)).weight for seed in (1, 1, 2)
    )

    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert torch.equal(torch.get_rng_state(), process)


def test_first_weights_are_as_large_as_those_of_torch():
    layer = linear(9, 2000, torch.Generator().manual_seed(0))

    reach = torch.nn.Linear(9, 2000).weight.abs().max()
    assert torch.isclose(layer.weight.abs().max(), reach, atol=0.01)
    assert layer.bias.abs().max() <= 1 / 3


def test_a_perceptron_has_a_layer_for_each_width():
    network = perceptron((5, 7, 3), 2, torch.Generator().manual_seed(0))

    shapes = [tuple(w.shape) for w in network.parameters() if w.ndim == 2]
    assert shapes == [(7, 5), (3, 7), (2, 3)]


def test_dropout_keeps_the_mean():
    dropout = SeededDropout(0.5, torch.Generator().manual_seed(0))

    values = dropout(torch.ones(10_000))

    assert set(values.tolist()) == {0.0, 2.0}
    assert abs(float(values.mean()) - 1.0) < 0.05


def test_generators_follow_the_one_they_are_seeded_from():
    first, again = (generator_from(np.random.default_rng(3)) for _ in range(2))

    assert first.initial_seed() == again.initial_seed()
