"""Rows forgotten from the command line: those of the user's file, and whole groups."""

import json
import shutil

import pandas as pd
import pytest

import tabtap


def clinic_text(birds):
    """Return visits of patients in a clinic's spelling; three rows have no label."""
    lines = ["patient;mass;share;day;rate;sex"]
    mass = birds["body_mass_g"].fillna(4000).astype(int)
    length = birds["bill_length_mm"].fillna(40.0)
    for i, (m, b, sex) in enumerate(zip(mass, length, birds["sex"], strict=True)):
        label = "" if i in (2, 10, 33) else sex
        day = f"{1 + i % 28:02}.{1 + i % 12:02}.2020"
        rate = "low" if i in (5, 50) else f"{i},5%"
        share = f"{b:.1f}".replace(".", ",")
        lines.append(f"P{i // 6};{m} g;{share};{day};{rate};{label}")
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def visits(tmp_path_factory, birds, quick_augment):
    """A run on a file with units, a decimal comma, patients, and rows unlabelled."""
    folder = tmp_path_factory.mktemp("visits")
    shutil.copy(__file__.replace("test_forget", "judges"), folder)
    text = clinic_text(birds)
    (folder / "visits.csv").write_text(text)
    answer = quick_augment(
        "visits.csv", "-n", "30", "--save", "v.tap", "--json", "--groups", "patient",
        "--report", "v.html", cwd=folder,
    )  # fmt: skip
    assert answer.code == 0, answer.said
    return folder, answer


@pytest.fixture
def shelf(tmp_path, visits):
    for name in ("v.tap", "visits.csv"):
        shutil.copy(visits[0] / name, tmp_path)
    return tmp_path


def lines_of(path):
    return path.read_text(encoding="utf-8").splitlines()


def test_rows_of_either_kind_are_counted(visits):
    found = json.loads(visits[1].out)

    assert (found["n_real"], found["n_set_aside"]) == (60, 3)


def test_a_row_number_is_that_of_the_file(in_process, shelf):
    source = lines_of(shelf / "visits.csv")
    row = 41  # beyond all three rows without a label

    answer = in_process(
        "forget", "v.tap", "--row", row, "--table", "left.csv", cwd=shelf
    )

    left = lines_of(shelf / "left.csv")
    assert answer.code == 0, answer.said
    assert left[:60] == source[: row + 1] + source[row + 2 :]
    assert len(left) > 60


def test_all_of_a_group_goes_with_what_was_made_of_it(in_process, shelf):
    source = lines_of(shelf / "visits.csv")
    answer = in_process(
        "forget", "v.tap", "--group", "patient=P1", "--table", "left.csv", cwd=shelf
    )

    left = lines_of(shelf / "left.csv")
    assert answer.code == 0, answer.said
    assert left[:55] == [line for line in source if not line.startswith("P1;")]
    assert not any(line.startswith("P1;") for line in left)
    after = tabtap.load(shelf / "v.forgotten.tap")
    assert not set(after.provenance["anchor_row"]) & set(range(6, 12))


def test_what_is_not_there_is_said(in_process, shelf):
    nobody = in_process("forget", "v.tap", "--group", "patient=P99", cwd=shelf)
    nothing = in_process("forget", "v.tap", cwd=shelf)

    assert (nobody.code, nothing.code) == (2, 2)
    assert "There is no value in column 'patient' 'P99'" in nobody.said
    assert "--row N, or --group COL=VALUE" in nothing.said


def test_a_column_that_is_lost_is_told_in_the_notes_and_in_the_report(visits):
    folder, answer = visits
    notes = tabtap.load(folder / "v.tap").about.notes
    page = (folder / "v.html").read_text(encoding="utf-8")

    lost = [note for note in notes if "'rate'" in note]
    assert len(lost) == 1
    assert "--missing" in lost[0]
    assert "pd." not in lost[0]
    assert answer.said.count("Column 'rate' holds") == 1
    assert "Column &#39;rate&#39; holds percentages as text" in page


def test_new_rows_of_the_table_that_is_left_are_written_alike(in_process, shelf):
    in_process("forget", "v.tap", "--row", 3, "--table", "left.csv", cwd=shelf)

    frame = pd.read_csv(shelf / "left.csv", sep=";", dtype=str)
    assert frame["mass"].str.fullmatch(r"\d+ g").all()
    assert frame["day"].str.fullmatch(r"\d\d\.\d\d\.\d{4}").all()
