from dataclasses import replace

import numpy as np
import pytest
import torch

from tabtap.errors import WeightsError
from tabtap.evaluate.tabpfn_v1_network import Batch, Network
from tabtap.torch_device import multiplies_bfloat16

CPU = torch.device("cpu")


def as_batch(reference, case):
    rows = torch.from_numpy(reference[f"{case}_x"])[None]
    labels = torch.from_numpy(reference[f"{case}_y"])[None]
    n_context = labels.shape[1]
    return Batch(
        context=rows[:, :n_context],
        labels=labels,
        is_row=torch.ones(labels.shape, dtype=torch.bool),
        queries=rows[:, n_context:],
    )


def longer(batch, n_more):
    """Return the batch with rows that are only filling, and wild."""
    wild = torch.full((1, n_more, 100), 50.0)
    return replace(
        batch,
        context=torch.cat([batch.context, wild], dim=1),
        labels=torch.cat([batch.labels, torch.full((1, n_more), 7.0)], dim=1),
        is_row=torch.cat([batch.is_row, torch.zeros(1, n_more, dtype=bool)], dim=1),
    )


@pytest.fixture(scope="module")
def network(tabpfn_v1_weights):
    return Network(tabpfn_v1_weights, CPU, torch.float32)


@pytest.mark.parametrize("case", ["small", "binary", "ten_classes"])
def test_logits_are_those_of_the_authors_package(network, reference, case):
    logits = network.logits(as_batch(reference, case))

    assert np.abs(logits[0].numpy() - reference[f"{case}_logits"]).max() < 1e-4


def test_bfloat16_moves_probabilities_by_less_than_a_hundredth(
    network, tabpfn_v1_weights, reference
):
    if not multiplies_bfloat16():
        pytest.skip("this CPU does not compute bfloat16 products")
    batch = as_batch(reference, "small")
    rough = Network(tabpfn_v1_weights, CPU, torch.bfloat16)

    gap = network.logits(batch).softmax(-1) - rough.logits(batch).softmax(-1)

    assert 0 < gap.abs().max() < 0.01


def test_rows_that_only_fill_a_context_up_are_not_read(small_weights, reference):
    network = Network(small_weights, CPU, torch.float32)
    batch = as_batch(reference, "small")

    plain, filled = network.logits(batch), network.logits(longer(batch, 5))

    assert torch.allclose(plain, filled, atol=1e-5)


def test_a_query_does_not_see_the_other_queries(small_weights, reference):
    network = Network(small_weights, CPU, torch.float32)
    batch = as_batch(reference, "binary")
    others = batch.queries.clone()
    others[:, 1:] = 30.0

    answer = network.logits(batch)
    beside = network.logits(replace(batch, queries=others))

    assert torch.equal(answer[:, 0], beside[:, 0])
    assert not torch.allclose(answer[:, 1], beside[:, 1])


def test_the_order_of_context_rows_does_not_matter(small_weights, reference):
    network = Network(small_weights, CPU, torch.float32)
    batch = as_batch(reference, "small")
    turned = replace(batch, context=batch.context.flip(1), labels=batch.labels.flip(1))

    assert torch.allclose(network.logits(batch), network.logits(turned), atol=1e-5)


@pytest.mark.parametrize("lost", ["encoder.weight", "decoder.2.weight"])
def test_weights_of_another_network_are_refused(small_weights, lost):
    foreign = {name: t for name, t in small_weights.items() if name != lost}

    with pytest.raises(WeightsError, match="not the weights of TabPFN v1"):
        Network(foreign, CPU, torch.float32)
