import json

import answers
import numpy as np
import pytest
from answers import (
    GRIDS,
    GROUPS,
    PLAIN,
    TWICE,
    Grid,
    attempted,
    command_of,
    identity,
    is_of_present_rule,
    main,
    measurable,
    noise,
    noise_frame,
)
from records import read_records


@pytest.fixture
def no_folder(monkeypatch):
    monkeypatch.delenv("TABTAP_DATA", raising=False)


def test_the_label_has_nothing_to_do_with_the_features():
    frame = noise(20_000, seed=0)

    is_a = frame["y"] == "a"
    assert is_a.mean() == pytest.approx(0.5, abs=0.02)
    for name in ("x0", "x1", "x2", "x3"):
        column = frame[name]
        assert column[is_a].mean() == pytest.approx(column[~is_a].mean(), abs=0.05)
    reds = frame.groupby("y")["c"].apply(lambda part: (part == "red").mean())
    assert np.ptp(reds) < 0.03


@pytest.mark.slow
@pytest.mark.usefixtures("no_folder")
def test_a_tiny_grid_is_measured_once_and_written_as_a_page(tmp_path, capsys):
    main(["--quick", "--out", str(tmp_path)])
    first = capsys.readouterr().out
    main(["--quick", "--out", str(tmp_path)])
    second = capsys.readouterr().out

    assert "follow: 2 of 2 to measure" in first
    assert "follow: 0 of 2 to measure" in second
    poisoned = read_records(tmp_path / "poison.jsonl")
    assert [len(record["pools"]) for record in poisoned] == [5, 5]
    records = read_records(tmp_path / "follow.jsonl")
    assert [r["verdict"] for r in records] == ["augment", "augment"]
    for record in json.loads(json.dumps(records)):
        assert record["promised"] == record["best_alone"] == "boosting"
        assert set(record["levels"]) == {"alone", "new rows", "copies", "jitter"}
        assert record["changes"]["new rows"]["followed"]["change"] > 0
        assert all(check["truth"] is not None for check in record["checks"])
        # The last pool let in is what was delivered.
        passed = [check for check in record["checks"] if check["committed"]]
        assert passed[-1]["n_rows"] == record["n_added"]
        last = passed[-1]["truth"]
        assert last == pytest.approx(record["changes"]["new rows"]["followed"])
    assert len(read_records(tmp_path / "noise.jsonl")) == 3
    (runs, _) = [r["runs"] for r in read_records(tmp_path / "stable.jsonl")]
    assert [run["budget"] for run in runs] == [10, 20]
    page = (tmp_path / "answers.md").read_text(encoding="utf-8")
    assert page.count("- command: `python benchmarks/answers.py") == 6


def test_the_grid_is_the_one_that_was_asked_for():
    assert GRIDS["follow"].n_real == (20, 50, 100)
    assert len(GRIDS["follow"].tables) == 7 + 5 + 3 + 8
    assert len(GRIDS["follow"].splits) == 3
    assert len(GRIDS["noise"].seeds) == 100
    assert (len(GRIDS["stable"].tables), len(GRIDS["stable"].seeds)) == (12, 5)
    assert GRIDS["stable"].budgets == (30, 50, 150, 500)


@pytest.mark.parametrize("kind", GRIDS)
def test_no_two_headings_are_the_same_measurement(kind):
    headings = list(GRIDS[kind].headings(kind))

    assert len({identity(heading) for heading in headings}) == len(headings)


@pytest.mark.usefixtures("no_folder")
def test_what_cannot_be_measured_is_left_out_with_a_note(capsys):
    grid = Grid(tables=("iris", "no such table"), n_real=(50, 100), seeds=(0,))

    left = measurable(list(grid.headings("follow")))

    assert [(h["table"], h["n_real"]) for h in left] == [("iris", 50)]
    said = capsys.readouterr().out
    assert "iris with 100 real rows. 75 rows are left" in said
    assert "No table is called 'no such table'" in said


def test_a_failure_is_written_down_and_measured_again(monkeypatch):
    (heading,) = Grid(tables=("iris",), seeds=(0,)).headings("follow")

    def fail(_):
        raise ValueError("no luck")

    monkeypatch.setitem(answers.MEASURES, "follow", fail)
    record = attempted(heading)

    assert record["failure"] == "ValueError: no luck"
    assert "Traceback" in record["traceback"]
    assert identity(record) != identity(heading)


def test_the_command_of_records_asks_for_them_again():
    grid = Grid(tables=("iris", "wine"), n_real=(20, 50), splits=(3, 4, 6))
    records = list(grid.headings("follow"))

    (command,) = command_of("follow", records)

    options = answers._options(command.split()[2:])
    again = answers._asked_for(GRIDS["follow"], options)
    wanted = {identity(heading) for heading in records}
    assert {identity(heading) for heading in again.headings("follow")} == wanted


def test_noise_comes_plain_twice_and_in_groups():
    plain, twice, grouped = (
        noise_frame(kind, 20, 3) for kind in (PLAIN, TWICE, GROUPS)
    )

    assert (len(plain), len(twice), len(grouped)) == (20, 40, 20)
    assert twice.duplicated().sum() == 20
    assert grouped.groupby("g")["y"].nunique().eq(1).all()
    assert grouped["g"].nunique() == 5


def test_every_noise_in_groups_has_both_labels():
    labels = [noise_frame(GROUPS, 20, seed)["y"].nunique() for seed in range(100)]

    assert np.unique(labels).tolist() == [2]


def test_several_learners_are_named_by_turns_whatever_else_is_asked_for():
    several = Grid(learner="linear,forest,boosting", splits=(0, 1), n_real=(20, 50))
    few = Grid(learner="linear,forest,boosting", splits=(1,), n_real=(50,))

    found = {
        (h["table"], h["n_real"], h["split"], h["seed"]): h["learner"]
        for h in several.headings("follow")
    }

    assert set(found.values()) == {"linear", "forest", "boosting"}
    for h in few.headings("follow"):
        assert found[h["table"], h["n_real"], h["split"], h["seed"]] == h["learner"]
    (command,) = command_of("follow", list(few.headings("follow")))
    assert command.endswith("--learner linear,forest,boosting")


def test_runs_of_an_earlier_rule_are_told_from_those_of_the_present_one():
    def run(task, commit):
        return {"task": task, "commit": commit}

    assert not is_of_present_rule(run("regression", "59b1220cc009"))
    assert is_of_present_rule(run("classification", "59b1220cc009"))
    assert not is_of_present_rule(run("classification", "1a9caae5a92e"))
    assert is_of_present_rule({"commit": "59b1220cc009", "failure": "no task yet"})
