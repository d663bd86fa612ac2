from pathlib import Path

import evaluators_page
import pytest
from evaluators_page import page
from records import append_records


@pytest.fixture
def records():
    mark = {"commit": "abc", "date": "2026-01-02", "machine": "a processor"}
    judge = {"task": "classification", "evaluator": "tabpfn-v1 float32"}
    size = {"n_context": 40, "n_features": 30}
    score = {"table": "wine", "n_context": 50, "seed": 4, "score": 0.625}
    kinds = [
        {"part": "limit", "n_context": 40, "operations": 9e9, "rate": 9e10}
        | {"instructions": ["avx2", "fma"]},
        {"part": "speed", "seconds": 0.15, "repeats": 5} | judge | size,
        {"part": "absent", "why": "it is not installed."} | judge,
        {"part": "quality", "metric": "accuracy", "seconds": 0.5} | judge | score,
        {"part": "package speed", "members": 3, "seconds": 0.6, "repeats": 5} | size,
        {"part": "package speed", "seconds": 0.15, "repeats": 5} | judge | size,
        {"part": "package quality", "members": 3, "seconds": 1.0} | score,
    ]
    return [kind | mark for kind in kinds]


def test_the_page_shows_what_was_measured_and_how(records):
    text = page(records)

    for figure in ("150", "67 %", "62.5", "600", "4.0", "+0.00"):
        assert figure in text
    assert "- tabpfn-v1 float32 was not measured: it is not installed." in text
    assert "Instructions of the CPU: avx2, fma." in text
    for options in (
        "--parts speed --repeats 5`",
        "--parts quality --seeds 5`",
        "--parts package --repeats 5 --seeds 5 --package-python PATH`",
    ):
        assert f"- command: `python benchmarks/evaluators.py {options}" in text
    for line in ("- commit: abc", "- date: 2026-01-02", "- machine: a processor"):
        assert line in text.splitlines()


def test_the_page_does_not_tell_whose_machine_it_was(records):
    home = str(Path.home())
    absent = {**records[2], "why": f"{home}/weights is not there."}

    text = page([*records[:2], absent])

    assert home not in text
    assert "~/weights is not there." in text


def test_what_was_not_measured_has_no_section(records):
    text = page([record for record in records if record["part"] == "quality"])

    assert "## Quality" in text
    for heading in ("## One", "## How far", "## Beside", "## Notes"):
        assert heading not in text


def test_notes_end_the_page(tmp_path, records):
    file, notes, out = (tmp_path / name for name in ("e.jsonl", "n.md", "d/out.md"))
    append_records(file, records)
    notes.write_text("It is quick.\n", encoding="utf-8")

    evaluators_page.main(
        ["--records", str(file), "--notes", str(notes), "--out", str(out)]
    )

    assert out.read_text(encoding="utf-8").endswith("\n## Notes\n\nIt is quick.\n")


def test_without_any_measurement_no_page_is_written(tmp_path):
    absent, out = str(tmp_path / "absent"), tmp_path / "out.md"

    with pytest.raises(SystemExit, match="no measurements"):
        evaluators_page.main(["--records", absent, "--out", str(out)])

    assert not out.exists()
