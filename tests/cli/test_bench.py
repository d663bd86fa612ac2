import json
import os

import pytest

from tabtap.cli.app import main

GRID = """
datasets = ["insurance"]
n_real = [20]
splits = 2
budget = 30
methods = ["Real", "Copies"]
predictors = ["KNN"]
"""


@pytest.fixture
def place(tmp_path):
    (tmp_path / "grid.toml").write_text(GRID, encoding="utf-8")
    return tmp_path


def record(method, split, score):
    cell = {"dataset": "insurance", "n_real": 20, "split": split, "method": method}
    return {
        "cell": {**cell, "settings": {}, "seed": 0},
        "scores": {"KNN": {"rmse": score, "mae": score / 2}},
        "n_rows": 30,
        "failure": None,
        "costs": {"cpu_seconds": {"method": 1.0}, "peak_bytes": {"method": 10**6}},
    }


@pytest.fixture
def filled(place):
    folder = place / "store" / "records"
    folder.mkdir(parents=True)
    for method, score in (("Real", 0.8), ("Copies", 0.6)):
        for split in (0, 1):
            text = json.dumps(record(method, split, score))
            (folder / f"{method}-{split}.json").write_text(text, encoding="utf-8")
    return place


@pytest.mark.skipif("TABTAP_DATA" not in os.environ, reason="TABTAP_DATA is not set")
def test_a_grid_is_run_shown_and_not_run_again(tabtap_run, place):
    told = ("grid.toml", "--store", "store")

    first = tabtap_run("bench", "run", *told, cwd=place)
    status = tabtap_run("bench", "status", *told, cwd=place)
    again = tabtap_run("bench", "run", *told, cwd=place)

    assert (first.code, status.code, again.code) == (0, 0, 0)
    assert "4 of 4 cells have records" in first.said
    assert status.out.splitlines()[0] == "4 of 4 cells have records"
    assert "4 cells, 4 of them done already" in again.said


def test_a_table_that_is_not_to_be_had_is_told_before_anything_is_run(
    place, capsys, monkeypatch
):
    monkeypatch.setenv("TABTAP_DATA", str(place / "absent"))
    store = place / "store"

    code = main(["bench", "run", str(place / "grid.toml"), "--store", str(store)])

    assert code == 2
    assert "absent" in capsys.readouterr().err
    assert not store.exists()


def test_what_is_left_of_a_grid_is_shown(place, capsys):
    code = main(["bench", "status", str(place / "grid.toml"), "--store", str(place)])

    assert code == 3
    assert capsys.readouterr().out.startswith("0 of 4 cells have records")


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("main", "0.600 ± 0.000"),
        ("f1", "0.300 ± 0.000"),
        ("per-predictor", "KNN"),
        ("gains", "+25.0 ± 0.0 (2)"),
        ("wins", "100 (2)"),
        ("cost", "peak MB"),
        ("failures", "None of 4 cells failed."),
    ],
)
def test_every_table_is_written(filled, capsys, name, shown):
    code = main(["bench", "table", name, "--store", str(filled / "store")])

    assert code == 0
    assert shown in capsys.readouterr().out


def test_figures_and_exports_are_files(filled, capsys, monkeypatch):
    monkeypatch.chdir(filled)
    place = ["--store", "store", "--out"]

    figure = main(["bench", "figure", "ladder", *place, "l.svg"])
    scores = main(["bench", "export", *place, "s.csv"])
    wrong = main(["bench", "export", *place, "s.txt"])

    assert (figure, scores, wrong) == (0, 0, 2)
    assert (filled / "l.svg").read_text().startswith("<?xml")
    lines = (filled / "s.csv").read_text().splitlines()
    assert lines[0] == "dataset,n_real,split,method,predictor,metric,score"
    assert "neither .csv" in capsys.readouterr().err


def test_an_empty_store_says_how_to_fill_it(place, capsys):
    code = main(["bench", "table", "main", "--store", str(place / "none")])

    assert code == 2
    assert "holds no records yet" in " ".join(capsys.readouterr().err.split())


def test_a_bad_grid_is_one_paragraph(place, capsys):
    (place / "grid.toml").write_text('datasets = ["iris"]', encoding="utf-8")

    code = main(["bench", "run", str(place / "grid.toml"), "--store", "s"])

    assert code == 2
    assert "dataset 'iris' is not known" in " ".join(capsys.readouterr().err.split())
