import numpy as np
import unseen
from unseen import METHODS, TABLES, cells, load, page, work

from tabtap.compare.store import Cell
from tabtap.study import cell as study_cell


def test_every_method_meets_every_table_at_both_sizes():
    planned = cells(splits=2, seed=5)

    assert len({cell.key for cell in planned}) == len(planned)
    assert len(planned) == 2 * 2 * len(TABLES) * len(METHODS)
    assert {cell.terms.seed for cell in planned} == {5}


def test_digits_are_classes_and_diabetes_is_a_number():
    assert load("digits").schema.target.task == "classification"
    assert load("diabetes").schema.target.task == "regression"


def test_a_cell_is_scored_on_rows_that_were_not_given(monkeypatch):
    seen = {}

    class Spy:
        name = "Copies"

        def make(self, train, n, _rng, _watch):
            seen["rows"] = train
            return train.take(np.zeros(n, dtype=int))

    monkeypatch.setattr(study_cell, "method_named", lambda _: Spy())

    record = work(Cell(dataset="iris", n_real=20, split=0, method="Copies"))

    assert len(seen["rows"]) == 20
    assert record["n_rows"] == 500
    assert record["failure"] is None
    assert len(record["scores"]) == 6
    assert all(0 <= scores["accuracy"] <= 1 for scores in record["scores"].values())


def test_the_page_shows_gains_and_how_they_were_measured(monkeypatch, tmp_path):
    monkeypatch.setattr(unseen, "NOTES", tmp_path / "absent.md")
    records = [
        {
            "cell": Cell(dataset="iris", n_real=20, split=0, method=method).written(),
            "scores": {"LR": {"accuracy": accuracy, "macro_f1": 0.5}},
        }
        for method, accuracy in (("Real", 0.625), ("TAP", 0.75))
    ]

    text = page(records, "python benchmarks/unseen.py --splits 1 --seed 0")

    assert "+12.5" in text
    assert "- command: `python benchmarks/unseen.py --splits 1 --seed 0`" in text
