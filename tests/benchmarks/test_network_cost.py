import pytest
import torch
from network_cost import (
    HIDDEN,
    N_LAYERS,
    WIDTH,
    forward_operations,
    instructions,
    product_rate,
)
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from tabtap.evaluate.tabpfn_v1_network import Batch, Network


@pytest.fixture
def network():
    """Return a network of the real shapes whose weights are all zero."""
    shapes = {
        **{"encoder": (WIDTH, 100), "y_encoder": (WIDTH, 1)},
        **{"decoder.0": (HIDDEN, WIDTH), "decoder.2": (10, HIDDEN)},
    }
    for number in range(N_LAYERS):
        layer = f"transformer_encoder.layers.{number}."
        shapes[f"{layer}self_attn.out_proj"] = (WIDTH, WIDTH)
        shapes[f"{layer}linear1"] = (HIDDEN, WIDTH)
        shapes[f"{layer}linear2"] = (WIDTH, HIDDEN)
    weights = {f"{name}.weight": torch.zeros(shape) for name, shape in shapes.items()}
    weights |= {f"{name}.bias": torch.zeros(shape[0]) for name, shape in shapes.items()}
    for number in range(N_LAYERS):
        layer = f"transformer_encoder.layers.{number}."
        weights[f"{layer}self_attn.in_proj_weight"] = torch.zeros(3 * WIDTH, WIDTH)
        weights[f"{layer}self_attn.in_proj_bias"] = torch.zeros(3 * WIDTH)
        for norm in ("norm1", "norm2"):
            weights[f"{layer}{norm}.weight"] = torch.zeros(WIDTH)
            weights[f"{layer}{norm}.bias"] = torch.zeros(WIDTH)
    return Network(weights, torch.device("cpu"), torch.float32)


def test_operations_are_those_torch_counts_in_the_forward(network):
    batch = Batch(
        context=torch.zeros(2, 10, 100),
        labels=torch.zeros(2, 10),
        is_row=torch.ones(2, 10, dtype=torch.bool),
        queries=torch.zeros(2, 16, 100),  # full blocks, so that nothing is filled up
    )

    # Only plain attention is made of products that the counter knows.
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        network.logits(batch)

    assert forward_operations(2, 10, 16) == counter.get_total_flops()


def test_the_rate_of_a_product_is_positive_and_threads_are_left_alone():
    before = torch.get_num_threads()

    assert product_rate(16, repeats=2) > 1e6
    assert torch.get_num_threads() == before


def test_instructions_are_those_the_system_lists(tmp_path):
    listing = tmp_path / "cpuinfo"
    listing.write_text("model name : x\nflags\t\t: sse avx2 amx_bf16 sha_ni\n")

    assert instructions(listing) == ["avx2", "amx_bf16"]
    assert instructions(tmp_path / "absent") is None
