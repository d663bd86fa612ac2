import json
import shutil
import sys
from pathlib import Path

import pandas as pd
import pytest

import tabtap.config
from tabtap.cli.app import main
from tabtap.datasets import load_penguins


@pytest.fixture
def birds(tmp_path):
    rows = load_penguins().dropna(subset=["sex"]).sample(120, random_state=1)
    rows[:60].to_csv(tmp_path / "birds.csv", index=False)
    rows[60:].to_csv(tmp_path / "later.csv", index=False)
    return tmp_path


def test_methods_are_ranked_and_one_is_advised(tabtap_run, birds):
    told = ("-t", "sex", "--methods", "smote, Copies", "--budget", "30")

    answer = tabtap_run(
        "compare", "birds.csv", *told, "--test", "later.csv", "--repeats", 2,
        "--learners", "--report", "who.html", cwd=birds, columns=80,
    )  # fmt: skip

    assert answer.code in (0, 3)
    lines = answer.out.splitlines()
    assert lines[0] == "Methods by score; 60 real rows were asked"
    assert {line.split()[0] for line in lines[4:7]} == {"Real", "SMOTE", "Copies"}
    start = lines.index("Accuracy of every learner with every method's rows")
    assert lines[start + 2].split()[:2] == ["learner", "Real"]
    assert [line.split()[0] for line in lines[start + 4 : start + 10]] == [
        "linear", "neighbors", "forest", "boosting", "small_leaves", "network",
    ]  # fmt: skip
    assert max(map(len, lines)) <= 80
    assert "6 cells" in answer.said
    assert ("and no new rows: accuracy 0." in answer.said) == (answer.code == 3)
    assert "<h1>Comparison of methods</h1>" in (birds / "who.html").read_text()


def test_the_matrix_is_shown_only_if_asked_for(birds, capsys):
    told = ["--methods", "Copies", "--budget", "30", "--repeats", "2"]

    main(["compare", str(birds / "birds.csv"), "-t", "sex", *told])

    written = capsys.readouterr().out
    assert written.startswith("Methods by score; 60 real rows were asked")
    assert "every learner" not in written


def test_of_many_rows_some_compete_and_the_others_are_not_spoken_for(
    birds, capsys, monkeypatch
):
    monkeypatch.setattr("tabtap.compare.contest.MOST_ROWS", 40)
    told = ["--methods", "Copies", "--budget", "30", "--repeats", "2"]

    main(["compare", str(birds / "birds.csv"), "-t", "sex", *told])

    written = capsys.readouterr()
    assert written.out.startswith("Methods by score; 40 real rows were asked")
    said = " ".join(written.err.split())
    assert "Of 60 rows 40 compete" in said
    assert "of all 60 rows nothing is said" in said


def test_the_ranking_can_be_read_by_programs(birds, capsys):
    told = ["--methods", "Copies", "--budget", "30", "--repeats", "2", "--json"]

    code = main(["compare", str(birds / "birds.csv"), "-t", "sex", *told])

    found = json.loads(capsys.readouterr().out)
    assert found["n_test"] == 60
    assert found["figure"] == "accuracy"
    assert [m["method"] for m in found["methods"]].count("Real") == 1
    assert set(found["methods"][0]["by_learner"]) == set(found["learners"])
    assert code == (3 if found["recommended"] is None else 0)


@pytest.mark.usefixtures("quick_fast")
@pytest.mark.parametrize("learner", ["forest", "auto"])
def test_real_rows_alone_have_the_figures_that_tabtap_augment_tells(
    birds, capsys, monkeypatch, learner
):
    """In a run that is quick, and cuts the rows three times, twice for a panel."""
    quick = tabtap.config.PRESETS["fast"]
    changes = {"augment": {"utility": {"n_partitions": 3}}}
    presets = {"fast": tabtap.config.changed_preset(quick, changes)}
    monkeypatch.setattr("tabtap.config.PRESETS", tabtap.config.PRESETS | presets)
    monkeypatch.chdir(birds)
    told = ("birds.csv", "-t", "sex", "--preset", "fast", "--json", "--budget", "20")

    main(["augment", *told, "--learner", learner])
    theirs = json.loads(capsys.readouterr().out)
    main(
        ["compare", *told, "--referee", learner, "--methods", "Real", "--repeats", "3"]
    )
    ours = json.loads(capsys.readouterr().out)

    (real,) = ours["methods"]
    assert real["learner"] == theirs["best_alone"]
    assert real["plain"] == pytest.approx(theirs["figures"]["accuracy"]["best_alone"])


def test_it_is_said_beforehand_how_often_rows_are_made(birds, capsys):
    told = ["--methods", "Real", "--repeats", "2", "--learner", "neighbors"]

    main(["compare", str(birds / "birds.csv"), "-t", "sex", *told])

    written = capsys.readouterr()
    said = " ".join(written.err.split())
    assert "TRAIN is cut 4 times into 2 parts, as tabtap augment cuts it, so" in said
    assert "every method makes its rows 8 times." in said
    assert "Your rows were cut 4 times into 2 parts" in " ".join(written.out.split())


