"""Small files that stand for large tables are refused before they are unpacked.

Memory is said to be scarce, so that no test needs much of it; what reading takes is
measured in time, for a file that is read after all takes many times longer.
"""

import io
import json
import time
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from tabtap.errors import UserInputError
from tabtap.files import opening, read_table

FREE = 50_000_000
N_ROWS = 1_000_000
SHEET = (
    '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">'
    "{}<sheetData>{}</sheetData></worksheet>"
)


def zeros():
    return pa.table({f"c{i}": np.zeros(N_ROWS) for i in range(5)})


def parquet(table, **settings):
    sink = io.BytesIO()
    pyarrow.parquet.write_table(table, sink, **settings)
    return sink.getvalue()


def feather(table, **settings):
    sink = io.BytesIO()
    pyarrow.feather.write_feather(table, sink, **settings)
    return sink.getvalue()


def stream(table):
    sink = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    return sink.getvalue()


def repeated(letter, size, n_rows):
    rows = pa.array(np.zeros(n_rows, dtype=np.int64))
    return pa.array([letter * size]).take(rows)


def views():
    """Return texts that are all the same letters of one buffer."""
    one = pa.array(["x" * 100_000]).cast(pa.string_view())
    many = np.tile(np.frombuffer(one.buffers()[1], np.uint8)[:16], 4_000)
    buffers = [None, pa.py_buffer(many.tobytes()), pa.py_buffer(b"x" * 100_000)]
    return pa.Array.from_buffers(pa.string_view(), 4_000, buffers)


def workbook(cells, above=""):
    """Return an Excel file whose only sheet is given as XML."""
    whole, packed = io.BytesIO(), io.BytesIO()
    pd.DataFrame({"a": [1]}).to_excel(whole, index=False)
    with zipfile.ZipFile(whole) as old, zipfile.ZipFile(packed, "w", 8) as new:
        for name in old.namelist():
            is_sheet = name.endswith("sheet1.xml")
            sheet = SHEET.format(above, cells)
            new.writestr(name, sheet if is_sheet else old.read(name))
    return packed.getvalue()


def far_right(n_rows):
    return "".join(
        f'<row r="{i}"><c r="GAA{i}"><v>1</v></c></row>' for i in range(1, n_rows)
    )


