"""Files and runs: taken, queued, stopped, resumed, found again and deleted."""

import json
import re
import time
from pathlib import Path

import pytest

from tabtap.errors import UserInputError
from tabtap.serve.asked import (
    KINDS,
    LEARNERS,
    PRESETS,
    TASKS,
    run_arguments,
    shown_name,
    table_arguments,
)
from tabtap.serve.jobs import Jobs, Limits

HERE = Path(__file__).parent
NAMES = ["a", "b", "-c", "d=e"]
WEEK = 7 * 86_400.0


def take(jobs, content=b"a,b\n1,2\n", name="visits.csv"):
    upload, path = jobs.new_place(name)
    path.write_bytes(content)
    return jobs.take(upload).id


def asked(jobs, file, learner="linear", **more):
    return jobs.ask(file, {"target": "b", "learner": learner, **more}).id


# ---- What may be asked for.


def test_what_is_said_of_a_table_becomes_options():
    options = {
        "target": "-c",
        "groups": "d=e",
        "task": "regression",
        "kinds": {"a": "ordered category"},
        "cells": {"a": {"decimal": ",", "date_format": "%d.%m.%Y"}},
        "learner": "forest",
    }

    assert table_arguments(options, NAMES) == [
        "--target=-c", "--groups=d=e", "--task=regression", "--kind=a=ordered category",
        "--decimal=a=,", "--date-format=a=%d.%m.%Y",
    ]  # fmt: skip


def test_what_is_said_of_a_run_becomes_options():
    options = {
        "target": "b",
        "learner": "forest",
        "scoring": "roc_auc",
        "budget": "auto",
    }
    options |= {"preset": "fast", "seed": "3", "time_budget": "5m"}

    assert run_arguments(options, NAMES) == [
        "--target=b", "--learner=forest", "--preset=fast", "--mixture=real",
        "--budget=auto", "--seed=3", "--scoring=roc_auc", "--time-budget=5m",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"target": ""}, "Choose the column"),
        ({"target": "z"}, "no column 'z'"),
        ({"target": ["b"]}, "write a text"),
        ({"target": "b\x00"}, "write a text"),
        ({"groups": "z"}, "no column 'z'"),
        ({"kinds": {"a": "number"}}, "kind 'number' is not known"),
        ({"kinds": ["a"]}, "name columns"),
        ({"kinds": {"a": 3}}, "write a text"),
        ({"cells": {"a": {"sheet": "x"}}}, "'sheet' is not known"),
        ({"cells": {"a": "x"}}, "name columns"),
        ({"learner": "os:system"}, "learner 'os:system' is not known"),
        ({"scoring": "--out=x"}, "yardstick '--out=x' cannot be used"),
        ({"budget": "-1"}, "number of rows '-1' cannot be used"),
        ({"seed": "1 --force"}, "seed '1 --force' cannot be used"),
        ({"time_budget": "5m --out=x"}, "time limit '5m --out=x' cannot be used"),
        ({"preset": "slow"}, "preset 'slow' is not known"),
        ({"mixture": "b=1"}, "mixture 'b=1' is not known"),
        ({"task": "guess"}, "task 'guess' is not known"),
    ],
    ids=str,
)
def test_what_the_page_does_not_offer_is_refused_in_a_sentence(wrong, said):
    with pytest.raises(UserInputError, match=re.escape(said)):
        run_arguments({"target": "b", **wrong}, NAMES)


def test_the_page_offers_what_the_command_line_takes():
    from tabtap.api.choices import learner_names
    from tabtap.config import PRESETS as known_presets
    from tabtap.table.schema import Kind

    kinds = {kind.value for kind in Kind} - {"constant"}

    assert ("auto", *learner_names()) == LEARNERS
    assert set(PRESETS) == set(known_presets)
    assert kinds < set(KINDS)


