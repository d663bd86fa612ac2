"""``tabtap study`` as a user meets it, but for the work of its cells."""

import pytest

from tabtap.cli.app import main
from tabtap.compare.store import Cell, Store, Terms
from tabtap.study.studies import STUDY_NAMES

DONE, BAD_INPUT = 0, 2


def sensitivity_record(method, accuracy, split=0):
    cell = Cell(
        dataset="credit-g",
        n_real=50,
        split=split,
        method=method,
        settings={"protocol": "paper"},
        terms=Terms(seed=3),
        study="sensitivity",
    )
    scores = {"KNN": {"accuracy": accuracy, "macro_f1": accuracy}}
    spent = {"seconds": {"all": 36.0}, "cpu_seconds": {"all": 36.0}}
    return cell, {
        "cell": cell.written(),
        "scores": scores,
        "failure": None,
        "costs": spent,
        "versions": {"tabtap": "0.0"},
        "finished": "2026-01-01T00:00:00Z",
    }


@pytest.fixture
def store(tmp_path):
    place = Store(str(tmp_path / "store"))
    for name, accuracy in (("default", 0.7), ("K=1", 0.66), ("tau=0.2", 0.71)):
        for split in (0, 1):
            cell, record = sensitivity_record(name, accuracy + 0.01 * split, split)
            place.write(cell.key, record)
    return place.address


def test_list_names_every_study_with_its_question(capsys):
    assert main(["study", "list"]) == DONE

    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(STUDY_NAMES)
    assert all(line.endswith("?") for line in lines)


def test_a_page_is_made_from_records(store, tmp_path):
    out = tmp_path / "page.md"

    assert main(["study", "page", "sensitivity", "--store", store, "-o", str(out)]) == 0

    text = out.read_text(encoding="utf-8")
    assert text.startswith("# Window and threshold of commitment\n")
    assert "0.040" in text  # what K = 1 costs
    assert "**Not found.** K matters little" in text
    assert "**Found.** tau matters little" in text
    assert "--protocol paper --table credit-g --n-real 50 --splits 2 --seed 3" in text
    assert "0.06 hours of workers" in text


def test_a_page_is_not_written_over_unless_asked(store, tmp_path, capsys):
    out = tmp_path / "page.md"
    out.write_text("mine", encoding="utf-8")
    given = ["study", "page", "sensitivity", "--store", store, "--out", str(out)]

    assert main(given) == BAD_INPUT
    assert out.read_text(encoding="utf-8") == "mine"
    assert main([*given, "--force"]) == DONE
    assert "Error" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["run", "lader", "--store", "x"], "Did you mean 'ladder'?"),
        (["run", "ladder", "--table", "titanic", "--store", "x"], "tables='titanic'"),
        (["page", "ladder", "--store", "x"], "holds no records of 'ladder' yet"),
    ],
    ids=["unknown study", "unknown table", "empty store"],
)
def test_bad_input_ends_with_a_sentence(
    tmp_path, monkeypatch, capsys, arguments, reason
):
    monkeypatch.chdir(tmp_path)

    assert main(["study", *arguments]) == BAD_INPUT
    assert reason in " ".join(capsys.readouterr().err.split())
    assert list(tmp_path.iterdir()) == []


def test_bench_shows_only_the_main_table_of_a_shared_store(store, capsys):
    assert main(["bench", "table", "main", "--store", store]) == BAD_INPUT
    assert "holds no records yet" in " ".join(capsys.readouterr().err.split())


def test_the_main_table_by_a_grid_is_bench_under_another_name(capsys):
    main(["study", "main", "--help"])
    there = capsys.readouterr().out
    main(["bench", "--help"])
    here = capsys.readouterr().out

    for name in ("run", "status", "table", "figure", "export"):
        assert name in there
        assert name in here
