import json

import numpy as np
import pytest
import usefulness
from usefulness import METHODS, Cell, half_redrawn, measure, pending

from tabtap.config import DiffusionConfig
from tabtap.diffusion import fit_backbone
from tabtap.rng import stream

QUICK = {"n_steps": 10, "width": 16}


@pytest.fixture
def few_rows(monkeypatch):
    monkeypatch.setattr(usefulness, "N_ADDED", 12)


@pytest.fixture
def cell():
    return Cell(table="birds", n_real=20, split=1, seed=0)


@pytest.fixture(scope="module")
def backbone(birds):
    rng = np.random.default_rng(0)
    return fit_backbone(birds, rng=rng, config=DiffusionConfig(**QUICK))


def test_half_redrawn_rows_keep_about_half_of_their_cells(birds, backbone):
    rows = half_redrawn(backbone, birds, 60, np.random.default_rng(0))

    anchors = birds.take(rows.origin)
    place = birds.schema.numeric[0]
    kept = (rows.cells[place] == anchors.cells[place]).mean()
    assert 0.3 < kept < 0.8  # a redrawn value may also be the old one
    assert np.array_equal(rows.target, anchors.target)


@pytest.mark.usefixtures("few_rows")
def test_every_method_is_scored_by_every_predictor(birds, cell):
    records = measure(cell, birds, METHODS, QUICK)

    assert [record["method"] for record in records] == list(METHODS)
    for record in json.loads(json.dumps(records)):
        accuracies = [score["accuracy"] for score in record["scores"].values()]
        assert len(accuracies) == 6
        assert record["mean"] == pytest.approx(np.mean(accuracies))
    assert [record["config"] for record in records] == [{}] * 4 + [QUICK] * 2


@pytest.mark.usefixtures("few_rows")
def test_a_method_scores_the_same_in_any_company(birds, cell):
    together = measure(cell, birds, ["jitter", "all redrawn", "half redrawn"], QUICK)
    (alone,) = measure(cell, birds, ["half redrawn"], QUICK)

    assert alone["scores"] == together[-1]["scores"]


@pytest.mark.usefixtures("few_rows")
def test_regression_is_scored_by_its_rmse(sums, cell):
    (record,) = measure(cell, sums, ["all redrawn"], QUICK)

    errors = [score["rmse"] for score in record["scores"].values()]
    assert record["metric"] == "rmse"
    assert record["mean"] == pytest.approx(np.mean(errors))


def test_a_cell_has_a_stream_for_each_purpose_of_its_own(cell):
    same = stream(0, "jitter", "birds", 20, 1).random()

    assert cell.stream("jitter").random() == same
    assert cell.stream("smote").random() != same


def test_only_what_no_record_has_is_left_to_measure(make_record):
    cells = [
        Cell(table="credit-g", n_real=20, split=split, seed=0) for split in range(2)
    ]
    methods = ["jitter", "all redrawn"]
    known = [
        make_record("jitter", 0.5, split=0),
        make_record("all redrawn", 0.5, split=0, config={"width": 16}),
        make_record("jitter", 0.5, split=1),
        make_record("all redrawn", 0.5, split=1),
    ]

    left = list(pending(cells, methods, {"width": 16}, known))

    assert left == [(cells[1], ["all redrawn"])]


@pytest.mark.usefixtures("few_rows")
def test_a_second_run_adds_what_is_new_and_nothing_else(
    birds, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(usefulness, "load_table", lambda _: birds)
    file = tmp_path / "out.jsonl"
    options = [*("--tables", "credit-g", "--n-real", "20", "--out", str(file))]
    options += ["--methods", "real", "--splits"]

    usefulness.main([*options, "1"])
    first = file.read_text(encoding="utf-8")
    usefulness.main([*options, "2"])
    usefulness.main(["--summary", str(file)])

    second = file.read_text(encoding="utf-8")
    assert first.count("\n") == 1
    assert second.startswith(first)
    assert second.count("\n") == 2
    assert capsys.readouterr().out.count("n_real = 20") == 3