def test_the_script_of_the_page_offers_the_same_words():
    import tabtap.serve

    script = (
        Path(tabtap.serve.__file__).with_name("page.js").read_text(encoding="utf-8")
    )

    for name, known in {
        "LEARNERS": LEARNERS, "PRESETS": PRESETS, "TASKS": TASKS, "KINDS": KINDS,
    }.items():  # fmt: skip
        block = script.partition(f"const {name} = [")[2].partition("];")[0]
        assert tuple(re.findall(r'\["([^"]+)",', block)) == known


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("../../etc/passwd.csv", "passwd.csv"),
        ("C:\\Users\\me\\visits.csv", "visits.csv"),
        ("a\x1b[31m\nb.csv", "a?[31m b.csv"),
        ("", "table"),
        ("..", "table"),
        ("x" * 300 + ".csv", "x" * 60 + "..." + "x" * 53 + ".csv"),
    ],
)
def test_a_name_is_shown_in_one_line_and_without_its_folder(given, shown):
    assert shown_name(given) == shown


# ---- Files.


@pytest.mark.parametrize(
    "name",
    [
        "../../outside.csv",
        "/etc/outside.csv",
        "a/b/c.csv",
        "C:\\x.csv",
        "-o.csv",
        "~.csv",
        "con.csv",
        "x\x00y.csv",
        "é ü.csv",
        ".csv.csv",
    ],
)
def test_the_name_of_a_file_never_becomes_a_path(jobs, folder, on_disk, name):
    file = take(jobs, name=name)

    assert on_disk() == [file, f"{file}/file.json", f"{file}/train.csv"]
    assert list(folder.parent.iterdir()) == [folder]


@pytest.mark.parametrize(
    ("name", "stored"),
    [
        ("a.CSV", "train.csv"),
        ("a.txt.gz", "train.csv.gz"),
        ("a.xlsm", "train.xlsx"),
        ("a.pq", "train.parquet"),
        ("a.zip", "train.csv.zip"),
    ],
)
def test_the_copy_has_the_ending_of_its_format(make_jobs, name, stored):
    upload, path = make_jobs().new_place(name)

    assert (path.name, upload.stored) == (stored, stored)


@pytest.mark.parametrize("name", ["a", "a.pkl", "a.exe", "a.csv/", ""])
def test_a_file_of_another_kind_is_refused_before_it_is_sent(make_jobs, on_disk, name):
    with pytest.raises(UserInputError, match="These are known"):
        make_jobs().new_place(f"{name}.pkl" if name.endswith("/") else name)

    assert on_disk() == []


def test_a_file_that_is_no_table_is_told_by_its_own_name_and_deleted(jobs, on_disk):
    with pytest.raises(UserInputError) as told:
        take(jobs, b"nothing\n", name="my visits.csv")

    assert str(told.value) == "'my visits.csv' has one column only, which is no table."
    assert on_disk() == []


@pytest.mark.usefixtures("real_peek")
def test_the_columns_of_a_true_file_are_read_with_examples(jobs):
    content = b"day;weight;bp\n2025-01-02;1,5;120/80\n2025-01-03;2;130/85\n"

    upload = jobs.upload(take(jobs, content))

    assert upload.content["n_rows"] == 2
    assert upload.content["columns"] == [
        {"name": "day", "source": "day", "examples": ["2025-01-02", "2025-01-03"]},
        {"name": "weight", "source": "weight", "examples": ["1.5", "2"]},
        {"name": "bp[1]", "source": "bp", "examples": ["120", "130"]},
        {"name": "bp[2]", "source": "bp", "examples": ["80", "85"]},
    ]
    assert any("two numbers" in note for note in upload.content["notes"])


@pytest.mark.usefixtures("real_peek")
@pytest.mark.parametrize(
    ("content", "name"),
    [
        (b"\x00\x01\x02", "a.parquet"),
        (b"a,a\n1,2\n", "a.csv"),
        (b"PK\x03\x04", "a.xlsx"),
    ],
    ids=["no parquet", "one name twice", "half a workbook"],
)
def test_a_true_file_that_is_bad_is_told_in_a_sentence(jobs, on_disk, content, name):
    with pytest.raises(UserInputError) as told:
        take(jobs, content, name=name)

    assert "train." not in str(told.value)
    assert "Traceback" not in str(told.value)
    assert str(jobs.folder) not in str(told.value)
    assert on_disk() == []


# ---- Runs.