BOMBS = {
    "equal numbers.parquet": lambda: parquet(zeros()),
    "packed numbers.parquet": lambda: parquet(
        zeros(), use_dictionary=False, compression="zstd"
    ),
    "one long text.parquet": lambda: parquet(
        pa.table({"a": repeated("x", 50_000, 3_000)})
    ),
    "one long binary.parquet": lambda: parquet(
        pa.table({"a": repeated(b"x", 50_000, 3_000).cast(pa.binary(50_000))})
    ),
    "nothing at all.parquet": lambda: parquet(pa.table({"a": pa.nulls(5 * N_ROWS)})),
    "packed numbers.feather": lambda: feather(zeros(), compression="zstd"),
    "quickly packed numbers.feather": lambda: feather(zeros(), compression="lz4"),
    "packed stream.arrow": lambda: stream(zeros()),
    "one packed text.feather": lambda: feather(
        pa.table({"a": repeated("x", 50_000, 3_000)}), compression="zstd"
    ),
    "packed levels.feather": lambda: feather(
        pa.table({"a": pa.array(["x" * 20_000_000]).dictionary_encode()}),
        compression="zstd",
    ),
    "shared letters.feather": lambda: feather(pa.table({"a": views()})),
    "nothing at all.feather": lambda: feather(pa.table({"a": pa.nulls(5 * N_ROWS)})),
    "empty rows.xlsx": lambda: workbook("<row/>" * 1_000_000),
    "cells.xlsx": lambda: workbook(
        ("<row>" + "<c><v>1</v></c>" * 500 + "</row>") * 999
    ),
    "far right.xlsx": lambda: workbook(far_right(20_000)),
    "last column.xlsx": lambda: workbook('<row><c r="XFD1"><v>1</v></c></row>' * 2),
    "far down.xlsx": lambda: workbook(
        '<row r="1"><c><v>1</v></c></row><row r="999999999"><c><v>1</v></c></row>'
    ),
    "a key for each.json": lambda: json.dumps(
        [{f"k{i}": 1} for i in range(15_000)]
    ).encode(),
    "4,000 keys by turns.json": lambda: json.dumps(
        [{f"k{i % 4_000}": 1} for i in range(15_000)]
    ).encode(),
    "a list for each key.json": lambda: json.dumps(
        [{f"k{i}": [] for i in range(15_000)}]
    ).encode(),
    "a list in each line.jsonl": lambda: "\n".join(
        json.dumps({f"k{i}": []}) for i in range(15_000)
    ).encode(),
    "the last key twice.json": lambda: (
        "[{" + ",".join(f'"k{i}":1' for i in range(15_000)) + ',"k14999":1}]'
    ).encode(),
    "100,000 names.csv": lambda: (
        ",".join(f"c{i}" for i in range(100_000)) + "\n" + "1," * 99_999 + "1\n"
    ).encode(),
    "20,000 names.parquet": lambda: parquet(
        pa.table({f"c{i}": [1] for i in range(20_000)})
    ),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused_at_once(tmp_path, free_memory, name):
    content = BOMBS[name]()
    assert len(content) < 6_000_000
    (tmp_path / name).write_bytes(content)
    free_memory(FREE)
    begun = time.process_time()

    with pytest.raises(UserInputError) as caught:
        read_table(tmp_path / name)

    assert time.process_time() - begun < 2.0
    assert "\n" not in str(caught.value)


SLOW = {
    "digits and a letter.csv": lambda: b"a,b\n" + b"1" * 130_000 + b"x,1\n" * 3,
    "blank lines.csv": lambda: b"a,b\n" + b"\n" * 300_000 + b"1,2\n",
    "4,000 columns.csv": lambda: (
        ",".join(f"c{i}" for i in range(4_000)) + "\n" + "1," * 3_999 + "1\n"
    ).encode(),
    "200,000 records.json": lambda: b"[" + b'{"a": 1},' * 100_000 + b'{"a": 1}]',
    "size of a sheet.xlsx": lambda: workbook(
        '<row><c t="str"><v>a</v></c></row><row><c><v>1</v></c></row>',
        '<dimension ref="A1:XFD1048576"/>',
    ),
}


@pytest.mark.parametrize("name", SLOW)
def test_what_is_only_tedious_is_read_in_linear_time(tmp_path, name):
    (tmp_path / name).write_bytes(SLOW[name]())
    begun = time.process_time()

    table = read_table(tmp_path / name)

    assert len(table.frame)
    assert time.process_time() - begun < 3.0


def test_tables_that_fit_are_read_however_well_they_are_packed(tmp_path, free_memory):
    numbers = pa.array(np.arange(3_000) % 5).dictionary_encode()
    texts = repeated("x", 1_000, 3_000)
    table = pa.table({"a": texts, "b": numbers, "c": texts.dictionary_encode()})
    (tmp_path / "a.parquet").write_bytes(parquet(table))
    free_memory(FREE)

    assert len(read_table(tmp_path / "a.parquet").frame) == 3_000


@pytest.mark.parametrize("codec", ["zstd", "lz4", "uncompressed"])
def test_the_size_of_an_arrow_file_is_known_before_it_is_unpacked(
    tmp_path, monkeypatch, codec
):
    levels = pa.array(["x" * 100, "y" * 100] * 500).dictionary_encode()
    table = pa.table({"a": np.zeros(1_000), "b": levels})
    (tmp_path / "a.feather").write_bytes(feather(table, compression=codec))
    asked = []
    monkeypatch.setattr(
        "tabtap.files.arrow_files.check_unpacked",
        lambda size, *_: asked.append(size),
    )

    read_table(tmp_path / "a.feather")

    assert asked[0] == pytest.approx(8_000 + 4_000 + 200, rel=0.05)


def test_a_sheet_is_read_to_its_last_row_whatever_it_says_of_itself(tmp_path):
    frame = pd.DataFrame({"a": range(60), "b": range(60)})
    content = io.BytesIO()
    frame.to_excel(content, index=False)
    (tmp_path / "a.xlsx").write_bytes(content.getvalue())
    with zipfile.ZipFile(tmp_path / "a.xlsx") as whole:
        sheet = whole.read("xl/worksheets/sheet1.xml").decode()
    rows = sheet.partition("<sheetData>")[2].partition("</sheetData>")[0]
    (tmp_path / "b.xlsx").write_bytes(workbook(rows, '<dimension ref="A1:B31"/>'))

    read = read_table(tmp_path / "b.xlsx").frame

    pd.testing.assert_frame_equal(read, frame)


def test_no_table_is_refused_where_nobody_knows_how_much_memory_there_is(
    tmp_path, free_memory
):
    (tmp_path / "a.parquet").write_bytes(parquet(pa.table({"a": [1.5, 2.5]})))
    free_memory(None)

    assert opening.fits(2**62, "parquet")
    assert len(read_table(tmp_path / "a.parquet").frame) == 2


def zigzag(number):
    """Return a whole number as Thrift writes it."""
    left, content = (number << 1) ^ (number >> 63), b""
    while left > 127:
        left, content = left >> 7, content + bytes([left & 127 | 128])
    return content + bytes([left])


def forge_page(n_before, number, *, has_levels):
    """Return a Parquet file whose first page says one number of itself that is wrong.

    Its header begins with kind, unpacked size, packed size and the number of values,
    each after a byte 0x15.
    """
    table = pa.table({"a": ["x", "y"] * 500})
    content = parquet(table, use_dictionary=has_levels, compression="zstd")
    at = 4  # after the sign of the file
    for _ in range(n_before):
        at = content.index(b"\x15", at) + 1
        while content[at] > 127:
            at += 1
        at += 1
    at = content.index(b"\x15", at) + 1
    end = at + 1
    while content[end - 1] > 127:
        end += 1
    return content[:at] + zigzag(number) + content[end:]


PAGES = {
    "unpacked data": lambda: forge_page(1, 2**31 - 1, has_levels=False),
    "unpacked levels": lambda: forge_page(1, 2**31 - 1, has_levels=True),
    "a little more": lambda: forge_page(1, 200_000, has_levels=False),
    "below zero": lambda: forge_page(1, -5, has_levels=False),
    "packed, below zero": lambda: forge_page(2, -40, has_levels=False),
    "many values": lambda: forge_page(3, 2**31 - 1, has_levels=False),
    "many levels": lambda: forge_page(3, 2**31 - 1, has_levels=True),
}


@pytest.mark.parametrize("name", PAGES)
def test_pages_that_contradict_their_file_are_refused_before_memory_is_taken(
    tmp_path, name
):
    (tmp_path / "a.parquet").write_bytes(PAGES[name]())

    with pytest.raises(UserInputError, match="larger than the column"):
        read_table(tmp_path / "a.parquet")

    assert pa.default_memory_pool().max_memory() < 2e9


def test_texts_that_share_their_beginnings_are_counted_a_few_at_a_time(
    tmp_path, free_memory
):
    letters = ["x" * i for i in range(1, 20_000)]  # 200 MB in a file of 500 bytes
    content = parquet(
        pa.table({"a": letters}),
        use_dictionary=False,
        column_encoding={"a": "DELTA_BYTE_ARRAY"},
        compression="zstd",
    )
    del letters
    (tmp_path / "a.parquet").write_bytes(content)
    free_memory(FREE)
    before = pa.total_allocated_bytes()

    with pytest.raises(UserInputError, match="when it is unpacked"):
        read_table(tmp_path / "a.parquet")

    assert len(content) < 1_000
    assert pa.total_allocated_bytes() - before < FREE


DROPPED = {
    "row 2 twice": '<row r="2"><c r="A2"><v>1</v></c></row>' * 2,
    "row 0": '<row r="0"><c r="A0"><v>1</v></c></row>',
    "a row that goes back": '<row r="5"><c r="A5"><v>1</v></c></row>'
    '<row r="4"><c r="A4"><v>1</v></c></row>',
    "a cell twice": '<row r="2"><c r="A2"><v>1</v></c><c r="A2"><v>2</v></c></row>',
    "a cell that goes back": '<row r="2"><c r="C2"><v>1</v></c>'
    '<c r="A2"><v>2</v></c></row>',
}


@pytest.mark.parametrize("name", DROPPED)
def test_a_sheet_of_which_a_part_would_be_dropped_is_refused(tmp_path, name):
    header = '<row r="1"><c r="A1" t="str"><v>a</v></c></row>'
    (tmp_path / "a.xlsx").write_bytes(workbook(header + DROPPED[name]))

    with pytest.raises(UserInputError, match="twice, or after a later one"):
        read_table(tmp_path / "a.xlsx")


def test_rows_and_cells_without_numbers_follow_each_other(tmp_path):
    cells = '<row><c t="str"><v>a</v></c><c r="C1" t="str"><v>b</v></c></row>'
    cells += '<row><c><v>1</v></c></row><row r="9"><c r="AB9"><v>2</v></c></row>'
    (tmp_path / "a.xlsx").write_bytes(workbook(cells))

    assert read_table(tmp_path / "a.xlsx").frame.shape == (2, 3)
