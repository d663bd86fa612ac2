"""Which device the networks run on, and with how many threads."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

import torch

from tabtap.errors import bad_setting

_TRIAL = """
import torch
torch.set_num_threads(1)
for n in (8, 32, 64, 100, 512):
    matrix = torch.ones(n, n, dtype=torch.bfloat16)
    assert (matrix @ matrix == n).all()
"""
"""Products of the sizes that networks here have; 512 is exact in bfloat16."""


def choose_device(name: str) -> torch.device:
    """Return the device a setting names; ``auto`` is CUDA, else MPS, else the CPU."""
    if name != "auto":
        return _named_device(name)
    if torch.cuda.is_available():
        return torch.device("cuda")
    if torch.backends.mps.is_available():
        return torch.device("mps")
    return torch.device("cpu")


@contextmanager
def one_thread(device: torch.device) -> Iterator[None]:
    """Run on one thread: these products are too small to share, and waiting costs."""
    before = torch.get_num_threads()
    if device.type == "cpu":
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def fast_bfloat16(device: torch.device) -> bool:
    """Tell whether bfloat16 products are native on a device, not emulated."""
    if device.type == "cuda":
        # Ampere was the first.
        return torch.cuda.get_device_capability(device) >= (8, 0)
    if device.type != "cpu":
        return False
    # Older torch does not tell; float32 is right everywhere.
    questions = ("_is_amx_tile_supported", "_is_avx512_bf16_supported")
    announced = any(getattr(torch.cpu, name, lambda: False)() for name in questions)
    return announced and multiplies_bfloat16()


@lru_cache
def multiplies_bfloat16() -> bool:
    """Tell whether this CPU computes bfloat16 products, by trying some.

    A virtual machine may show a CPU's matrix unit and not have it; torch then fails at
    some products, and is killed by others.  So another process tries.
    """
    try:
        tried = subprocess.run(
            [sys.executable, "-c", _TRIAL], capture_output=True, timeout=60, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return tried.returncode == 0


def _named_device(name: str) -> torch.device:
    try:
        # Only an allocation tells whether the device is there.
        return torch.empty(0, device=name).device
    except (RuntimeError, AssertionError, ValueError) as error:
        must = "name a torch device of this machine"
        raise bad_setting("device", name, must, "Try 'auto' or 'cpu'.") from error
