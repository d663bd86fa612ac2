"""A checkpoint as tensors and settings, without running what is pickled in it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor

from tabtap.errors import WeightsError

_PARALLEL_PREFIX = "module."
"""Put before every name by the wrapper that trained on several devices."""

_UNREADABLE = (UnpicklingError, RuntimeError, KeyError, IndexError, TypeError)


def convert_checkpoint(source: Path, destination: Path) -> dict[str, Any]:
    """Write a checkpoint's tensors as safetensors and return its settings.

    Only tensors and plain values are read: anything else in the pickle is refused.

    Raises
    ------
    WeightsError
        If the file holds anything but tensors and plain values.
    """
    try:
        content = torch.load(source, map_location="cpu", weights_only=True)
        tensors, settings = _parts(content)
    except _UNREADABLE as error:
        raise WeightsError(
            f"This torch ({torch.__version__}) cannot read the checkpoint without "
            f"running code from it: {str(error)[:300]}. Use torch 2.4 or newer."
        ) from error
    named = {
        name.removeprefix(_PARALLEL_PREFIX): tensor.clone().contiguous()
        for name, tensor in tensors.items()
    }
    save_file(named, destination)
    plain: dict[str, Any] = json.loads(json.dumps(settings, default=str))
    return plain


def _parts(content: Any) -> tuple[Mapping[str, Tensor], Mapping[str, Any]]:  # noqa: ANN401 - whatever was saved
    """Tell tensors from settings: {state_dict, config}, or (state, ..., settings)."""
    if isinstance(content, Mapping):
        return content["state_dict"], content["config"]
    return content[0], content[-1]
