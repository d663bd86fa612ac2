"""Parquet and Arrow files keep their schema, whatever rows are added."""

import datetime as dt

import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from tabtap.files import read_table, write_table

TABLE = pa.table(
    {
        "small": pa.array([1, None, 3], pa.int16()),
        "count": pa.array([1, 2, 3], pa.uint32()),
        "share": pa.array([0.1, None, 2.0], pa.float32()),
        "text": pa.array(["a", None, "c"], pa.string()),
        "flag": pa.array([True, None, False]),
        "day": pa.array([dt.date(2020, 1, 1), None, dt.date(2021, 5, 5)]),
        "moment": pa.array(
            [dt.datetime(2020, 1, 1, 10), None, dt.datetime(2020, 6, 1)],
            pa.timestamp("ms", "Europe/Berlin"),
        ),
        "level": pa.DictionaryArray.from_arrays(
            pa.array([2, None, 0], pa.int8()), ["low", "middle", "high"], ordered=True
        ),
    },
    metadata={b"source": b"trial 7"},
)


def write_feather(table, path):
    pyarrow.feather.write_feather(table, path)


def write_file(table, path):
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table)


def write_stream(table, path):
    with pa.ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table)


def read_file(path):
    return pa.ipc.open_file(path).read_all()


def read_stream(path):
    return pa.ipc.open_stream(path).read_all()


FORMS = {
    "parquet": ("t.parquet", pq.write_table, pq.read_table),
    "feather": ("t.feather", write_feather, pyarrow.feather.read_table),
    "arrow file": ("t.arrow", write_file, read_file),
    "arrow stream": ("t.arrow", write_stream, read_stream),
}


def both(frame, rows):
    return pd.concat([frame, frame.iloc[rows]], ignore_index=True)


@pytest.mark.parametrize("form", FORMS)
def test_new_rows_come_in_the_schema_of_the_file(tmp_path, form):
    name, write, read_back = FORMS[form]
    write(TABLE, str(tmp_path / name))
    table = read_table(tmp_path / name)
    out = tmp_path / f"out{name}"

    write_table(both(table.frame, [2, 1]), out, n_real=3, like=table)

    again = read_back(str(out))
    assert again.schema.equals(TABLE.schema, check_metadata=True)
    assert again.slice(0, 3).to_pylist() == TABLE.to_pylist()
    assert again.slice(3).to_pylist() == [TABLE.to_pylist()[2], TABLE.to_pylist()[1]]


@pytest.mark.parametrize("form", FORMS)
def test_without_new_rows_the_file_is_the_same(tmp_path, form):
    name, write, _ = FORMS[form]
    write(TABLE, str(tmp_path / name))
    table = read_table(tmp_path / name)

    write_table(table.frame, tmp_path / f"out{name}", n_real=3, like=table)

    assert (tmp_path / f"out{name}").read_bytes() == (tmp_path / name).read_bytes()


def test_rows_that_were_left_out_leave_the_others_as_they_were(tmp_path):
    pq.write_table(TABLE, tmp_path / "t.parquet")
    table = read_table(tmp_path / "t.parquet")

    write_table(table.frame.iloc[[2, 0]], tmp_path / "o.parquet", n_real=1, like=table)

    again = pq.read_table(tmp_path / "o.parquet")
    assert again.schema.equals(TABLE.schema, check_metadata=True)
    assert again.to_pylist() == [TABLE.to_pylist()[2], TABLE.to_pylist()[0]]


def test_whole_numbers_and_truths_beside_holes_stay_what_they_are(tmp_path):
    pq.write_table(TABLE, tmp_path / "t.parquet")

    frame = read_table(tmp_path / "t.parquet").frame

    assert [str(frame[name].dtype) for name in ("small", "count", "flag")] == [
        "Int16",
        "uint32",
        "boolean",
    ]
    assert frame["small"].tolist() == [1, pd.NA, 3]


