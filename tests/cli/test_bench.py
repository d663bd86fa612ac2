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


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('predictors = ["KMM"]', "predictor 'KMM' is not known"),
        ('methods = [{ name = "Jitter", size = 1 }]', "Jitter has no setting 'size'"),
    ],
)
def test_what_no_cell_could_use_is_told_before_anything_is_run(
    place, capsys, line, said
):
    key = line.partition(" = ")[0]
    lines = [part for part in GRID.splitlines() if not part.startswith(key)]
    (place / "grid.toml").write_text("\n".join([*lines, line]), encoding="utf-8")
    store = place / "store"

    code = main(["bench", "run", str(place / "grid.toml"), "--store", str(store)])

    assert code == 2
    assert said in " ".join(capsys.readouterr().err.split())
    assert not store.exists()


def test_without_a_command_there_is_help_and_no_error(capsys):
    code = main(["bench"])

    shown = capsys.readouterr()
    assert (code, shown.err) == (0, "")
    assert "tabtap bench run grid.toml" in shown.out


def change(record, *path, to):
    """Return a record with a part replaced, or removed where it is ``...``."""
    *way, last = path
    inner = record
    for key in way:
        inner = inner[key]
    if to is ...:
        del inner[last]
    else:
        inner[last] = to
    return record


@pytest.mark.parametrize("command", ["table main", "table failures", "table cost"])
@pytest.mark.parametrize(
    ("path", "to"),
    [
        (("cell",), ...),
        (("cell",), []),
        (("cell", "dataset"), 7),
        (("cell", "n_real"), "x"),
        (("cell", "split"), None),
        (("cell", "settings"), []),
        (("scores",), None),
        (("scores", "KNN"), 7),
        (("scores", "KNN", "rmse"), "high"),
        (("scores", "KNN", "rmse"), 10**400),
        (("scores", "KNN", "rmse"), float("nan")),
        (("failure",), "why"),
        (("failure",), {}),
        (("costs", "cpu_seconds"), ...),
        (("costs", "peak_bytes", "method"), "much"),
        (("n_rows",), None),
    ],
    ids=str,
)
def test_a_record_with_odd_parts_is_a_sentence(filled, capsys, command, path, to):
    odd = json.dumps(change(record("Real", 0, 0.8), *path, to=to))
    file = filled / "store" / "records" / "Real-0.json"
    file.write_text(odd, encoding="utf-8")

    code = main(["bench", *command.split(), "--store", str(filled / "store")])

    shown = capsys.readouterr()
    assert (code, shown.out) == (2, "")
    assert "is damaged: it lacks what a record has" in " ".join(shown.err.split())


OF_SCORES = ["table main", "table f1", "table per-predictor", "table gains"]
OF_SCORES += ["table wins", "table paper", "figure ladder --out f.svg"]
OF_SCORES += ["figure scarcity --out f.svg"]


@pytest.mark.parametrize("command", [*OF_SCORES, "table cost"])
def test_a_store_of_failures_alone_says_where_to_look(
    filled, capsys, monkeypatch, command
):
    monkeypatch.chdir(filled)
    for file in (filled / "store" / "records").iterdir():
        cell = json.loads(file.read_text(encoding="utf-8"))["cell"]
        failed = {"cell": cell, "scores": {}, "failure": {"reason": "x"}}
        file.write_text(json.dumps(failed), encoding="utf-8")

    code = main(["bench", *command.split(), "--store", "store"])

    shown = capsys.readouterr()
    assert (code, shown.out) == (2, "")
    assert "See: tabtap bench table failures" in " ".join(shown.err.split())


@pytest.mark.parametrize("command", OF_SCORES)
def test_a_store_of_real_rows_alone_is_no_mistake_of_ours(
    filled, capsys, monkeypatch, command
):
    monkeypatch.chdir(filled)
    for file in (filled / "store" / "records").glob("Copies-*"):
        file.unlink()

    code = main(["bench", *command.split(), "--store", "store"])

    assert (code, "mistake" in capsys.readouterr().err) == (0, False)


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
