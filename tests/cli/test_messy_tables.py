"""Eight messy tables, inspected and augmented as a new user would."""

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest
from messy_tables import TABLES

ANSWERS = {
    "shop": ["--ignore", "comment"],
    "survey": ["--missing", "Age=999", "--missing", "Children=-1"],
    "sensors": ["--missing", "humidity=-999"],
    "housing": ["--date-format", "Visite=%d/%m/%y"],
    "staff": ["--missing", "Left=?"],
}
"""What ``inspect`` asks its owner to say."""

KINDS = {
    "clinic": {"Gewicht": "continuous", "BMI": "continuous", "Kreatinin": "continuous",
               "Blutdruck[1]": "integer", "Thrombozyten": "integer",
               "Geburtsdatum": "datetime", "Raucher": "category"},
    "shop": {"price": "continuous", "date": "datetime", "category": "category",
             "discount": "category", "order_id": "identifier"},
    "lab": {"CRP": "continuous", "troponin": "continuous", "LDL": "integer",
            "dose_mg": "continuous", "dilution": "category"},
    "sensors": {"timestamp": "datetime", "t_in": "continuous", "humidity": "integer",
                "pressure": "continuous", "firmware": "constant"},
    "survey": {"Age": "integer", "Sex": "category", "Score": "integer"},
    "sports": {"Finish": "integer", "Height": "integer", "Resting HR": "integer",
               "Race date": "datetime", "Club": "category"},
    "housing": {"Surface": "integer", "Prix au m2": "integer", "Visite": "datetime",
                "Charges": "continuous"},
    "staff": {"Base salary": "integer", "Hired": "datetime", "Absence": "continuous",
              "Manager": "boolean"},
}  # fmt: skip

COMPUTED = {
    "clinic": {"BMI": "Gewicht / Größe (m)^2"},
    "shop": {"total": "price * quantity"},
    "lab": {"LDL_HDL": "LDL / HDL"},
    "sensors": {"t_diff": "t_in - t_out"},
    "survey": {"Score": "Q1 + Q2 + Q3"},
    "sports": {},
    "housing": {},
    "staff": {
        "Age at hire": "whole years from Born to Hired",
        "Total pay": "Base salary + Bonus",
    },
}

ASKED = {
    "clinic": {("groups", "Patient"), ("spelling", "Geschlecht")},
    "shop": {("refused", "comment")},
    "lab": set(),
    "sensors": {("code", "humidity")},
    "survey": {("code", "Age"), ("code", "Children")},
    "sports": set(),
    "housing": {("question", "Visite"), ("leak", "Prix au m2")},
    "staff": {("code", "Left"), ("spelling", "Dept.")},
}
"""What a person is to look at or to say; more may be remarked on."""


@pytest.mark.parametrize("name", TABLES)
def test_every_column_is_read_as_what_it_is_or_asked_for(in_process, tmp_path, name):
    make, target = TABLES[name]
    path = make(tmp_path)
    told = ("inspect", path.name, "-t", target, "--json")

    first = json.loads(in_process(*told, cwd=tmp_path).out)
    answered = in_process(*told, *ANSWERS.get(name, ()), cwd=tmp_path)

    found = json.loads(answered.out)
    kinds = {column["name"]: column["kind"] for column in found["columns"]}
    computed = {
        r["column"]: r["text"] for r in found["remarks"] if r["topic"] == "computed"
    }
    remarks = {(r["topic"], r["column"]) for r in first["remarks"]}
    assert answered.code == 0, answered.out
    assert KINDS[name].items() <= kinds.items()
    assert set(computed) == set(COMPUTED[name])
    assert all(text in computed[c] for c, text in COMPUTED[name].items())
    assert ASKED[name] <= remarks
    assert not [r for r in remarks if r[0] == "lost"]


def number(text):
    return float(text.removesuffix(" kg").replace(".", "").replace(",", "."))


def test_new_rows_of_the_clinic_agree_with_themselves(quick_run, helped, tmp_path):
    path = TABLES["clinic"][0](tmp_path)
    shutil.copy(Path(__file__).parent / "judges.py", tmp_path)

    answer = quick_run(
        "augment", path.name, "-t", "Befund", "--groups", "Patient", "-n", "20",
        "--out", "out.csv", *helped[2:], cwd=tmp_path,
    )  # fmt: skip

    assert answer.code == 0, answer.said
    before = path.read_bytes()
    assert (tmp_path / "out.csv").read_bytes().startswith(before)
    rows = pd.read_csv(tmp_path / "out.csv", sep=";", dtype=str, encoding="latin-1")
    new = rows.iloc[90:]
    assert len(new)
    assert new["Gewicht"].str.fullmatch(r"\d+,\d kg").all()
    assert new["Blutdruck"].str.fullmatch(r"\d+/\d+").all()
    assert new["Thrombozyten"].str.fullmatch(r"\d{1,3}(\.\d{3})*").all()
    height = new["Größe (m)"].map(number)
    bmi = new["Gewicht"].map(number) / height**2
    assert (new["BMI"].map(number) - bmi).abs().max() <= 0.0501
