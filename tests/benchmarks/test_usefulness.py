import json

import numpy as np
import pytest
import usefulness
from cells import Cell
from usefulness import (
    METHODS,
    gain_table,
    half_redrawn,
    measure,
    paired_gains,
    pending,
    score_table,
    summarise,
)

from tabtap.config import DiffusionConfig
from tabtap.diffusion import fit_backbone

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
    monkeypatch.setattr(usefulness, "load_table", lambda _: (birds, None))
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


def cells_of(line):
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_gains_pair_equal_splits_and_leave_out_what_has_no_partner(make_record):
    records = [
        make_record("all redrawn", 0.6, split=0),
        make_record("all redrawn", 0.9, split=1),
        make_record("jitter", 0.7, split=1),
        make_record("jitter", 0.5, split=2),
        make_record("jitter", 0.1, split=0, seed=1),
    ]

    gains = paired_gains(records, "all redrawn", "jitter", "accuracy")

    assert gains == pytest.approx([20.0])


def test_a_smaller_rmse_is_a_gain(make_record):
    records = [
        make_record("all redrawn", 0.8, metric="rmse"),
        make_record("jitter", 1.0, metric="rmse"),
    ]

    assert paired_gains(records, "all redrawn", "jitter", "rmse") == pytest.approx([20])


def test_scores_are_averaged_over_splits_then_over_classification_tables(make_record):
    records = [
        make_record("jitter", 0.4, table="credit-g"),
        make_record("real", 0.2, table="credit-g", split=0),
        make_record("real", 0.4, table="credit-g", split=1),
        make_record("real", 0.5, table="MiceProtein"),
        make_record("real", 1.25, table="insurance", metric="rmse"),
    ]

    header, _, *lines = score_table(records).splitlines()

    assert cells_of(header) == ["", "real", "jitter"]
    assert [cells_of(line) for line in lines] == [
        ["MiceProtein", "50.0", "-"],
        ["credit-g", "30.0", "40.0"],
        ["insurance (RMSE)", "1.250", "-"],
        ["mean of accuracies", "40.0", "-"],
    ]


def test_gains_over_each_rival_carry_their_error_and_number_of_cells(make_record):
    records = [
        make_record("all redrawn", 0.6, split=0),
        make_record("all redrawn", 0.8, split=1),
        make_record("jitter", 0.5, split=0),
        make_record("jitter", 0.5, split=1),
        make_record("smote", 0.7, split=0),
    ]

    line = gain_table(records).splitlines()[-1]

    assert cells_of(line) == [
        *("all redrawn", "points", "-", "+20.0 ± 10.0", "-10.0", "2"),
    ]


def test_the_summary_has_a_part_for_each_number_of_real_rows(make_record):
    records = [make_record("real", 0.5, n_real=50), make_record("real", 0.4, n_real=20)]

    text = summarise(records)

    assert text.index("n_real = 20") < text.index("n_real = 50")
