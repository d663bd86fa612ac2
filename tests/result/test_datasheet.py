"""The data sheet: every section, for people and for programs."""

import json
from dataclasses import replace

import pytest

from tabtap.errors import UserInputError

SECTIONS = [
    "purpose",
    "verdict",
    "why",
    "table",
    "rows_added",
    "certificates",
    "learners",
    "teacher",
    "privacy",
    "rules",
    "licences",
    "run",
    "versions",
    "limits",
]


def test_the_sheet_says_what_the_result_says(result):
    sheet = result.datasheet()

    assert list(sheet) == SECTIONS
    assert (sheet["verdict"], sheet["why"]) == ("augment", result.why)
    assert sheet["table"]["real_rows"] == 12
    assert sheet["table"]["sha256"] == result.real_sha256
    assert sheet["rows_added"]["rows"] == len(result.delivered) == 9
    assert sum(n["synthetic"] for n in sheet["rows_added"]["by_target"].values()) == 9
    assert [c["passed"] for c in sheet["certificates"]] == [
        c.committed for c in result.certificates
    ]
    last = result.certificates[-1]
    assert sheet["certificates"][-1]["gain_at_least"] == last.over_real.lower
    assert sheet["privacy"]["cells_most"] == result.privacy.cells_most
    assert sheet["rules"] == ["age > 0"]
    assert sheet["licences"] == {"tiny": "Apache-2.0"}
    assert "Not a privacy tool" in sheet["limits"]


def test_the_teacher_is_named_with_the_condition_of_its_licence(result):
    about = replace(
        result.about,
        teacher="tabpfn-v2",
        teacher_members={"tabpfn-v2": "TabPFNClassifier(), tabpfn 2.0"},
        teacher_condition="Models that learn from it must carry its name.",
    )

    taught = replace(result, about=about).datasheet()["teacher"]

    assert result.datasheet()["teacher"] is None
    assert taught["name"] == "tabpfn-v2"
    assert taught["condition"] == "Models that learn from it must carry its name."


def test_a_refusal_has_a_sheet_too(make_result, classes):
    sheet = make_result(classes, gain=-0.01).datasheet()

    assert sheet["rows_added"]["rows"] == 0
    assert sheet["privacy"] is None


def test_the_extension_says_whom_the_file_is_for(result, tmp_path):
    result.write_datasheet(tmp_path / "sheet.json")
    result.write_datasheet(tmp_path / "sheet.md")

    assert json.loads((tmp_path / "sheet.json").read_text()) == result.datasheet()
    text = (tmp_path / "sheet.md").read_text()
    assert text.startswith("# Augmentation data sheet\n\n## Purpose\n\nSynthetic rows")
    assert text.count("\n## ") == len(SECTIONS)
    assert "- **Cells most**: 4" in text
    assert "  - **maybe**:" in text
    assert "- Nothing was asked of anyone." in text


def test_names_of_strangers_are_no_markup_in_the_sheet(result, tmp_path):
    about = replace(result.about, rules=("a | b\n# <b>big</b> [x](y)",))

    replace(result, about=about).write_datasheet(tmp_path / "sheet.md")

    line = r"- a \| b \# \<b\>big\</b\> \[x\](y)"
    assert line in (tmp_path / "sheet.md").read_text().splitlines()


@pytest.mark.parametrize("name", ["sheet", "sheet.pdf"])
def test_another_extension_is_refused_with_the_way_out(result, tmp_path, name):
    with pytest.raises(UserInputError, match=r"must end in \.md .* Try 'sheet\.md'"):
        result.write_datasheet(tmp_path / name)
