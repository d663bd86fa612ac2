import pytest
import study_report
from records import append_records
from study_report import cost_table, ladder_table, utility_page, worst_table


@pytest.fixture
def make_found():
    """Build any record of the study; only what a test is about need be given."""

    def make(kind, part, **other):
        bound = {"gain": 0.2, "margin": 0.1, "confidence": 0.95}
        gain = {"score": 0.15, "loss": 0.3}
        record = {
            **{"kind": kind, "part": part, "method": part, "number": 0, "last": True},
            **{"table": "credit-g", "n_real": 50, "split": 0, "seed": 0, "config": {}},
            **{"metric": "accuracy", "mean": 0.5, "n_added": 500},
            **{"seconds": {"fit": 1.0, "run": 2.0}, "commit": "abc"},
            **{"protocol": "crossfit", "look": 1, "first": True, "committed": True},
            **{"over_real": bound, "over_incumbent": bound | {"confidence": 0.5}},
            "truth": {"over_real": gain, "over_incumbent": gain},
            "evidence": {"real": [0, 0], "before": [0, 0], "after": [0.1, 0.3]},
        }
        return {**record, **other}

    return make


def test_both_pages_are_computed_from_the_folder(make_found, tmp_path, capsys):
    folder, out = tmp_path / "study", tmp_path / "docs"
    append_records(
        folder / "one.jsonl",
        [
            make_found("rung", "real"),
            make_found("check", "default", last=False),
            make_found("rung", "default", mean=0.625, number=1),
            make_found("poison", "poison", pool="clean", last=False),
            make_found("poison", "poison", pool="noise", number=1),
            make_found("rung", "copies", last=False),  # cut off
        ],
    )
    (tmp_path / "docs").mkdir()
    (out / "utility_notes.md").write_text("It helps.\n", encoding="utf-8")

    study_report.main(
        ["--study", str(folder), "--speed", str(tmp_path / "no"), "--out", str(out)]
    )

    utility = (out / "utility.md").read_text(encoding="utf-8")
    assert "+12.5" in utility
    assert "copies |" not in utility
    assert "--parts real default poison`" in utility
    assert utility.endswith("## Notes\n\nIt helps.\n")
    calibration = (out / "calibration.md").read_text(encoding="utf-8")
    assert "(calibration.svg)" in calibration
    assert "- commit: abc" in calibration
    assert "all poisoned" in calibration
    assert (out / "calibration.svg").read_text(encoding="utf-8").startswith("<svg")
    assert capsys.readouterr().out.count("Written") == 2


def test_without_measurements_no_page_is_written(tmp_path):
    with pytest.raises(SystemExit, match="no measurements"):
        study_report.main(["--study", str(tmp_path), "--out", str(tmp_path / "docs")])

    assert not (tmp_path / "docs").exists()


def cells_of(line):
    return [cell.strip() for cell in line.strip("|").split("|")]


def lines_of(text):
    return [cells_of(line) for line in text.splitlines()[2:]]


@pytest.fixture
def make_rung(make_record):
    def make(method, mean, **other):
        spent = {"fit": 20.0, "run": 30.0, "score": 1.0}
        more = {"seconds": spent, "n_added": 500, "kind": "rung"}
        return make_record(method, mean, **(more | other))

    return make


@pytest.fixture
def ladder(make_rung):
    return [
        make_rung("real", 0.5, split=0),
        make_rung("real", 0.5, split=1),
        make_rung("copies", 0.52, split=0),
        make_rung("copies", 0.44, split=1),
        make_rung("default", 0.6, split=0, verdict="augment", stop="enough"),
        make_rung("default", 0.64, split=1, verdict="no_gain", stop="enough"),
    ]


def test_the_ladder_shows_gains_over_real_and_of_the_default_over_each(ladder):
    assert lines_of(ladder_table(ladder, 50)) == [
        ["real", "points", "-", "+12.0 ± 2.0", "2"],
        ["copies", "points", "-2.0 ± 4.0", "+14.0 ± 6.0", "2"],
        ["default", "points", "+12.0 ± 2.0", "-", "2"],
        ["(TAP as published)", "points", "+5.8", "-", "-"],
    ]


def test_the_worst_cell_and_the_worst_table_are_named(ladder):
    assert lines_of(worst_table(ladder)) == [
        ["copies", "points", "1 of 2", "1 of 2", "-6.0", "-2.0"],
        ["default", "points", "0 of 2", "0 of 2", "+10.0", "+12.0"],
    ]


def test_a_larger_rmse_is_below_real(make_rung):
    records = [
        make_rung("real", 1.0, metric="rmse", table="insurance"),
        make_rung("default", 1.1, metric="rmse", table="insurance"),
    ]

    (line,) = lines_of(worst_table(records))

    assert line == ["default", "% of RMSE", "1 of 1", "1 of 1", "-10.0", "-10.0"]


def test_rows_verdicts_and_seconds_stand_beside_the_scores(ladder):
    *_, line = lines_of(cost_table(ladder))

    assert line == ["default", "500", "1 of 2", "30.0", "20.0", "enough: 2"]


def test_the_page_has_a_section_for_each_number_of_real_rows(ladder, make_rung):
    text = utility_page([*ladder, make_rung("real", 0.3, n_real=100)])

    assert text.index("## 20 real rows") < text.index("## 100 real rows")
