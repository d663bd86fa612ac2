"""Texts in files with types, and in frames: read as in text files, written back."""

import numpy as np
import pandas as pd
import pytest

from tabtap.errors import UserInputError
from tabtap.files import form_from_json, form_to_json, read_cells, read_table
from tabtap.files.texts import spell
from tabtap.files.writing import write_table

FRAME = pd.DataFrame(
    {
        "mass": ["70,5 kg", "81,0 kg", None, "64,0 kg"],
        "pressure": ["120/80", "95/60", "131/85", "110/70"],
        "day": ["03.04.2020", "25.12.2020", "01.01.2021", "30.06.2021"],
        "sex": ["male", "Male", "MALE ", "female"],
        "dose": [0.5, 1.0, 2.5, 0.5],
        "code": ["007", "011", "102", "007"],
    }
)


def written(frame, folder, form):
    path = folder / f"in.{form}"
    if form == "xlsx":
        frame.to_excel(path, index=False)
    elif form == "parquet":
        frame.to_parquet(path)
    else:
        frame.to_json(path, orient="records", lines=True)
    return path


@pytest.mark.parametrize("form", ["xlsx", "parquet", "jsonl"])
def test_texts_are_read_whatever_the_format_and_written_back(tmp_path, form):
    path = written(FRAME, tmp_path, form)

    table = read_table(path)
    new = table.frame.iloc[[0]].assign(mass=99.5, **{"pressure[1]": 140})
    both = pd.concat([table.frame, new], ignore_index=True)
    write_table(both, tmp_path / f"out.{form}", like=table, n_real=4)

    assert table.frame["mass"].dropna().tolist() == [70.5, 81.0, 64.0]
    assert table.frame["pressure[2]"].tolist() == [80, 60, 85, 70]
    assert table.frame["day"][0] == pd.Timestamp("2020-04-03")
    assert table.frame["sex"].nunique() == 2
    assert table.frame["code"].tolist() == FRAME["code"].tolist()
    again = read_table(tmp_path / f"out.{form}")
    raw = again.raw
    assert (
        raw.iloc[:4]
        .astype(object)
        .where(raw.iloc[:4].notna(), None)
        .equals(FRAME.astype(object).where(FRAME.notna(), None))
    )
    assert raw.iloc[4][["mass", "pressure", "day", "sex"]].tolist() == [
        "99,5 kg", "140/80", "03.04.2020", "male",
    ]  # fmt: skip


def test_a_file_without_such_texts_stays_as_it_is(tmp_path):
    plain = FRAME[["dose", "code"]]
    path = written(plain, tmp_path, "parquet")

    table = read_table(path)

    assert table.raw is None
    assert table.written == ()


def test_what_is_ambiguous_is_asked_for_in_a_frame_too():
    frame = pd.DataFrame({"cost": [f"{i}.{i * 7 % 900 + 100}" for i in range(1, 31)]})

    asked = read_cells(frame)
    told = read_cells(frame, thousands={"cost": "."})

    assert [question.column for question in asked.questions] == ["cost"]
    assert asked.frame["cost"].tolist() == frame["cost"].tolist()
    assert told.frame["cost"][0] == 1107
    assert told.restore(told.frame).equals(frame)


def test_codes_for_missing_values_may_stand_among_numbers():
    frame = pd.DataFrame({"age": [31, 999, 47, 52], "name": list("abcd")})

    told = read_cells(frame, missing={"age": ["999"]})

    assert told.frame["age"].isna().tolist() == [False, True, False, False]
    assert told.restore(told.frame)["age"].tolist() == [31, 999, 47, 52]


def test_what_is_said_of_no_column_is_refused():
    with pytest.raises(UserInputError, match="no column 'mas'"):
        read_cells(FRAME, decimal={"mas": ","})


def test_row_labels_and_other_columns_are_kept():
    frame = FRAME.set_index(pd.Index([7, 3, 5, 9], name="id"))

    told = read_cells(frame)

    assert told.frame.index.equals(frame.index)
    assert told.frame["dose"].dtype == np.float64
    back = told.restore(told.frame)
    assert back["pressure"].tolist() == FRAME["pressure"].tolist()
    assert back.index.equals(frame.index)


def test_the_form_of_a_file_is_kept_with_a_result(tmp_path):
    table = read_table(written(FRAME, tmp_path, "parquet"))

    form = form_from_json(form_to_json(table), table.frame.iloc[:0])

    assert form.written == table.written
    spelt = spell(table.frame, form.raw, form.written)
    assert spelt["pressure"].tolist() == FRAME["pressure"].tolist()
    assert spelt["mass"].tolist()[0] == "70,5 kg"