def test_a_run_is_the_command_with_what_was_asked(jobs, reaches, on_disk):
    file = take(jobs)
    run = reaches(jobs, asked(jobs, file, seed="7"), "done")

    said = run.answer["said"]
    assert said[0] == "--target=b"
    assert "--seed=7" in said
    assert f"--out={run.id}/table.csv" in said
    assert said[-1] == "--json"
    assert {"report.html", "result.tap", "datasheet.md", "table.csv"} <= {
        Path(path).name for path in on_disk()
    }


def test_one_run_is_at_work_and_the_others_wait_for_their_turn(jobs, reaches):
    file = take(jobs)
    first, second, third = (asked(jobs, file, "neighbors") for _ in range(3))

    reaches(jobs, first, "running")
    states = [jobs.runs[run].state for run in (first, second, third)]
    (jobs.place(jobs.runs[first]) / "go").touch()
    reaches(jobs, first, "done")
    reaches(jobs, second, "running")
    later = jobs.runs[third].state
    for run in (second, third):
        (jobs.place(jobs.runs[run]) / "go").touch()

    assert states == ["running", "waiting", "waiting"]
    assert later == "waiting"
    assert reaches(jobs, third, "done").began >= jobs.runs[second].ended


def test_how_far_a_run_is_can_be_read_while_it_is_at_work(jobs, reaches):
    run = asked(jobs, take(jobs), "neighbors")
    reaches(jobs, run, "running")
    while jobs.runs[run].progress is None:
        time.sleep(0.02)

    shown = jobs.shown(jobs.runs[run])
    (jobs.place(jobs.runs[run]) / "go").touch()

    assert shown["progress"]["share"] == 0.5
    assert shown["progress"]["said"][0].startswith("Window 1")
    assert shown["written"] == []


def test_a_run_that_is_stopped_can_be_resumed_to_its_end(jobs, reaches):
    run = asked(jobs, take(jobs), "forest")
    reaches(jobs, run, "running")

    jobs.stop(run)
    stopped = reaches(jobs, run, "stopped").state
    jobs.resume(run)
    done = reaches(jobs, run, "done")

    assert stopped == "stopped"
    assert done.answer["said"][-2:] == ["--resume", "--force"]


def test_a_run_that_waits_is_stopped_at_once(jobs, reaches):
    file = take(jobs)
    first, second = asked(jobs, file, "forest"), asked(jobs, file)
    reaches(jobs, first, "running")

    jobs.stop(second)

    assert jobs.runs[second].state == "stopped"
    jobs.stop(first)


def test_what_fails_is_told_about_the_users_own_file(jobs, reaches):
    run = reaches(jobs, asked(jobs, take(jobs), "boosting"), "failed")

    assert run.sentence == "'visits.csv' cannot be learned:\n  - too few"


def test_a_run_that_the_system_ends_is_told_so(jobs, reaches):
    run = reaches(jobs, asked(jobs, take(jobs), "network"), "failed")

    assert "The system ended this run (signal 9)" in run.sentence


def test_the_next_run_gets_its_turn_after_one_that_could_not_be_made(
    make_jobs, reaches
):
    jobs = make_jobs(command=("no-such-program",))
    file = take(jobs)
    runs = asked(jobs, file), asked(jobs, file)

    jobs.start()
    failed = [reaches(jobs, run, "failed").sentence for run in runs]

    assert all(sentence.startswith("The run could not be made") for sentence in failed)


def test_a_run_is_asked_for_by_what_is_known_of_the_table(jobs):
    file = take(jobs)

    with pytest.raises(UserInputError, match="no column 'z'"):
        jobs.ask(file, {"target": "z"})

    assert jobs.runs == {}


# ---- A server that ends, and one that is started again.


def forget(jobs):
    """Leave all as it is, as a server does that is killed."""
    jobs._lock.release()
    jobs.runs, jobs.uploads = {}, {}


def test_a_server_that_is_started_again_finds_what_was_not_over(make_jobs, reaches):
    first = make_jobs()
    file = take(first)
    run = asked(first, file, "forest")
    first.look_over(file, {"target": "b"})
    forget(first)  # it never began to make runs

    second = make_jobs()
    found = second.runs[run]
    state, sentence = found.state, found.sentence
    second.start()
    second.resume(run)

    assert (state, sentence) == (
        "stopped",
        "The server ended before this run did. Resume it to go on.",
    )
    assert second.upload(file).name == "visits.csv"
    assert second.upload(file).look["options"] == {"target": "b"}
    assert reaches(second, run, "done").answer["verdict"] == "augment"