@pytest.fixture
def wards(birds):
    """Give the birds wards of four each; later ones are of the same, or of others."""
    for name, first in (("birds", 0), ("known", 5), ("new", 50)):
        source = "birds" if name == "birds" else "later"
        rows = pd.read_csv(birds / f"{source}.csv")
        rows["ward"] = [f"w{first + place // 4}" for place in range(len(rows))]
        rows.to_csv(birds / f"{name}.csv", index=False)
    return birds


@pytest.mark.parametrize(
    ("more", "is_told"),
    [
        ([], True),
        (["--groups", "ward"], False),
        (["--test", "known.csv"], True),
        (["--test", "new.csv"], False),
    ],
    ids=["no groups", "groups", "a test of known ones", "a test of new ones"],
)
def test_groups_that_went_untested_are_told_everywhere(
    wards, capsys, monkeypatch, more, is_told
):
    monkeypatch.chdir(wards)
    told = ["--methods", "Copies", "--budget", "30", "--repeats", "2"]

    written = ["--report", "who.html", "--json"]
    main(["compare", "birds.csv", "-t", "sex", *told, *written, *more])

    found = json.loads(capsys.readouterr().out)
    page = (wards / "who.html").read_text(encoding="utf-8")
    assert found["headline"].endswith("No new 'ward' was tested.") == is_told
    assert ("with --groups ward it would be" in found["advice"]) == is_told
    shown = page.partition('id="verdict-title"')[2].partition("</")[0]
    assert shown.endswith("was tested.") == is_told
    noted = [note for note in found["notes"] if "'ward'" in note and "--groups" in note]
    assert len(noted) == ("--groups" not in more)
    assert ("What was seen in the table" in page) == bool(found["notes"])


def test_what_inspect_saw_is_said_once(wards, capsys, monkeypatch):
    rows = pd.read_csv(wards / "birds.csv")
    rows["copy"] = rows["sex"].map({"male": "m", "female": "f"})
    rows.to_csv(wards / "birds.csv", index=False)
    monkeypatch.chdir(wards)

    main(["compare", "birds.csv", "-t", "sex", "--methods", "Real", "--repeats", "2"])

    said = " ".join(capsys.readouterr().err.split())
    assert said.count("Note: Column 'ward'") == 1
    assert said.count("Column 'copy'") == 1
    assert "No new 'ward' was tested." in said


def test_a_gain_can_be_too_small_for_the_user(birds, capsys):
    told = ["--methods", "Copies", "--repeats", "2", "--min-gain", "0.9", "--json"]

    code = main(["compare", str(birds / "birds.csv"), "-t", "sex", *told])

    found = json.loads(capsys.readouterr().out)
    assert code == 3
    assert {method["min_gain"] for method in found["methods"]} == {0.9}


@pytest.mark.parametrize(
    ("learner", "name"),
    [("forest", "forest"), ("mine:Stump", "Stump"), ("panel", "panel")],
)
def test_a_learner_can_be_named(birds, capsys, monkeypatch, learner, name):
    (birds / "mine.py").write_text(
        "from sklearn.tree import DecisionTreeClassifier\n"
        "class Stump(DecisionTreeClassifier):\n"
        "    def __init__(self):\n"
        "        super().__init__(max_depth=1)\n",
        encoding="utf-8",
    )
    monkeypatch.chdir(birds)
    monkeypatch.setattr("sys.path", list(sys.path))
    told = ["--methods", "Copies", "--budget", "30", "--repeats", "2", "--json"]

    main(["compare", "birds.csv", "-t", "sex", *told, "--learner", learner])

    found = json.loads(capsys.readouterr().out)
    assert {m["learner"] for m in found["methods"]} == {name}
    copies = next(m for m in found["methods"] if m["method"] == "Copies")
    assert (set(copies["by_learner"]) == {name}) == (name != "panel")
    assert copies["failures"] == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--methods", "SMOT"], "SMOTE"),
        (["--test", "none.csv"], "none.csv"),
        (["--learner", "forrest"], "Try 'forest'"),
        (["--learner", "judges:NoLearner"], "has no predict"),
        (["--learner", "sklearn.linear_model:Ridge"], "Ridge"),
        (["--budget", "auto"], "--budget auto is not usable here"),
        (["--report", "birds.csv"], "is the file that is read"),
        (["--test", "narrow.csv"], "lacks columns that TRAIN has: species"),
    ],
)
def test_bad_input_is_one_paragraph(birds, capsys, monkeypatch, arguments, said):
    (birds / "narrow.csv").write_text("sex,island\nmale,Dream\n", encoding="utf-8")
    shutil.copy(Path(__file__).parent / "judges.py", birds)
    monkeypatch.chdir(birds)
    monkeypatch.setattr("sys.path", list(sys.path))

    code = main(["compare", "birds.csv", "-t", "sex", *arguments])

    answer = " ".join(capsys.readouterr().err.split())
    assert code == 2
    assert said in answer
    assert "Traceback" not in answer
