import pandas as pd
import pytest


@pytest.mark.usefixtures("quick_fast")
def test_the_demo_leaves_table_report_result_and_a_verdict(in_process, tmp_path):
    told = ("--out-dir", "demo", "--budget", "8", "--preset", "fast")

    answer = in_process("demo", *told, cwd=tmp_path)

    folder = tmp_path / "demo"
    assert answer.code in (0, 3)  # whether so few rows help is not the question here
    assert ("Augmented" if answer.code == 0 else "No gain") in answer.said
    assert {p.name for p in folder.iterdir()} == {
        "penguins.csv",
        "penguins.augmented.csv",
        "penguins.html",
        "penguins.tap",
    }
    birds = pd.read_csv(folder / "penguins.csv")
    bigger = pd.read_csv(folder / "penguins.augmented.csv")
    assert len(birds) == 40
    assert bigger.head(40).equals(birds)


def test_a_folder_that_cannot_be_made_is_bad_input(in_process, tmp_path):
    (tmp_path / "taken").write_text("a file", encoding="utf-8")

    answer = in_process("demo", "--out-dir", "taken", cwd=tmp_path)

    assert answer.code == 2
    assert "--out-dir 'taken'" in answer.said
