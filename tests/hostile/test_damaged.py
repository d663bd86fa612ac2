"""Files that are damaged or odd: exit code 2 and a sentence with the way out."""

import bz2
import gzip
import io
import json
import lzma
import re
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

N_ROWS = 30
GOLDEN = Path(__file__).parents[1] / "guards" / "files"
FRAME = pd.DataFrame(
    {
        "a": np.arange(N_ROWS) * 1.5,
        "b": ["x", "y", "z"] * 10,
        "t": ["no", "yes"] * 15,
    }
)
ARROW = pa.Table.from_pandas(FRAME, preserve_index=False)
NOTED = json.loads(ARROW.schema.metadata[b"pandas"])
CSV = FRAME.to_csv(index=False).encode()
SHEET, BOOK = "xl/worksheets/sheet1.xml", "xl/workbook.xml"
LINKS = "xl/_rels/workbook.xml.rels"


def text(first, *, end=b"1.5,x,yes\n"):
    """Return a table of text whose first row is given."""
    return b"a,b,t\n" + first + b"2.5,y,no\n" + end * 12


def records(first):
    """Return a list of JSON records whose first is given."""
    others = [{"a": i + 0.5, "b": "x", "t": ("no", "yes")[i % 2]} for i in range(14)]
    return b"[" + first + b", " + json.dumps(others).encode()[1:]


def workbook(edit=lambda _, content: content):
    """Return an Excel file with each of its parts passed through ``edit``."""
    whole, packed = io.BytesIO(), io.BytesIO()
    FRAME.to_excel(whole, index=False)
    with zipfile.ZipFile(whole) as old, zipfile.ZipFile(packed, "w", 8) as new:
        for name in old.namelist():
            content = edit(name, old.read(name))
            if content is not None:
                new.writestr(name, content)
    return packed.getvalue()


def without(part):
    return workbook(lambda name, content: None if name == part else content)


def with_part(part, content):
    return workbook(lambda name, old: content if name == part else old)


def with_sheet(old, new):
    def edit(name, content):
        if name != SHEET:
            return content
        assert old in content
        return content.replace(old, new, 1)

    return workbook(edit)