def test_a_new_hole_in_whole_numbers_leaves_the_column_whole(tmp_path):
    plain = pa.table({"a": pa.array([1, 2], pa.int64())})
    pq.write_table(plain, tmp_path / "t.parquet")
    table = read_table(tmp_path / "t.parquet")
    frame = pd.DataFrame({"a": pd.array([1, 2, None], dtype="Int64")})

    write_table(frame, tmp_path / "o.parquet", n_real=2, like=table)

    again = pq.read_table(tmp_path / "o.parquet")
    assert again.schema.field("a").type == pa.int64()
    assert again["a"].to_pylist() == [1, 2, None]


def test_what_pandas_says_about_the_table_stays(tmp_path):
    frame = pd.DataFrame(
        {
            "whole": pd.array([1, None], dtype="Int64"),
            "level": pd.Categorical(["b", "a"], categories=["b", "a", "c"]),
            "moment": pd.to_datetime(["2020-01-01", None]).tz_localize("Asia/Tokyo"),
        }
    )
    frame.to_parquet(tmp_path / "t.parquet")
    table = read_table(tmp_path / "t.parquet")

    write_table(both(frame, [1]), tmp_path / "o.parquet", n_real=2, like=table)

    described = pq.read_schema(tmp_path / "o.parquet").pandas_metadata
    assert described["index_columns"][0]["stop"] == 3
    pd.testing.assert_frame_equal(table.frame, frame)
    pd.testing.assert_frame_equal(
        pd.read_parquet(tmp_path / "o.parquet"), both(frame, [1])
    )


def test_an_index_is_kept_apart_and_goes_on_counting(tmp_path):
    pd.DataFrame({"a": [1.5, 2.5]}, index=pd.Index([7, 4], name="id")).to_parquet(
        tmp_path / "t.parquet"
    )
    table = read_table(tmp_path / "t.parquet")

    write_table(both(table.frame, [0]), tmp_path / "o.parquet", n_real=2, like=table)

    assert table.frame.columns.tolist() == ["a"]
    assert table.frame.index.tolist() == [0, 1]
    assert "index 'id' kept apart" in table.notes[0]
    assert pd.read_parquet(tmp_path / "o.parquet").index.tolist() == [7, 4, 8]


def test_column_names_that_are_numbers_become_text(tmp_path):
    pa_table = pa.Table.from_pandas(pd.DataFrame({0: [1], 1: ["x"]}))
    pq.write_table(pa_table, tmp_path / "t.parquet")

    assert read_table(tmp_path / "t.parquet").frame.columns.tolist() == ["0", "1"]


def test_a_mark_is_one_more_column(tmp_path):
    pq.write_table(TABLE, tmp_path / "t.parquet")
    table = read_table(tmp_path / "t.parquet")

    write_table(
        both(table.frame, [0]), tmp_path / "o.parquet", n_real=3, like=table, mark="new"
    )

    again = pq.read_table(tmp_path / "o.parquet")
    assert again["new"].to_pylist() == [0, 0, 0, 1]
    assert again.drop_columns(["new"]).schema.equals(TABLE.schema)


def test_a_cell_that_holds_a_list_is_refused(tmp_path, refusal):
    pq.write_table(pa.table({"a": [[1, 2]], "b": [1]}), tmp_path / "t.parquet")

    said = refusal((tmp_path / "t.parquet").read_bytes(), "t.parquet")

    assert "holds lists or structures inside cells: 'a' (list<" in said


def test_half_a_file_is_said_to_be_damaged(tmp_path, refusal):
    pq.write_table(TABLE, tmp_path / "t.parquet")
    content = (tmp_path / "t.parquet").read_bytes()

    assert "cannot be read as a parquet file" in refusal(content[:200], "t.parquet")


def test_a_file_without_rows_is_refused(tmp_path, refusal):
    pq.write_table(TABLE.slice(0, 0), tmp_path / "t.parquet")

    assert "has 8 columns and 0 rows" in refusal(
        (tmp_path / "t.parquet").read_bytes(), "t.parquet"
    )
