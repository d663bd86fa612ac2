"""What is done with a saved result: report, verify, forget."""

import shutil
from dataclasses import replace

import pandas as pd
import pytest

import tabtap


@pytest.fixture
def shelf(tmp_path, done):
    """A folder with a saved result in it."""
    shutil.copy(done[0] / "birds.tap", tmp_path)
    return tmp_path


def test_a_report_is_written_beside_the_result(in_process, shelf):
    answer = in_process("report", "birds.tap", "--title", "Sixty birds", cwd=shelf)

    page = (shelf / "birds.html").read_text(encoding="utf-8")
    assert answer.code == 0
    assert "Report birds.html" in answer.said
    assert "Sixty birds" in page


def test_a_report_is_not_written_over_unasked(in_process, shelf):
    (shelf / "birds.html").write_text("mine", encoding="utf-8")

    refused = in_process("report", "birds.tap", cwd=shelf)
    forced = in_process("report", "birds.tap", "--force", cwd=shelf)

    assert (refused.code, forced.code) == (2, 0)
    assert "--force" in refused.said


def test_a_sound_result_is_verified_window_by_window(in_process, shelf):
    answer = in_process("verify", "birds.tap", cwd=shelf)

    assert answer.code == 0
    assert "ok window 3: 8 rows let in" in " ".join(answer.out.split())
    assert "Everything is as certified." in answer.out


def test_a_result_that_was_tampered_with_is_exit_code_3(in_process, shelf):
    result = tabtap.load(shelf / "birds.tap")
    swapped = result.delivered.take([*range(1, 40), 0])
    replace(result, delivered=swapped).save(shelf / "other.tap")

    answer = in_process("verify", "other.tap", cwd=shelf)

    assert answer.code == 3
    assert "WRONG" in answer.out


def test_what_was_forgotten_does_not_make_a_result_wrong(in_process, shelf):
    tabtap.load(shelf / "birds.tap").forget(0).save(shelf / "left.tap")

    answer = in_process("verify", "left.tap", cwd=shelf)

    assert answer.code == 0
    assert "unknown 59 real rows" in " ".join(answer.out.split())
    assert "Nothing is wrong; some of it can no longer be checked." in answer.out


def test_a_result_that_says_too_little_is_exit_code_3(in_process, shelf):
    result = tabtap.load(shelf / "birds.tap")
    replace(result, content_sha256={}).save(shelf / "older.tap")
    replace(result.forget(0), content_sha256={}).save(shelf / "both.tap")

    for name in ("older.tap", "both.tap"):
        answer = in_process("verify", name, cwd=shelf)

        assert answer.code == 3
        assert "unknown" in answer.out
        assert "some of it cannot be checked" in answer.out


@pytest.mark.parametrize("min_gain", ["much", None, [], {"a": 1}], ids=repr)
def test_a_result_of_wrong_types_is_called_damaged(in_process, shelf, min_gain):
    result = tabtap.load(shelf / "birds.tap")
    commit = {**result.about.settings["augment"]["commit"], "min_gain": min_gain}
    settings = {"augment": {"commit": commit}}
    about = replace(result.about, settings=settings)
    replace(result, about=about).save(shelf / "odd.tap")

    answer = in_process("verify", "odd.tap", cwd=shelf)

    assert (answer.code, answer.out) == (2, "")
    assert answer.said.startswith("Error: 'odd.tap' is damaged: ")


@pytest.mark.parametrize("command", ["report", "verify"])
def test_a_file_that_is_no_result_is_bad_input(in_process, shelf, command):
    (shelf / "not.tap").write_bytes(b"something else")

    answer = in_process(command, "not.tap", cwd=shelf)
    missing = in_process(command, "gone.tap", cwd=shelf)

    assert (answer.code, missing.code) == (2, 2)
    assert "'not.tap'" in answer.said
    assert "gone.tap" in missing.said


def test_forgetting_writes_a_new_result_and_the_table_that_is_left(in_process, shelf):
    before = tabtap.load(shelf / "birds.tap")
    parents = before.parent_indices.tolist()
    row = parents[0]

    answer = in_process(
        "forget", "birds.tap", "--row", row, "--table", "left.csv", cwd=shelf
    )

    after = tabtap.load(shelf / "birds.forgotten.tap")
    assert answer.code == 0
    assert f"1 real and {parents.count(row)} synthetic rows removed." in answer.said
    assert after.forgotten == (row,)
    assert len(pd.read_csv(shelf / "left.csv")) == 59 + 40 - parents.count(row)
    assert len(tabtap.load(shelf / "birds.tap").delivered) == 40


def test_forgetting_a_row_that_is_not_there_writes_nothing(in_process, shelf):
    answer = in_process("forget", "birds.tap", "--row", "60", cwd=shelf)

    assert answer.code == 2
    assert "There is no real row 60" in answer.said
    assert [path.name for path in shelf.iterdir()] == ["birds.tap"]
