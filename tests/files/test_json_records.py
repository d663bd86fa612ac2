"""JSON lines and lists of records: flat objects, and the same text back."""

import pandas as pd
import pytest

from tabtap.files import read_table, write_table

LINES = '{"a": 1, "b": "x", "t": "2020-01-31"}\n{"a": null, "t": "2020-02-01"}\n'


def with_first_again(table):
    return pd.concat([table.frame, table.frame.iloc[[0]]], ignore_index=True)


def test_values_come_in_their_types(read):
    table = read(LINES, "t.jsonl")

    assert table.frame.columns.tolist() == ["a", "b", "t"]
    assert table.frame["a"].tolist() == [1, pd.NA]
    assert table.frame["b"].isna().tolist() == [False, True]
    assert table.frame["t"].dtype == "datetime64[s]"


@pytest.mark.parametrize(
    ("name", "text", "out"),
    [
        ("t.jsonl", '{"a":1}\n{"a":2}\n', '{"a":1}\n{"a":2}\n{"a":1}\n'),
        ("t.ndjson", '{"a": 1.5}\r\n{"a": 2}', '{"a": 1.5}\r\n{"a": 2}\r\n{"a": 1.5}'),
        ("t.jsonl", '{"a":"é"}\n{}\n', '{"a":"é"}\n{}\n{"a":"é"}\n'),
        ("t.json", '[{"a":1},{"a":2}]', '[{"a":1},{"a":2},{"a":1}]'),
        ("t.json", '[\n {"a": 1},\n {"a": 2}\n]\n',
         '[\n {"a": 1},\n {"a": 2},\n {"a": 1}\n]\n'),
        ("t.json", '{"a":1}\n{"a":2}\n', '{"a":1}\n{"a":2}\n{"a":1}\n'),
    ],
)  # fmt: skip
def test_new_records_follow_the_old_ones_in_their_style(
    read, tmp_path, name, text, out
):
    table = read(text, name)
    path = tmp_path / f"out{name}"

    write_table(table.frame, path, n_real=2, like=table)
    same = path.read_bytes().decode()
    write_table(with_first_again(table), path, n_real=2, like=table, force=True)

    assert same == text
    assert path.read_bytes().decode() == out


def test_a_mark_is_one_more_key(read, tmp_path):
    table = read(LINES, "t.jsonl")

    write_table(
        with_first_again(table), tmp_path / "o.jsonl", n_real=2, like=table, mark="new"
    )

    assert (tmp_path / "o.jsonl").read_text() == (
        '{"a": 1, "b": "x", "t": "2020-01-31", "new": 0}\n'
        '{"a": null, "t": "2020-02-01", "new": 0}\n'
        '{"a": 1, "b": "x", "t": "2020-01-31", "new": 1}\n'
    )


def test_a_missing_value_is_written_as_its_column_writes_it(read, tmp_path):
    table = read(LINES, "t.jsonl")
    frame = pd.concat([table.frame, table.frame.iloc[[1]]], ignore_index=True)

    write_table(frame, tmp_path / "o.jsonl", n_real=2, like=table)

    lines = (tmp_path / "o.jsonl").read_text().splitlines()
    assert lines[2] == '{"a": null, "t": "2020-02-01"}'


def test_a_frame_becomes_records_that_pandas_reads(tmp_path):
    frame = pd.DataFrame({"a": [1, 2], "b": ["x", "y"], "c": [0.5, None]})

    write_table(frame, tmp_path / "o.json", n_real=2)
    write_table(frame, tmp_path / "o.jsonl.gz", n_real=2)

    pd.testing.assert_frame_equal(
        pd.read_json(tmp_path / "o.json", orient="records"), frame
    )
    pd.testing.assert_frame_equal(read_table(tmp_path / "o.jsonl.gz").frame, frame)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("t.jsonl", '{"a":1}\n{"a":\n[1]\n', "line 2 (Expecting value), line 3 (no ob"),
        ("t.jsonl", '{"a":1,"a":2}\n', "line 1 (the key 'a' twice)"),
        (
            "t.jsonl",
            '{"a":[1]}\n{"a":{}}\n',
            "lists or objects inside cells: 'a' (line",
        ),
        ("t.jsonl", "{}\n", "holds no records"),
        ("t.json", '{"a":[1,2],"b":[3,4]}', "is not a list of records"),
        ("t.json", '[{"a":1},{"a":2', "record 2 (Expecting ',' delimiter)"),
        ("t.json", "[1,2]", "record 1 (no object)"),
        ("t.json", "[]", "holds no records"),
    ],
)
def test_what_is_no_flat_record_is_refused(refusal, name, text, words):
    assert words in refusal(text, name)
