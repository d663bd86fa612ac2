from pathlib import Path

import numpy as np
import pytest
import torch

from tabtap.errors import WeightsError
from tabtap.evaluate.tabpfn_v1_network import N_CLASSES, N_FEATURES
from tabtap.evaluate.weights import fetch_weights, load_weights

REFERENCE = Path(__file__).parents[1] / "reference" / "tabpfn_v1_reference.npz"


@pytest.fixture(scope="session")
def reference():
    with np.load(REFERENCE, allow_pickle=False) as arrays:
        return dict(arrays)


@pytest.fixture(scope="session")
def tabpfn_v1_weights():
    """The real weights: fetched once, about 98 MB, into the user's cache."""
    try:
        fetch_weights("tabpfn-v1")
    except WeightsError as error:
        if not str(error).startswith("pip could not bring"):
            raise
        pytest.skip(f"without network: {error}")
    return load_weights("tabpfn-v1")


@pytest.fixture(scope="session")
def small_weights():
    """Random weights of the same form and a 32nd of the width."""
    chance = torch.Generator().manual_seed(0)
    width, hidden = 16, 32
    shapes = {"encoder": (width, N_FEATURES), "y_encoder": (width, 1)}
    shapes |= {"decoder.0": (hidden, width), "decoder.2": (N_CLASSES, hidden)}
    norms = []
    for number in range(12):
        layer = f"transformer_encoder.layers.{number}."
        shapes |= {f"{layer}self_attn.out_proj": (width, width)}
        shapes |= {f"{layer}linear1": (hidden, width)}
        shapes |= {f"{layer}linear2": (width, hidden)}
        norms += [f"{layer}norm1", f"{layer}norm2"]
    weights = {}
    for name, (n_out, n_in) in shapes.items():
        scale = n_in**-0.5
        weights[f"{name}.weight"] = torch.randn(n_out, n_in, generator=chance) * scale
        weights[f"{name}.bias"] = torch.randn(n_out, generator=chance) * 0.1
    for number in range(12):
        layer = f"transformer_encoder.layers.{number}.self_attn.in_proj"
        joined = torch.randn(3 * width, width, generator=chance)
        weights[f"{layer}_weight"] = joined * width**-0.5
        weights[f"{layer}_bias"] = torch.zeros(3 * width)
    for name in norms:
        weights[f"{name}.weight"] = torch.ones(width)
        weights[f"{name}.bias"] = torch.zeros(width)
    return weights
