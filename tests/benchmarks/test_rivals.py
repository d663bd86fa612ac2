import subprocess
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import records
import rivals
from rivals import PACKAGE, divide, draw, gap_table, measure, page, rivals_table

from tabtap.fidelity import shape_error, trend_error
from tabtap.rivals.ctgan import Ctgan
from tabtap.rivals.tvae import Tvae
from tabtap.rng import stream

PYTHON = Path("python")


@pytest.fixture
def brief(monkeypatch):
    """Make both methods quick."""
    methods = {"CTGAN": Ctgan(n_epochs=1, batch_size=20), "TVAE": Tvae(n_epochs=1)}
    monkeypatch.setattr(rivals, "METHODS", methods)


@pytest.fixture
def parrot(monkeypatch):
    """Stand in for the package: give back the very rows it was given."""

    def run(command, **_):
        given, made = command[3:5]
        with np.load(given) as file:
            np.savez(made, **file)
        return subprocess.CompletedProcess(command, 0, stdout="noise\n1.5\n", stderr="")

    # Not subprocess itself, which others ask as well: joblib counts cores by it.
    monkeypatch.setattr(rivals, "subprocess", SimpleNamespace(run=run))
    monkeypatch.setattr(records, "stamp", lambda: {"commit": "abc"})  # asks git


def test_few_rows_are_divided_in_halves_that_share_none(birds):
    train, held_out = divide(birds, np.random.default_rng(0))

    assert (len(train), len(held_out)) == (172, 172)
    assert set(train.origin).isdisjoint(held_out.origin)


@pytest.mark.usefixtures("parrot")
def test_rows_of_the_package_become_a_table(birds):
    rows, seconds = draw(birds, "CTGAN", PACKAGE, 0, PYTHON)

    assert np.array_equal(rows.numeric, birds.numeric, equal_nan=True)
    assert np.array_equal(rows.categorical, birds.categorical)
    assert np.array_equal(rows.target, birds.target)
    assert seconds == 1.5


def test_a_package_that_fails_says_why(birds, monkeypatch):
    done = subprocess.CompletedProcess([], 1, stdout="", stderr="No module ctgan")
    monkeypatch.setattr(
        rivals, "subprocess", SimpleNamespace(run=lambda *_, **__: done)
    )

    with pytest.raises(SystemExit, match="No module ctgan"):
        draw(birds, "CTGAN", PACKAGE, 0, PYTHON)


def test_the_package_is_not_looked_for_unless_it_is_named(birds):
    with pytest.raises(SystemExit, match="--package-python"):
        draw(birds, "CTGAN", PACKAGE, 0, None)


@pytest.mark.usefixtures("parrot")
def test_errors_are_those_of_rows_that_were_not_trained_on(birds):
    what = {"method": "TVAE", "maker": PACKAGE, "seed": 0}

    record = measure("birds", birds, what, PYTHON)

    train, held_out = divide(birds, stream(0, "divide", "birds"))
    assert record["shape_error"] == shape_error(held_out, train)
    assert record["trend_error"] == trend_error(held_out, train)


@pytest.mark.usefixtures("brief", "parrot")
def test_a_run_measures_each_cell_once_and_writes_the_page(
    birds, tmp_path, monkeypatch
):
    monkeypatch.setattr(rivals, "load_table", lambda _: (birds, None))
    options = ["--tables", "credit-g", "--seeds", "0", "--package-python", "python"]
    options += ["--out", str(tmp_path / "out.jsonl"), "--page", str(tmp_path / "p.md")]

    first = rivals.main(options)
    again = rivals.main(options)

    assert len(first) == 6
    assert again == first
    assert "--tables credit-g --seeds 0" in (tmp_path / "p.md").read_text("utf-8")


def test_the_table_averages_over_seeds():
    heading = {"table": "birds", "method": "TVAE", "maker": "tabtap", "seconds": 1.0}
    marks = {"commit": "abc", "date": "2026-01-02", "machine": "a processor"}
    records = [
        {**heading, **marks, "seed": seed, "shape_error": share, "trend_error": share}
        for seed, share in enumerate((0.2, 0.4))
    ]

    line = rivals_table(records).splitlines()[-1]

    assert line.count("30.0 ± 10.0") == 2
    assert line in page(records)


def test_gaps_are_between_rows_of_the_same_seed():
    errors = {("tabtap", 0): 0.5, ("tabtap", 1): 0.2, (PACKAGE, 0): 0.4}
    records = [
        {
            **{"table": "birds", "method": "TVAE", "maker": maker, "seed": seed},
            **{"shape_error": error, "trend_error": error / 2},
        }
        for (maker, seed), error in errors.items()
    ]

    cells = gap_table(records).splitlines()[-1].strip("| ").split(" | ")

    assert [cell.strip() for cell in cells] == ["birds", "TVAE", "10.0", "5.0", "1"]
