import subprocess
from pathlib import Path

import arf_package
import numpy as np
import pandas as pd
import pytest

from tabtap.study.protocol import repetition
from tabtap.table import write_frame


@pytest.fixture
def part(birds):
    return repetition(birds, 40, 0).renumbered()


def parrot(command, **_):
    """Stand in for the package: give back the very rows it was given."""
    given, made = command[3:5]
    Path(made).write_text(Path(given).read_text())
    return subprocess.CompletedProcess(command, 0)


def test_rows_of_the_package_come_back_as_they_were(part, monkeypatch):
    monkeypatch.setattr(arf_package.subprocess, "run", parrot)
    real = write_frame(part.real)

    rows = arf_package.package_rows(real, "species", Path("python"))

    assert list(rows.columns) == list(real.columns)
    assert rows["species"].tolist() == real["species"].tolist()
    assert np.allclose(rows["body_mass_g"], real["body_mass_g"], equal_nan=True)


def test_a_package_that_fails_makes_no_rows(part, monkeypatch):
    monkeypatch.setattr(
        arf_package.subprocess,
        "run",
        lambda command, **_: subprocess.CompletedProcess(command, 1),
    )

    assert (
        arf_package.package_rows(write_frame(part.real), "species", Path("python"))
        is None
    )


def test_added_rows_are_scored_on_rows_of_the_test(part):
    wrong = write_frame(part.real).sample(200, replace=True, random_state=0)
    wrong["species"] = np.random.default_rng(0).permutation(wrong["species"])

    right = arf_package.score(part, write_frame(part.real), "species")

    assert right > 90
    assert arf_package.score(part, pd.DataFrame(wrong), "species") < right
