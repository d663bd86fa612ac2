import pytest
import study_report
from calibration_page import confidence_table, least_safe_confidence
from records import append_records


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


def table_lines(checks):
    return confidence_table(checks).splitlines()[2:]


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


def test_a_confidence_is_safe_when_it_and_all_above_keep_harm_rare(make_found):
    bad = {"score": -0.1, "loss": -0.1}
    harmful = {"truth": {"over_real": bad, "over_incumbent": bad}}
    # Differences of 0.1 and 0.3: twice their error above 0.
    after = {"real": [0, 0], "before": [0, 0], "after": [0.2, 0.21]}
    checks = [
        make_found("check", "default", **harmful),
        make_found("check", "default", evidence=after),  # sure, and it helps
    ]

    safe = least_safe_confidence(checks)

    assert safe == 0.8  # at 0.7, half of 0.3 is left: t(1) at 0.85 is 1.96, under 2
    shares = [line.split("|")[4].strip() for line in table_lines(checks)]
    assert shares == ["50", "50", "50", "0", "0", "0", "0", "-"]


def test_where_nothing_is_committed_no_confidence_is_shown_to_be_safe(make_found):
    nothing = {"real": [0, 0], "before": [0, 0], "after": [0.2, -0.2]}

    found = least_safe_confidence([make_found("check", "default", evidence=nothing)])

    assert found is None
