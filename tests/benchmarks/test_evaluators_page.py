from pathlib import Path

import evaluators_page
import pytest
from evaluators_page import (
    OURS,
    limit_table,
    of_part,
    package_quality_table,
    package_speed_table,
    page,
    quality_table,
    speed_table,
)
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


def cells_of(line):
    return [cell.strip() for cell in line.strip("|").split("|")]


def timed(evaluator, seconds, n_context=40, **other):
    return {
        **{"part": "speed", "task": "classification", "evaluator": evaluator},
        **{"n_context": n_context, "n_features": 30, "seconds": seconds},
        **{"commit": "abc", "repeats": 3, **other},
    }


def scored(evaluator, score, seed, **other):
    return {
        **{"part": "quality", "task": "classification", "evaluator": evaluator},
        **{"table": "wine", "n_context": 50, "seed": seed, "metric": "accuracy"},
        **{"score": score, "seconds": 0.25, "commit": "abc", **other},
    }


def by_package(score, seed, members):
    record = scored("", score, seed, part="package quality", members=members)
    return {name: record[name] for name in record if name not in ("task", "evaluator")}


def test_the_least_time_of_the_newest_commit_counts():
    records = [
        timed("panel", 0.1, commit="old"),
        timed("panel", 0.4),
        timed("panel", 0.3),
        timed("panel", 0.5),
    ]

    assert [record["seconds"] for record in of_part(records, "speed")] == [0.3]


def test_times_stand_by_evaluator_and_size_above_the_limit():
    records = [timed(OURS, 0.15), timed(OURS, 1.2, 300), timed("panel", 0.0023)]

    header, _, *lines = speed_table(records, "classification").splitlines()

    assert cells_of(header) == ["", "40 x 30", "300 x 30"]
    assert [cells_of(line) for line in lines] == [
        [OURS, "150", "1,200"],
        ["panel", "2.3", "-"],
        ["*limit for tabpfn-v1 bfloat16*", "60", "250"],
    ]


def test_a_task_that_was_not_measured_has_no_table():
    assert speed_table([timed(OURS, 0.15)], "regression") == ""
    assert quality_table([scored(OURS, 0.5, 0)], "regression") == ""


def test_the_machines_limit_is_operations_over_rate():
    limit = {
        **{"part": "limit", "n_context": 40, "operations": 9e9, "rate": 90e9},
        "commit": "abc",
    }
    records = [limit, timed(OURS, 0.125), timed("panel", 0.01)]

    line = limit_table(records).splitlines()[-1]

    # 9 / 90 = 0.1 s of the 0.125 taken; 9 GFLOP in 60 ms are 150 a second.
    assert cells_of(line) == ["5 x 40 rows", "9.0", "90", "100", "125", "80 %", "150"]


def test_scores_are_means_over_seeds_with_their_cost():
    records = [
        scored(OURS, 0.75, 0),
        scored(OURS, 0.25, 1, seconds=0.75),
        scored("panel", 0.9, 0, n_context=20),
    ]

    header, _, *lines = quality_table(records, "classification").splitlines()

    assert cells_of(header) == ["", "wine 50", "wine 20", "CPU ms"]
    assert [cells_of(line) for line in lines] == [
        [OURS, "50.0", "-", "500"],
        ["panel", "-", "90.0", "-"],
    ]


def test_errors_stay_in_their_unit():
    records = [scored("Ridge", 55.25, 0, task="regression", metric="rmse")]

    line = quality_table(records, "regression").splitlines()[-1]

    assert cells_of(line)[1] == "55.2"


def test_the_package_is_shown_in_milliseconds_and_in_times_ours():
    part = {"part": "package speed"}
    records = [
        timed(OURS, 0.15) | part,
        timed(f"{OURS}, 3 permutations", 0.3) | part,
        timed("", 0.6) | part | {"members": 3},
        timed("", 1.0, 300) | part | {"members": 1},
        timed(OURS, 9.0),  # of another part, when the machine was busier
    ]

    lines = package_speed_table(records).splitlines()[2:]

    assert [cells_of(line) for line in lines] == [
        [OURS, "150", "-"],
        [f"{OURS}, 3 permutations", "300", "-"],
        ["package, 3 members", "600", "-"],
        [f"times {OURS}", "4.0", "-"],
        [f"times {OURS}, 3 permutations", "2.0", "-"],
        ["package, 1 member", "-", "1,000"],
        [f"times {OURS}", "-", "-"],
    ]


def test_accuracies_are_compared_in_the_cells_that_both_have():
    records = [
        *(scored(OURS, value, seed) for seed, value in enumerate((0.9, 0.7, 0.1))),
        *(by_package(value, seed, 1) for seed, value in enumerate((0.8, 0.7))),
        scored("panel", 0.5, 0),
    ]

    (line,) = package_quality_table(records).splitlines()[2:]

    assert cells_of(line) == [OURS, "80.0", "1", "75.0", "+5.00 ± 5.00", "2"]


@pytest.mark.parametrize("records", [[], [by_package(0.5, 0, 1)]])
def test_without_a_pair_there_is_no_comparison(records):
    assert package_quality_table(records) == ""