def test_a_server_that_was_killed_has_its_answers_still(make_jobs, reaches):
    first = make_jobs()
    first.start()
    run = asked(first, take(first))
    reaches(first, run, "done")
    forget(first)

    second = make_jobs()

    assert second.shown(second.runs[run])["answer"]["headline"] == "Yes."
    assert second.written(run, "table")[1] == "visits.augmented.csv"


def test_files_that_had_not_arrived_whole_are_deleted_and_others_stay(
    make_jobs, folder, on_disk
):
    folder.mkdir()
    half = folder / "0123456789abcdef"
    half.mkdir()
    (half / "train.csv").write_bytes(b"a,")
    (folder / "mine.txt").write_text("not of this server")

    make_jobs()

    assert on_disk() == ["mine.txt"]


def test_a_damaged_record_is_left_out(make_jobs, folder, on_disk):
    first = make_jobs()
    file = take(first)
    run = asked(first, file)
    (folder / file / run / "run.json").write_text('{"id": 1')
    forget(first)

    second = make_jobs()

    assert (list(second.uploads), list(second.runs)) == ([file], [])
    assert f"{file}/{run}" not in on_disk()


def test_at_the_end_all_is_deleted_but_what_can_be_resumed(jobs, reaches, on_disk):
    over, kept = take(jobs), take(jobs)
    for run in (asked(jobs, over), asked(jobs, kept)):
        reaches(jobs, run, "done")
    unfinished = asked(jobs, kept, "forest")
    reaches(jobs, unfinished, "running")

    n_kept = jobs.close()

    state = json.loads((jobs.folder / kept / unfinished / "run.json").read_text())
    assert n_kept == 1
    assert state["state"] == "stopped"
    assert {path.partition("/")[0] for path in on_disk()} == {kept}
    assert {path.split("/")[1] for path in on_disk() if path.count("/") > 1} == {
        unfinished
    }


def test_what_nothing_happens_to_for_a_week_is_deleted(make_jobs, on_disk):
    clock = [1_000_000.0]
    jobs = make_jobs(now=lambda: clock[0])
    old = take(jobs)
    clock[0] += WEEK - 1
    young = take(jobs)
    jobs.forget_old()
    both = set(jobs.uploads)
    clock[0] += 2

    jobs.forget_old()

    assert both == {old, young}
    assert set(jobs.uploads) == {young}
    assert old not in on_disk()


def test_a_file_whose_run_waits_is_not_deleted_by_age(make_jobs):
    clock = [1_000_000.0]
    jobs = make_jobs(now=lambda: clock[0])
    file = take(jobs)
    asked(jobs, file)
    clock[0] += 2 * WEEK

    jobs.forget_old()

    assert list(jobs.uploads) == [file]


@pytest.mark.usefixtures("jobs")
def test_a_second_server_on_the_same_folder_is_refused(folder):
    with pytest.raises(UserInputError, match="at work already"):
        Jobs(folder)


def test_nobody_else_on_the_machine_may_look_into_the_folder(jobs, folder):
    file = take(jobs)

    assert folder.stat().st_mode & 0o077 == 0
    assert (folder / file).stat().st_mode & 0o077 == 0


def test_there_is_an_end_to_how_many_files_and_runs_are_taken(make_jobs):
    jobs = make_jobs(Limits(n_files=1, n_runs=1))
    file = take(jobs)
    asked(jobs, file)

    with pytest.raises(UserInputError, match="There are 1 file already"):
        jobs.new_place("b.csv")
    jobs.limits = Limits(n_files=2, n_runs=1)
    jobs.new_place("b.csv")  # it has not arrived, and counts
    with pytest.raises(UserInputError, match="There are 2 files already"):
        jobs.new_place("c.csv")
    with pytest.raises(UserInputError, match="There are 1 run already"):
        asked(jobs, file)
