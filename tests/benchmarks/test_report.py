import pytest
import report
from backbone import LIMITS
from records import append_records
from report import page


@pytest.fixture
def usefulness(make_record):
    return [
        make_record("jitter", 0.5),
        make_record("all redrawn", 0.625, config={"width": 64}),
    ]


@pytest.fixture
def fidelity():
    return [
        {
            **{"table": "credit-g", "method": "backbone", "seed": 3, "config": {}},
            **{"n_train": 5000, "n_held_out": 500, "seconds": 1.0},
            **{"shape_error": 0.123, "trend_error": 0.2},
            **{"exact_copies": 0.0, "near_copies": 0.01},
            **{"commit": "def", "date": "2026-01-03", "machine": "a processor"},
        }
    ]


@pytest.fixture
def speed():
    seconds = {"default": dict.fromkeys(LIMITS, 0.5), "paper": dict.fromkeys(LIMITS, 3)}
    took = {"peak_gb": 1.25, "seconds": 90.0, "n_steps": 4000}
    return [
        {**seconds, "timed_steps": 40, "repeats": 3, "quick": False, "memory": took}
    ]


def test_the_page_shows_what_was_measured_and_how(usefulness, fidelity, speed):
    text = page(usefulness, fidelity, speed)

    assert "62.5" in text
    assert "+12.5" in text
    assert "12.3" in text
    assert "credit-g: 5,000 training and 500 held-out rows." in text
    assert "1.25 GB" in text
    for command in (
        "usefulness.py --tables credit-g --n-real 20 --splits 1 --seed 0"
        ' --config "width=64"`',
        "fidelity.py --tables credit-g --seeds 3`",
        "backbone.py --repeats 3`",
    ):
        assert f"- command: `python benchmarks/{command}" in text
    for line in ("- commit: abc", "- date: 2026-01-02", "- machine: a processor"):
        assert line in text.splitlines()


def test_records_of_several_commits_name_them_all(make_record):
    records = [
        make_record("real", 0.5),
        make_record("real", 0.5, split=1, commit="abd+"),
    ]

    assert "- commit: abc, abd+" in page(records, [], []).splitlines()


def test_what_was_not_measured_has_no_section(fidelity):
    text = page([], fidelity, [])

    assert "## Fidelity" in text
    assert "## Usefulness" not in text
    assert "## Speed" not in text
    assert "## Notes" not in text


def test_notes_end_the_page(tmp_path, usefulness):
    file, notes, out = (tmp_path / name for name in ("u.jsonl", "n.md", "d/out.md"))
    append_records(file, usefulness)
    notes.write_text("It helps.\n", encoding="utf-8")
    absent = str(tmp_path / "absent")

    report.main(
        [
            *("--usefulness", str(file), "--fidelity", absent, "--speed", absent),
            *("--notes", str(notes), "--out", str(out)),
        ]
    )

    assert out.read_text(encoding="utf-8").endswith("\n## Notes\n\nIt helps.\n")


def test_without_any_measurement_no_page_is_written(tmp_path):
    absent, out = str(tmp_path / "absent"), tmp_path / "out.md"
    files = ("--usefulness", absent, "--fidelity", absent, "--speed", absent)

    with pytest.raises(SystemExit, match="no measurements"):
        report.main([*files, "--out", str(out)])

    assert not out.exists()
