import json

import pytest

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
        "--report", "who.html", cwd=birds,
    )  # fmt: skip

    assert answer.code in (0, 3)
    lines = answer.out.splitlines()
    assert lines[0] == "Methods by score; 60 real rows were asked"
    assert {line.split()[0] for line in lines[4:7]} == {"Real", "SMOTE", "Copies"}
    assert "6 cells" in answer.said
    assert "<h1>Comparison of methods</h1>" in (birds / "who.html").read_text()


def test_the_ranking_can_be_read_by_programs(birds, capsys):
    told = ["--methods", "Copies", "--budget", "30", "--repeats", "2", "--json"]

    code = main(["compare", str(birds / "birds.csv"), "-t", "sex", *told])

    found = json.loads(capsys.readouterr().out)
    assert found["n_test"] == 60
    assert [m["method"] for m in found["methods"]].count("Real") == 1
    assert code == (3 if found["recommended"] is None else 0)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--methods", "SMOT"], "SMOTE"),
        (["--test", "none.csv"], "none.csv"),
        (["--budget", "auto"], "--budget auto is not usable here"),
        (["--report", "birds.csv"], "is the file that is read"),
        (["--test", "narrow.csv"], "lacks columns that TRAIN has: species"),
    ],
)
def test_bad_input_is_one_paragraph(birds, capsys, monkeypatch, arguments, said):
    (birds / "narrow.csv").write_text("sex,island\nmale,Dream\n", encoding="utf-8")
    monkeypatch.chdir(birds)

    code = main(["compare", "birds.csv", "-t", "sex", *arguments])

    answer = " ".join(capsys.readouterr().err.split())
    assert code == 2
    assert said in answer
    assert "Traceback" not in answer
