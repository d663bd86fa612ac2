import json

import pytest
import study
from cells import Cell
from records import append_records, read_records
from study import METHODS, file_of, finished, measure_cell, parts_of, pending
from study_cell import RUNS

from tabtap.config import AugmentConfig, CommitConfig, PolicyConfig, Preset

QUICK = {"n_steps": 5, "width": 16}
BRIEF = Preset(
    augment=AugmentConfig(
        n_steps=2,
        policy=PolicyConfig(updates_per_step=0),
        commit=CommitConfig(window_length=1, patience=2),
    ),
    evaluators={"classification": "holdout", "regression": "holdout"},
)


@pytest.fixture
def cell():
    return Cell(table="credit-g", n_real=50, split=0, seed=0)


def record(part, number, *, last, value=0):
    return {"part": part, "number": number, "last": last, "value": value}


def test_a_part_is_done_when_its_last_record_is_there():
    known = [
        record("real", 0, last=True),
        record("default", 0, last=False),
        record("poison", 0, last=False),
        record("poison", 1, last=True),
    ]

    assert pending(known, ["real", "default", "poison"]) == ["default"]


def test_what_a_stopped_run_left_of_a_part_is_not_counted():
    known = [
        record("default", 0, last=False, value=1),
        record("default", 0, last=False, value=2),
        record("default", 1, last=True, value=2),
        record("fast", 0, last=False, value=3),
    ]

    assert [found["value"] for found in finished(known)] == [2, 2]


def test_poison_is_for_cells_in_which_the_truth_is_asked(cell):
    small = Cell(table="credit-g", n_real=20, split=0, seed=0)

    assert parts_of(cell, ["real", "poison"]) == ["real", "poison"]
    assert parts_of(small, ["real", "poison"]) == ["real"]


def test_other_settings_are_another_file(cell, tmp_path):
    names = {file_of(tmp_path, cell, s).name for s in ({}, {"width": 8}, {"width": 9})}

    assert len(names) == 3


@pytest.mark.filterwarnings("ignore::tabtap.errors.EvaluatorFallbackWarning")
def test_a_cell_is_measured_part_by_part(birds, cell, monkeypatch):
    monkeypatch.setattr(study, "BUDGET", 30)
    monkeypatch.setattr(study, "RUNS", {"default": BRIEF})
    parts = ["real", "one shot", "random inpainting", "default"]

    kept = list(measure_cell(cell, birds, parts, QUICK))

    records = json.loads(json.dumps([r for part in kept for r in part]))
    assert [part[-1]["part"] for part in kept] == parts
    assert [part[-1]["config"] for part in kept] == [{}, QUICK, QUICK, QUICK]
    assert [part[-1]["n_added"] for part in kept[:3]] == [0, 30, 30]
    checks = [r for r in records if r["kind"] == "check"]
    assert len(checks) == kept[-1][-1]["checks"]
    assert set(checks[0]["truth"]) == {"over_real", "over_incumbent"}
    assert len(checks[0]["evidence"]["after"]) == 50
    assert kept[-1][-1]["verdict"] in ("augment", "no_gain")


def test_a_second_run_goes_on_where_the_first_was_stopped(
    birds, cell, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(study, "load_table", lambda _: (birds, None))
    monkeypatch.setattr(study, "BUDGET", 12)
    options = [*("--tables", "credit-g", "--n-real", "50", "--splits", "1")]
    options += ["--out", str(tmp_path), "--parts", "real"]

    study.main(options)
    (file,) = tmp_path.glob("*.jsonl")
    append_records(file, [record("copies", 0, last=False)])
    study.main([*options, "copies"])
    study.main([*options, "copies"])

    found = finished(read_records(file_of(tmp_path, cell, {})))
    assert [r["part"] for r in found] == ["real", "copies"]
    assert [r["n_added"] for r in found] == [0, 12]
    assert "0 of 1 cells to measure" in capsys.readouterr().out


def test_every_run_is_a_rung_and_the_papers_is_its_protocol():
    assert set(RUNS) <= set(METHODS)
    assert RUNS["paper loop"].augment.commit.protocol == "paper"
    assert RUNS["default"].augment.commit.protocol == "crossfit"
