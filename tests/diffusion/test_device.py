import pytest
import torch

from tabtap.diffusion.device import choose_device, one_thread
from tabtap.errors import UserInputError


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
