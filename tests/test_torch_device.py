import pytest
import torch

from tabtap import torch_device
from tabtap.errors import UserInputError
from tabtap.torch_device import (
    choose_device,
    fast_bfloat16,
    multiplies_bfloat16,
    one_thread,
)


@pytest.mark.parametrize(
    ("cuda", "mps", "expected"),
    [(True, True, "cuda"), (False, True, "mps"), (False, False, "cpu")],
)
def test_auto_takes_cuda_then_mps_then_the_cpu(monkeypatch, cuda, mps, expected):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)

    assert choose_device("auto") == torch.device(expected)


def test_a_device_that_is_not_there_gets_a_sentence():
    with pytest.raises(UserInputError, match="device='cuda:99' is not usable"):
        choose_device("cuda:99")


def test_threads_are_as_many_as_before_even_after_an_error():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    inside = []

    def fail():
        with one_thread(torch.device("cpu")):
            inside.append(torch.get_num_threads())
            raise KeyError

    with pytest.raises(KeyError):
        fail()

    assert (inside, torch.get_num_threads()) == ([1], 2)
    torch.set_num_threads(before)


@pytest.mark.parametrize(
    "name", ["_is_amx_tile_supported", "_is_avx512_bf16_supported"]
)
def test_bfloat16_is_fast_on_a_cpu_that_has_it(monkeypatch, name):
    cpu = torch.device("cpu")
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", bool, raising=False)
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", bool, raising=False)
    monkeypatch.setattr(torch_device, "multiplies_bfloat16", lambda: True)
    without = fast_bfloat16(cpu)
    monkeypatch.setattr(torch.cpu, name, lambda: True, raising=False)

    assert (without, fast_bfloat16(cpu)) == (False, True)


def test_bfloat16_that_is_announced_and_forbidden_is_not_used(monkeypatch):
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: True)
    monkeypatch.setattr(torch_device, "multiplies_bfloat16", lambda: False)

    assert not fast_bfloat16(torch.device("cpu"))


@pytest.mark.parametrize(
    ("trial", "possible"),
    [
        ("pass", True),
        ("raise RuntimeError", False),
        ("import os, signal; os.kill(os.getpid(), signal.SIGILL)", False),
    ],
)
def test_a_trial_that_kills_its_process_only_says_no(monkeypatch, trial, possible):
    monkeypatch.setattr(torch_device, "_TRIAL", trial)
    multiplies_bfloat16.cache_clear()

    try:
        assert multiplies_bfloat16() is possible
    finally:
        multiplies_bfloat16.cache_clear()


@pytest.mark.parametrize(("capability", "fast"), [((7, 5), False), ((8, 0), True)])
def test_bfloat16_is_fast_on_gpus_from_ampere_on(monkeypatch, capability, fast):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _: capability)

    assert fast_bfloat16(torch.device("cuda")) is fast
