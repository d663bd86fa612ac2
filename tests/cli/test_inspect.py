import json

import pytest


@pytest.fixture
def visits(desk, birds):
    """A table with something to remark on in nearly every way."""
    frame = birds.assign(
        code=birds["sex"].map({"male": 1, "female": 2}),
        patient_id=[f"p{i // 4}" for i in range(60)],
        ward="north",
    )
    frame.to_csv(desk / "visits.csv", index=False)
    return desk


def test_it_shows_every_column_and_what_to_look_at(in_process, visits):
    answer = in_process("inspect", "visits.csv", "-t", "sex", cwd=visits)

    shown = " ".join(answer.out.split())
    assert answer.code == 0
    assert "Target sex: 2 classes (male 35, female 25)." in shown
    assert "body_mass_g integer 2850 to 5850 0% steps of 25" in shown
    assert "code: says the same as the target in other words" in shown
    assert "(--ignore code)" in shown
    assert "(--groups patient_id)" in shown
    assert "ward: has one value only" in shown
    assert max(map(len, answer.out.splitlines())) <= 80


def test_a_table_without_faults_is_called_so(in_process, desk):
    answer = in_process("inspect", "birds.csv", "-t", "sex", cwd=desk)

    assert answer.code == 0
    assert "Nothing stands out." in answer.out


def test_groups_that_are_named_are_not_remarked_on(in_process, visits):
    told = ("visits.csv", "-t", "sex", "--groups", "patient_id")

    answer = in_process("inspect", *told, cwd=visits)

    assert "--groups" not in answer.out


def test_json_holds_the_same(in_process, visits):
    answer = in_process("inspect", "visits.csv", "-t", "sex", "--json", cwd=visits)

    told = json.loads(answer.out)
    assert (told["n_rows"], told["target"]) == (60, "sex")
    assert told["task"] == "classification"
    topics = {(remark["topic"], remark["column"]) for remark in told["remarks"]}
    assert topics == {("leak", "code"), ("groups", "patient_id"), ("constant", "ward")}
    kinds = {column["name"]: column["kind"] for column in told["columns"]}
    assert kinds["sex"] == "target"
    assert kinds["island"] == "category"


def test_the_schema_file_can_be_passed_back(in_process, visits):
    told = ("inspect", "visits.csv", "-t", "sex", "--out", "schema.toml")
    first = in_process(*told, cwd=visits)
    text = (visits / "schema.toml").read_text(encoding="utf-8")
    corrected = text.replace('"code" = "category"', '"code" = "ignore"')
    (visits / "corrected.toml").write_text(corrected, encoding="utf-8")

    second = in_process(
        "inspect", "visits.csv", "--schema", "corrected.toml", "--json", cwd=visits
    )

    assert (first.code, second.code) == (0, 0)
    assert corrected != text
    kinds = {c["name"]: c["kind"] for c in json.loads(second.out)["columns"]}
    assert kinds["code"] == "identifier"


def test_a_schema_file_is_not_written_over_unasked(in_process, visits):
    (visits / "schema.toml").write_text("mine", encoding="utf-8")

    answer = in_process(
        "inspect", "visits.csv", "-t", "sex", "-o", "schema.toml", cwd=visits
    )

    assert answer.code == 2
    assert (visits / "schema.toml").read_text(encoding="utf-8") == "mine"