def cut_sheet():
    return workbook(lambda name, c: c[: len(c) // 2] if name == SHEET else c)


def parquet(table=ARROW, **noted):
    """Return a Parquet file with something else in its notes by pandas."""
    if noted:
        table = table.replace_schema_metadata(
            {"pandas": json.dumps({**NOTED, **noted})}
        )
    sink = io.BytesIO()
    pyarrow.parquet.write_table(table, sink)
    return sink.getvalue()


def noting(content):
    return parquet(ARROW.replace_schema_metadata({"pandas": content}))


def feather(table=ARROW):
    sink = io.BytesIO()
    pyarrow.feather.write_feather(table, sink)
    return sink.getvalue()


def column_of(values, kind):
    return parquet(pa.table({"a": pa.array(values, kind), "t": ["no", "yes"] * 15}))


def broken_letters():
    offsets = pa.array(range(N_ROWS + 1), pa.int32()).buffers()[1]
    letters = pa.py_buffer(b"\xff" * N_ROWS)
    return pa.StringArray.from_buffers(N_ROWS, offsets, letters)


def flip(content, start):
    return content[:start] + b"\xff" * 30 + content[start + 30 :]


def one_column(**about):
    known = {"name": "a", "field_name": "a", "metadata": None}
    return [{**known, "pandas_type": "float64", "numpy_type": "float64", **about}]


DAMAGED = {
    # Text.
    "mark alone.csv": lambda: b"\xef\xbb\xbf",
    "mark of 16 bits alone.csv": lambda: b"\xff\xfe",
    "mark and blank lines.csv": lambda: b"\xef\xbb\xbf\r\n\r\n",
    "mark alone.jsonl": lambda: b"\xef\xbb\xbf",
    "mark alone.json": lambda: b"\xef\xbb\xbf",
    "nul.csv": lambda: text(b"1.5,x\x00,no\n"),
    "nul behind a mark.csv": lambda: b"\xef\xbb\xbf" + text(b"1.5,x\x00,no\n"),
    "half of 16 bits.csv": lambda: b"\xff\xfe" + CSV.decode().encode("utf-16-le")[:-1],
    "half a character.csv": lambda: b"\xff\xfe\x00\xd8a\x00",
    "very long cell.csv": lambda: text(b"1.5," + b"x" * 140_000 + b",no\n"),
    "very long quoted cell.csv": lambda: text(b'1.5,"' + b"x" * 140_000 + b'",no\n'),
    "very long name.csv": lambda: b"x" * 140_000 + b"," + CSV,
    "separator line alone.csv": lambda: b"sep=;\n",
    "quote alone.csv": lambda: b'"',
    "quote never closed.csv": lambda: text(b'1.5,"x,no\n'),
    "100,000 columns.csv": lambda: (
        b",".join(b"c%d" % i for i in range(100_000))
        + b"\n"
        + b",".join([b"1"] * 100_000)
    ),
    "cut.csv.gz": lambda: gzip.compress(CSV)[:-10],
    "flipped.csv.gz": lambda: flip(gzip.compress(CSV), 20),
    "cut.csv.bz2": lambda: bz2.compress(CSV)[:-10],
    "cut.csv.xz": lambda: lzma.compress(CSV)[:-10],
    "cut.csv.zst": lambda: b"\x28\xb5\x2f\xfd\x00",
    "cut.csv.zip": lambda: b"PK\x03\x04" + bytes(50),
    # JSON.
    "digits.json": lambda: records(b'{"a": ' + b"1" * 4_301 + b"}"),
    "half a character.json": lambda: records(b'{"b": "\\ud800", "t": "no"}'),
    "half a character in a key.json": lambda: records(b'{"\\udfff": 1, "t": "no"}'),
    "half a character.jsonl": lambda: b'{"b": "\\uD83d"}\n{"b": "x"}\n',
    "deep list.json": lambda: b"[" * 100_000,
    "deep cell.json": lambda: b'[{"a":' + b"[" * 100_000,
    "deep objects.json": lambda: b'[{"a":' + b'{"a":' * 100_000,
    "deep.jsonl": lambda: b'{"a":' + b"[" * 100_000,
    "twice.json": lambda: records(b'{"a": 1, "a": 2}'),
    "cut.json": lambda: records(b'{"a": 1}')[:-5],
    "number.json": lambda: b"1",
    "null.json": lambda: b"null",
    "numbers.jsonl": lambda: b"1\n2\n",
    # Excel.
    "cut.xlsx": lambda: workbook()[:-500],
    "flipped.xlsx": lambda: flip(workbook(), 1500),
    "cut sheet.xlsx": cut_sheet,
    "broken sheet.xlsx": lambda: with_part(SHEET, b"<a"),
    "empty sheet.xlsx": lambda: with_part(SHEET, b""),
    "no sheet.xlsx": lambda: without(SHEET),
    "no book.xlsx": lambda: without(BOOK),
    "broken book.xlsx": lambda: with_part(BOOK, b"<x"),
    "other book.xlsx": lambda: with_part(BOOK, b"<x/>"),
    "no types.xlsx": lambda: without("[Content_Types].xml"),
    "no links.xlsx": lambda: without(LINKS),
    "broken links.xlsx": lambda: with_part(LINKS, b"<x"),
    "broken styles.xlsx": lambda: with_part("xl/styles.xml", b"<x"),
    "no number.xlsx": lambda: with_sheet(b"<v>1.5</v>", b"<v>abc</v>"),
    "no place.xlsx": lambda: with_sheet(b'r="A2"', b'r="$$"'),
    "place far right.xlsx": lambda: with_sheet(b'r="A2"', b'r="ZZZZZ2"'),
    "no row.xlsx": lambda: with_sheet(b'<row r="2"', b'<row r="x"'),
    "row far down.xlsx": lambda: with_sheet(b'<row r="2"', b'<row r="999999999"'),
    "no date.xlsx": lambda: with_sheet(
        b'<c r="A2" t="n"><v>0</v>', b'<c r="A2" t="d"><v>soon</v>'
    ),
    "no truth.xlsx": lambda: with_sheet(
        b'<c r="A2" t="n"><v>0</v>', b'<c r="A2" t="b"><v>z</v>'
    ),
    "no text.xlsx": lambda: with_sheet(
        b'<c r="A2" t="n"><v>0</v>', b'<c r="A2" t="s"><v>999999</v>'
    ),
    # Parquet and Arrow.
    "cut.parquet": lambda: parquet()[:-50],
    "flipped.parquet": lambda: flip(parquet(), 200),
    "notes no json.parquet": lambda: noting(b"not json"),
    "notes no text.parquet": lambda: noting(b"\xff\xfe"),
    "notes a list.parquet": lambda: noting(b"[]"),
    "notes a number.parquet": lambda: noting(b"3"),
    "notes empty.parquet": lambda: noting(b"{}"),
    "notes deep.parquet": lambda: noting(b"[" * 100_000),
    "notes of no columns.parquet": lambda: parquet(columns=3),
    "notes of odd columns.parquet": lambda: parquet(columns=[{"x": 1}]),
    "notes of odd names.parquet": lambda: parquet(column_indexes=3),
    "notes of odd attributes.parquet": lambda: parquet(attributes=3),
    "index a number.parquet": lambda: parquet(index_columns=3),
    "index null.parquet": lambda: parquet(index_columns=None),
    "index elsewhere.parquet": lambda: parquet(index_columns=["nope"]),
    "index without end.parquet": lambda: parquet(index_columns=[{"kind": "range"}]),
    "index without step.parquet": lambda: parquet(
        index_columns=[
            {"kind": "range", "name": None, "start": 0, "stop": 5, "step": 0}
        ]
    ),
    "odd dtype.parquet": lambda: parquet(columns=one_column(numpy_type="foo")),
    "wrong dtype.parquet": lambda: parquet(columns=one_column(numpy_type="Int64")),
    "letters no text.parquet": lambda: parquet(
        pa.table({"a": broken_letters(), "t": ["no", "yes"] * 15})
    ),
    "year six million.parquet": lambda: column_of([2**31 - 1] * 30, pa.date32()),
    "zone nowhere.parquet": lambda: column_of(
        [1] * 30, pa.timestamp("us", "Mars/Olympus")
    ),
    "nothing.parquet": lambda: column_of([None] * 30, pa.null()),
    "lists.parquet": lambda: column_of([[1]] * 30, pa.list_(pa.int8())),
    "20,000 columns.parquet": lambda: parquet(
        pa.table({f"c{i}": [1] for i in range(20_000)})
    ),
    "cut.feather": lambda: feather()[:-50],
    "flipped.feather": lambda: flip(feather(), 300),
    "notes no json.feather": lambda: feather(
        ARROW.replace_schema_metadata({"pandas": b"not json"})
    ),
    "notes of odd columns.feather": lambda: feather(
        ARROW.replace_schema_metadata({"pandas": b'{"columns": [{"x": 1}]}'})
    ),
    "not arrow.arrow": lambda: b"\xff\xff\xff\xff\x10\x00\x00\x00" + bytes(40),
    "huge part.arrow": lambda: b"\xff\xff\xff\xff\xff\xff\xff\x7f" + bytes(40),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_file_is_refused_with_a_sentence(tabtap, tmp_path, name):
    content = DAMAGED[name]()
    (tmp_path / name).write_bytes(content)

    answer = tabtap("inspect", name, "--target", "t")

    answer.assert_harmless()
    assert (answer.code, answer.out) == (2, "")
    assert answer.sentence.startswith("Error: ")
    assert answer.sentence.endswith((".", "?"))
    assert len(answer.sentence) < 1_000
    assert (tmp_path / name).read_bytes() == content


ODD = {
    "digits after a point.csv": lambda: text(b"1." + b"1" * 4_301 + b",x,no\n"),
    "largest.csv": lambda: text(b"1e308,x,no\n-1e308,x,yes\n"),
    "smallest.csv": lambda: text(b"5e-324,x,no\n"),
    "largest.json": lambda: records(b'{"a": -1.7e308, "t": "no"}'),
    "beyond 64 bits.json": lambda: records(b'{"a": 36893488147419103232, "t": "no"}'),
    "not a number.json": lambda: records(b'{"a": NaN, "t": "no"}'),
    "no styles.xlsx": lambda: without("xl/styles.xml"),
    "odd style.xlsx": lambda: with_sheet(b'<c r="A2"', b'<c r="A2" s="999"'),
    "infinite.xlsx": lambda: with_sheet(b"<v>1.5</v>", b"<v>1e308</v>"),
    "size out of date.xlsx": lambda: workbook(
        lambda name, c: (
            re.sub(rb'(<dimension ref=)"[^"]*"', rb'\1"A1:C11"', c)
            if name == SHEET
            else c
        )
    ),
    "size beyond all.xlsx": lambda: workbook(
        lambda name, c: (
            re.sub(rb'(<dimension ref=)"[^"]*"', rb'\1"A1:XFD1048576"', c)
            if name == SHEET
            else c
        )
    ),
    "size no size.xlsx": lambda: workbook(
        lambda name, c: (
            re.sub(rb'(<dimension ref=)"[^"]*"', rb'\1"foo"', c) if name == SHEET else c
        )
    ),
    "short floats.parquet": lambda: column_of(np.arange(30, dtype="f2"), pa.float16()),
    "far times.parquet": lambda: column_of([2**52] * 29 + [1], pa.timestamp("ms")),
}
"""Odd, and yet tables."""


@pytest.mark.parametrize("name", ODD)
def test_an_odd_file_is_read_whole(tabtap, tmp_path, name):
    (tmp_path / name).write_bytes(ODD[name]())

    answer = tabtap("inspect", name, "--target", "t", "--json")

    answer.assert_harmless()
    assert answer.code == 0, answer.said
    n_rows = json.loads(answer.out)["n_rows"]
    assert n_rows == (N_ROWS if name.endswith(("xlsx", "parquet")) else n_rows)
    assert n_rows >= 14


BEYOND = {
    "digits.csv": lambda: text(b"1" * 4_301 + b",x,no\n"),
    "infinite.csv": lambda: text(b"1e309,x,no\n"),
    "infinite.json": lambda: records(b'{"a": 1e309, "t": "no"}'),
    "named infinite.json": lambda: records(b'{"a": -Infinity, "t": "no"}'),
    "digits.json": lambda: records(b'{"a": ' + b"1" * 400 + b', "t": "no"}'),
}


@pytest.mark.parametrize("name", BEYOND)
def test_a_column_of_numbers_beyond_floats_is_marked_and_not_learned(
    tabtap, tmp_path, name
):
    (tmp_path / name).write_bytes(BEYOND[name]())

    looked = tabtap("inspect", name, "--target", "t")
    asked = tabtap("augment", name, "--target", "t")

    looked.assert_harmless()
    asked.assert_harmless()
    assert (looked.code, asked.code) == (3, 2)
    assert "UNCLEAR" in looked.out


TOML = {
    "deep": "a = " + "[" * 50_000,
    "deep tables": "a = " + "{a = " * 50_000,
    "digits": "target = " + "1" * 5_000,
    "cut": 'target = "',
    "control": 'target = "\x01"',
    "list": 'target = ["t"]',
    "number": "target = 3",
    "kinds of kinds": "[columns]\na = [1]",
    "task": "task = [1, 2]",
    "date": "target = 1979-05-27",
    "twice": 'target = "t"\ntarget = "t"',
    "no section": "columns = 3",
    "rule of numbers": "rule = [1, 2]",
    "rule a table": "[rule]\nname = 1",
    "rule without text": "[[rule]]\nname = 'a'",
    "rule of lists": "[[rule]]\nname = ['a']\ntext = ['a > 1']",
    "rule too deep": "[[rule]]\nname = 'a'\ntext = '" + "(" * 5_000 + "'",
    "rule too long": "[[rule]]\nname = 'a'\ntext = '" + "a + " * 5_000 + "a > 1'",
}


@pytest.mark.parametrize("option", ["--schema", "--rules"])
@pytest.mark.parametrize("kind", TOML)
def test_a_file_of_settings_that_says_nothing_is_refused(
    tabtap, tmp_path, kind, option
):
    (tmp_path / "table.csv").write_bytes(CSV)
    (tmp_path / "said.toml").write_text(TOML[kind], encoding="utf-8")
    command = "inspect" if option == "--schema" else "check"

    answer = tabtap(command, "table.csv", "-t", "t", option, "said.toml")

    answer.assert_harmless()
    assert answer.code == 2
    assert answer.sentence.startswith("Error: ")


@pytest.mark.parametrize("command", ["report", "forget"])
def test_what_a_forged_result_makes_of_us_is_a_sentence(tabtap, monkeypatch, command):
    def fail(*_, **__):
        raise KeyError("augment")

    monkeypatch.setattr("tabtap.report.write_report", fail)
    monkeypatch.setattr("tabtap.result.AugmentResult.forget", fail)
    rows = ["--row=3"] if command == "forget" else []

    answer = tabtap(command, GOLDEN / "penguins.tap", *rows, "--out=new")

    answer.assert_harmless()
    assert answer.code == 2
    assert "holds what no result should" in answer.sentence


def test_a_row_that_a_result_does_not_have_is_no_damage(tabtap):
    answer = tabtap("forget", GOLDEN / "penguins.tap", "--row=9999", "--out=new")

    assert answer.code == 2
    assert "holds what no result should" not in answer.sentence
