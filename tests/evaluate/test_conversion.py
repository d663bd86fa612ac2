import os

import pytest
import torch
from safetensors.torch import load_file

from tabtap.errors import WeightsError
from tabtap.evaluate.weights import convert_checkpoint


class MakesFolder:
    """Pickles to a call that leaves a trace if it is ever made."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return os.mkdir, (self.path,)


def test_code_in_a_checkpoint_is_refused_and_not_run(tmp_path):
    trace, converted = tmp_path / "trace", tmp_path / "new"
    torch.save(({"weight": torch.ones(2)}, MakesFolder(trace), {}), tmp_path / "old")

    with pytest.raises(WeightsError, match="without running code from it"):
        convert_checkpoint(tmp_path / "old", converted)

    assert not trace.exists()
    assert not converted.exists()


def test_tensors_that_share_memory_are_written_apart(tmp_path):
    whole = torch.arange(6.0)
    torch.save(({"all": whole, "part": whole[::2]}, {}), tmp_path / "old")

    convert_checkpoint(tmp_path / "old", tmp_path / "new")

    written = load_file(tmp_path / "new")
    assert torch.equal(written["all"], whole)
    assert torch.equal(written["part"], whole[::2])


def test_settings_come_back_as_json_can_hold_them(tmp_path):
    settings = {"sizes": (1, 2), "rate": 0.5, 3: None}
    torch.save(({"weight": torch.ones(2)}, settings), tmp_path / "old")

    found = convert_checkpoint(tmp_path / "old", tmp_path / "new")

    assert found == {"sizes": [1, 2], "rate": 0.5, "3": None}


def test_a_file_of_another_make_is_refused(tmp_path):
    torch.save({"weight": torch.ones(2)}, tmp_path / "old")

    with pytest.raises(WeightsError, match="cannot read the checkpoint"):
        convert_checkpoint(tmp_path / "old", tmp_path / "new")
