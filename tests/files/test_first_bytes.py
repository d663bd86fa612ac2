"""A file that is not what its name says is named for what it looks like."""

import sqlite3

import pandas as pd
import pytest


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\x89PNG\r\n\x1a\n\x00\x00", "a PNG picture"),
        (b"%PDF-1.7\n", "a PDF document"),
        (b"PK\x03\x04rest", "a zip archive or an Excel workbook. Rename it to end in"),
        (b"\x1f\x8b\x08\x00", "a gzip file. Rename it to end in .csv.gz"),
        (b"\xd0\xcf\x11\xe0\xa1", "an Excel file of before 2007"),
        (b"  <!DOCTYPE html><html>", "a web page"),
        (b"a,b\n1,2\x00\n", "byte 7 is a NUL"),
    ],
)
def test_what_is_no_text_is_not_read_as_text(refusal, content, words):
    assert words in refusal(content)


def test_a_parquet_file_called_csv_is_recognised(refusal, tmp_path):
    pd.DataFrame({"a": [1]}).to_parquet(tmp_path / "real.parquet")

    said = refusal((tmp_path / "real.parquet").read_bytes())

    assert "looks like a Parquet file. Rename it to end in .parquet" in said


def test_a_database_called_csv_is_recognised(refusal, tmp_path):
    with sqlite3.connect(tmp_path / "base.db") as base:
        base.execute("create table t (a integer)")
    base.close()

    assert "SQLite" in refusal((tmp_path / "base.db").read_bytes())


@pytest.mark.parametrize("name", ["t.parquet", "t.xlsx", "t.csv.gz", "t.csv.zip"])
def test_text_under_another_name_is_recognised(refusal, name):
    assert "looks like plain text. Rename it to end in .csv" in refusal("a,b\n", name)
