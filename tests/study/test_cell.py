"""The work of one cell, on a table that stands in for one of the study's."""

import numpy as np
import pytest

from tabtap.compare.store import Cell, Terms
from tabtap.datasets import load_penguins
from tabtap.errors import UserInputError
from tabtap.stopwatch import Stopwatch
from tabtap.study import cell as work
from tabtap.table import read_frame

TERMS = Terms(budget=40, seed=7, predictors=("LR", "KNN"))


@pytest.fixture(autouse=True)
def penguins(monkeypatch):
    frame = load_penguins().dropna()
    birds = read_frame(frame, target="species")
    groups = np.arange(len(birds)) // 4
    monkeypatch.setattr(work, "load_table", lambda _: (birds, groups))


def cell(method="SMOTE", **more):
    given = {"dataset": "credit-g", "n_real": 20, "split": 1, "terms": TERMS, **more}
    return Cell(method=method, **given)


def test_a_record_describes_itself():
    record = work.run_cell(cell())

    assert record["cell"] == cell().written()
    assert record["method"] == {"name": "SMOTE"}
    assert record["task"] == "classification"
    assert (record["n_rows"], record["n_train"]) == (40, 20)
    assert set(record["scores"]) == {"LR", "KNN"}
    assert record["failure"] is None
    assert {"method", "score"} <= set(record["costs"]["cpu_seconds"])
    assert record["costs"]["peak_bytes"]["method"] > 10_000_000
    assert record["versions"]["python"]


def test_equal_cells_have_equal_scores_and_other_splits_others():
    first, again = work.run_cell(cell("Jitter")), work.run_cell(cell("Jitter"))
    other = work.run_cell(cell("Jitter", split=2))

    assert first["scores"] == again["scores"]
    assert first["scores"] != other["scores"]


def test_real_rows_alone_add_nothing():
    record = work.run_cell(cell("Real"))

    assert record["n_rows"] == 0
    assert record["failure"] is None


@pytest.mark.parametrize(
    ("error", "traced"),
    [(UserInputError("too few"), False), (ZeroDivisionError(), True)],
)
def test_a_method_that_fails_is_scored_like_real_rows_and_says_why(
    monkeypatch, error, traced
):
    class Broken:
        name = "Broken"

        def make(self, *_):
            raise error

    real = work.run_cell(cell("Real"))
    monkeypatch.setattr(work, "method_named", lambda _: Broken())

    record = work.run_cell(cell("SMOTE"))

    assert record["scores"] == real["scores"]
    assert record["failure"]["reason"] == (str(error) or "ZeroDivisionError")
    assert ("Traceback" in record["failure"]["traceback"]) is traced


def test_all_methods_of_a_cell_are_given_the_same_rows_and_luck(monkeypatch):
    seen = []

    class Witness:
        name = "Witness"

        def make(self, train, n, rng, watch):
            seen.append((train.target.tolist(), n, rng.random(), type(watch)))
            return train.empty()

    monkeypatch.setattr(work, "method_named", lambda _: Witness())

    work.run_cell(cell("SMOTE"))
    work.run_cell(cell("TAP"))

    assert seen[0] == seen[1]
    assert seen[0][1] == 40
    assert seen[0][3] is Stopwatch


def test_the_literal_variant_takes_validation_rows_out_of_the_real_ones():
    terms = Terms(budget=0, variant="literal", predictors=("KNN",))

    assert work.run_cell(cell("Real", terms=terms))["n_train"] == 16


def test_the_grouped_variant_needs_groups(monkeypatch):
    terms = Terms(budget=0, variant="grouped", predictors=("KNN",))
    grouped = work.run_cell(cell("Real", terms=terms))
    birds, _ = work.load_table("credit-g")
    monkeypatch.setattr(work, "load_table", lambda _: (birds, None))

    assert grouped["n_train"] == 20
    with pytest.raises(UserInputError, match="needs to know which rows belong"):
        work.run_cell(cell("Real", terms=terms))
