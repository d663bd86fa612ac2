"""Cells as people write them, from the command line: told, asked for, written back."""

import json

import pandas as pd
import pytest


@pytest.fixture
def clinic(desk, birds):
    """A table as clinics keep them: units, percent, pressures, dates, stray spaces."""
    mass = birds["body_mass_g"].fillna(4000).astype(int)
    length = birds["bill_length_mm"].fillna(40.0)
    flipper = birds["flipper_length_mm"].fillna(200).astype(int)
    rows = [
        f"{m} g;{b:.0f} %;{f}/{f - 90};{1 + i % 28:02}.{1 + i % 12:02}.2020;"
        f"{['north', 'North', 'north '][i % 3]};{m // 1000}.{m % 1000:03};{s}"
        for i, (m, b, f, s) in enumerate(
            zip(mass, length, flipper, birds["sex"], strict=True)
        )
    ]
    header = "mass;share;pressure;day;ward;cost;sex"
    (desk / "clinic.csv").write_text("\n".join([header, *rows]) + "\n")
    return desk


def kinds_of(answer):
    return {c["name"]: c["kind"] for c in json.loads(answer.out)["columns"]}


def test_what_was_read_is_shown_and_what_is_not_clear_is_marked(in_process, clinic):
    answer = in_process("inspect", "clinic.csv", "-t", "sex", cwd=clinic)

    shown = " ".join(answer.out.split())
    assert answer.code == 3
    assert "column 'mass' holds numbers in 'g'" in shown
    assert "cost UNCLEAR" in shown
    assert "--decimal cost=. or --decimal cost=," in shown
    assert "Nothing stands out" not in shown


def test_what_is_not_clear_is_asked_for_before_anything_runs(in_process, clinic):
    answer = in_process("augment", "clinic.csv", "-t", "sex", cwd=clinic)

    assert answer.code == 2
    assert "Column 'cost' holds" in answer.said
    assert "Say which: --decimal cost=. or --decimal cost=,." in answer.said


def test_an_answer_on_the_command_line_or_in_the_schema_file_is_taken(
    in_process, clinic
):
    told = ("inspect", "clinic.csv", "-t", "sex", "--thousands", "cost=.")
    first = in_process(*told, "--out", "schema.toml", cwd=clinic)
    second = in_process(
        "inspect", "clinic.csv", "--schema", "schema.toml", "--json", cwd=clinic
    )

    assert (first.code, second.code) == (0, 0)
    assert kinds_of(second)["cost"] == "integer"
    text = (clinic / "schema.toml").read_text(encoding="utf-8")
    assert '"cost" = { thousands = "." }' in text


def test_a_column_can_be_left_as_it_is_written(in_process, clinic):
    told = ("--kind", "pressure=as written", "--kind", "ward=as written")
    answer = in_process(
        "inspect", "clinic.csv", "-t", "sex", "--ignore", "cost", "--json", *told,
        cwd=clinic,
    )  # fmt: skip

    assert answer.code == 0
    assert "pressure" in kinds_of(answer)
    assert kinds_of(answer)["ward"] == "category"


def test_new_rows_are_written_in_the_spelling_of_the_file(quick_augment, clinic):
    before = (clinic / "clinic.csv").read_text()

    answer = quick_augment(
        "clinic.csv", "-n", "20", "--decimal", "cost=,", "--out", "out.csv", cwd=clinic
    )

    after = (clinic / "out.csv").read_text()
    assert answer.code == 0, answer.said
    assert after.startswith(before)
    new = [line.split(";") for line in after[len(before) :].splitlines()]
    assert new
    form = (r"\d+ g", r"\d+ %", r"\d+/\d+", r"\d\d\.\d\d\.\d{4}", "north",
            r"\d\.\d{3}", "male|female")  # fmt: skip
    columns = pd.DataFrame(new)
    for index, pattern in enumerate(form):
        assert columns[index].str.fullmatch(pattern).all(), columns[index].tolist()


# ---- Inspect inspects whatever there is; rows without a label are set aside.


def test_free_text_is_marked_with_every_other_remark(in_process, desk, birds):
    notes = [f"the keeper wrote down that bird {i} was very well" for i in range(60)]
    ages = [999 if i % 9 == 0 else 20 + i for i in range(60)]
    birds.assign(note=notes, ward="n", age=ages).to_csv(desk / "odd.csv", index=False)

    answer = in_process("inspect", "odd.csv", "-t", "sex", cwd=desk)

    shown = " ".join(answer.out.split())
    assert answer.code == 3
    assert "note UNCLEAR" in shown
    assert "--ignore note" in shown
    assert "ward: has one value only" in shown
    assert "--missing age=999" in shown
    assert "kinds=" not in shown


def test_a_target_that_cannot_be_used_does_not_hide_the_columns(in_process, desk):
    answer = in_process("inspect", "birds.csv", "-t", "island", cwd=desk)
    text = (desk / "birds.csv").read_text().replace("female", "male")
    (desk / "one.csv").write_text(text)

    one = in_process("inspect", "one.csv", "-t", "sex", cwd=desk)

    assert answer.code == 0
    assert one.code == 3
    assert "sex UNCLEAR" in " ".join(one.out.split())
    assert "has one class only" in one.out
    assert "body_mass_g" in one.out


def test_rows_without_a_label_are_set_aside_and_come_back_in_place(
    quick_augment, desk, birds
):
    holed = birds.copy()
    holed.loc[[3, 17], "sex"] = None
    holed.to_csv(desk / "holed.csv", index=False)
    before = (desk / "holed.csv").read_text()

    answer = quick_augment("holed.csv", "-n", "20", "--out", "out.csv", cwd=desk)

    after = (desk / "out.csv").read_text()
    assert answer.code == 0, answer.said
    assert "2 rows without a label in 'sex' set aside" in answer.said
    assert after.startswith(before)
    assert len(after) > len(before)
