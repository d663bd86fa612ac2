import pandas as pd
import pytest

from tabtap.errors import FileFormatError
from tabtap.inspection import (
    Remark,
    inspect_table,
    read_schema_file,
    schema_file_text,
)
from tabtap.table import read_frame

NAMES = ["plain", 'with "quotes"', "a = b", "two\nlines", "Größe", "#", "del\x7f", ""]


def table_of(names):
    columns = {name: [i + k * 1.5 for i in range(12)] for k, name in enumerate(names)}
    return read_frame(pd.DataFrame({**columns, "y": ["a", "b"] * 6}), "y")


def written(tmp_path, text):
    path = tmp_path / "schema.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_what_is_written_is_read_back_whatever_columns_are_called(tmp_path):
    table = table_of(NAMES)
    path = written(tmp_path, schema_file_text(table, inspect_table(table)))

    said = read_schema_file(path, [*NAMES, "y"])

    assert (said.target, said.task, said.groups) == ("y", "classification", None)
    kinds = [column.kind.value for column in table.schema.features]
    assert list(said.kinds.items()) == list(zip(NAMES, kinds, strict=True))


def test_remarks_stand_as_comments_above_their_columns():
    table = table_of(["a", "b"])
    remarks = [
        Remark(topic="leak", column="b", text="tells\nall", setting="ignore"),
        Remark(topic="groups", column="a", text="comes back", setting="groups"),
    ]

    lines = schema_file_text(table, remarks).split("\n")

    at = lines.index("# tells all")
    assert lines[at + 1].startswith('"b" = ')
    assert '# groups = "a"  # rows that belong together' in lines


def test_ignored_columns_are_identifiers(tmp_path):
    path = written(tmp_path, 'groups = "b"\n[columns]\na = "ignore"\n')

    said = read_schema_file(path, ["a", "b", "y"])

    assert said.kinds == {"a": "identifier"}
    assert said.groups == "b"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('target = "z"', "line 1: there is no column 'z'"),
        ('\ntask = "regresion"', "line 2: task 'regresion' is unknown"),
        ('[columns]\nage = "integr"', "line 2: kind 'integr' is unknown"),
        ('[columns]\nage = "integr"', "Did you mean 'integer'"),
        ('[columns]\n\n"agge" = "integer"', "line 3: there is no column 'agge'"),
        ("[columns]\nage = 3", "line 2: kind 3 is unknown. Accepted: continuous"),
        (
            'tarqet = "age"',
            "line 1: the key 'tarqet' is unknown. Did you mean 'target'",
        ),
        ('columns = "age"', "line 1: 'columns' is not a section"),
        ('target = "age', "is not TOML"),
    ],
)
def test_a_mistake_is_told_with_its_line_and_what_is_accepted(tmp_path, text, said):
    path = written(tmp_path, text)

    with pytest.raises(FileFormatError) as told:
        read_schema_file(path, ["age", "y"])

    assert said in str(told.value)


def test_a_file_that_is_not_there_or_not_text_is_said(tmp_path):
    (tmp_path / "latin.toml").write_bytes(b'target = "Gr\xf6\xdfe"')

    with pytest.raises(FileFormatError, match="cannot be read"):
        read_schema_file(tmp_path / "none.toml", ["y"])
    with pytest.raises(FileFormatError, match="not UTF-8"):
        read_schema_file(tmp_path / "latin.toml", ["y"])
