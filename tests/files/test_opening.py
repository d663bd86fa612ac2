import bz2
import gzip
import io
import lzma
import os
import re
import sqlite3
import subprocess
import threading
import zipfile
from shutil import which
from types import SimpleNamespace

import pandas as pd
import pytest

from tabtap.errors import UserInputError
from tabtap.files import opening, read_table, write_table
from tabtap.files.opening import available_bytes, compress, decompress, large_note

# ---- What is not there, or not a file, or empty, is said with the way out.


def said_of(path, **settings):
    with pytest.raises(UserInputError) as caught:
        read_table(path, **settings)
    return str(caught.value)


def feed(monkeypatch, content):
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(content)))


def test_a_missing_file_suggests_its_nearest_neighbours(put, tmp_path):
    put("a\n1\n", "Patients_2023.csv")

    said = said_of(tmp_path / "patient_2023.csv")

    assert "There is no file" in said
    assert said.endswith("Did you mean 'Patients_2023.csv'?")


def test_a_missing_folder_is_named(tmp_path):
    assert f"no folder {str(tmp_path / 'no')!r}" in said_of(tmp_path / "no" / "t.csv")


def test_a_folder_is_refused_with_a_file_in_it(put, tmp_path):
    put("a\n1\n", "t.csv")

    assert "is a folder. Pass the path of one file in it, such as 't.csv'" in said_of(
        tmp_path
    )


@pytest.mark.parametrize("content", [b"", b" \n\n"])
def test_an_empty_file_is_refused(refusal, content):
    assert "is empty" in refusal(content)


def test_a_header_alone_is_refused(refusal):
    assert "has a header of 2 cells and no rows" in refusal("a,b\n")


def test_standard_input_is_csv_unless_it_is_named(monkeypatch):
    feed(monkeypatch, b"a,b\n1,x\n2,y\n")

    table = read_table("-")

    assert table.path is None
    assert table.format == "csv"
    assert table.frame["b"].tolist() == ["x", "y"]


def test_parquet_comes_through_a_pipe(monkeypatch):
    frame = pd.DataFrame({"a": [1, 2]})
    feed(monkeypatch, frame.to_parquet())

    assert read_table("-", format="parquet").frame.equals(frame)


def test_parquet_in_a_pipe_that_is_not_named_says_what_it_is(monkeypatch):
    feed(monkeypatch, pd.DataFrame({"a": [1]}).to_parquet())

    assert "standard input is called a csv file and looks like a Parquet" in said_of(
        "-"
    )


def test_an_empty_pipe_is_refused(monkeypatch):
    feed(monkeypatch, b"")

    assert "standard input is empty" in said_of("-")


def test_a_format_may_be_named_for_a_name_that_says_none(put):
    table = read_table(put("a\tb\n1\t2\n", "export.dat"), format="tsv")

    assert table.frame.columns.tolist() == ["a", "b"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_a_named_pipe_is_read_to_its_end(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(b"a,b\n1,2\n",))
    writer.start()

    table = read_table(path)

    writer.join()
    assert table.frame.to_numpy().tolist() == [[1, 2]]


def test_what_may_not_be_read_says_so(put, monkeypatch):
    path = put("a,b\n1,2\n")

    def forbid(*_args, **_settings):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.open", forbid)

    assert "cannot be read: Permission denied" in said_of(path)


# ---- A file that is not what its name says is named for what it looks like.


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


# ---- A file that does not fit into memory is refused before it is read.


@pytest.fixture
def little_memory(monkeypatch):
    monkeypatch.setattr(opening, "available_bytes", lambda: 3_000_000)


def test_a_sparse_terabyte_is_refused_at_once_with_what_it_needs(tmp_path):
    path = tmp_path / "huge.csv"
    with path.open("wb") as file:
        file.write(b"a,b\n" + b"1,2\n" * 2000)
        try:
            file.truncate(10**12)
        except OSError:
            pytest.skip("this file system has no sparse files of that size")

    with pytest.raises(UserInputError) as caught:
        read_table(path)

    assert "has 1.0 TB; reading it takes about 30.0 TB of memory" in str(caught.value)
    assert "take a sample" in str(caught.value)


@pytest.mark.usefixtures("little_memory")
def test_a_bomb_is_not_unpacked_beyond_what_fits(tmp_path, monkeypatch):
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 10_000_000))
    unpacked = 0
    read = gzip.GzipFile.read

    def counted(self, size=-1):
        nonlocal unpacked
        chunk = read(self, size)
        unpacked += len(chunk)
        return chunk

    monkeypatch.setattr(gzip.GzipFile, "read", counted)

    with pytest.raises(UserInputError, match=r"has more than 100\.0 kB"):
        read_table(path)

    assert unpacked <= 2**20


@pytest.mark.usefixtures("little_memory")
def test_a_pipe_is_not_read_beyond_what_fits(monkeypatch):
    pipe = io.BytesIO(b"a,b\n" + b"1,2\n" * 10**6)
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=pipe))

    with pytest.raises(UserInputError, match="standard input has more than"):
        read_table("-")

    assert pipe.tell() < 2 * 10**6


def test_without_knowledge_of_memory_nothing_is_refused(monkeypatch, read):
    monkeypatch.setattr(opening, "available_bytes", lambda: None)

    assert len(read("a,b\n1,2\n").frame) == 1


@pytest.mark.skipif(not opening._MEMINFO.exists(), reason="the system has no meminfo")
def test_available_memory_is_what_the_system_says():
    said = re.search(r"MemAvailable: +(\d+)", opening._MEMINFO.read_text())

    assert available_bytes() == pytest.approx(int(said[1]) * 1024, rel=0.3)


@pytest.mark.skipif(not hasattr(os, "sysconf"), reason="the system has no sysconf")
def test_without_meminfo_the_pages_are_counted(monkeypatch, tmp_path):
    monkeypatch.setattr(opening, "_MEMINFO", tmp_path / "absent")

    assert 0 < available_bytes() < 2**50


def test_a_large_table_is_noted_and_read(monkeypatch, read):
    monkeypatch.setattr(opening, "LARGE_CELLS", 3)

    table = read("a,b\n1,2\n3,4\n")

    assert "2 rows x 2 columns is a large table" in table.notes[-1]
    assert large_note(1, 3) is None


# ---- What is compressed comes out the same, and what is damaged says so.


TABLE = b"a,b\n" + b"1,x\n" * 500
UNPACKERS = {"gz": gzip.decompress, "bz2": bz2.decompress, "xz": lzma.decompress}


def zipped(**members):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in members.items():
            archive.writestr(name.replace("_dot_", "."), content)
    return packed.getvalue()


@pytest.mark.parametrize("compression", ["gz", "bz2", "xz", "zst", "zip"])
def test_a_compressed_file_is_read_and_written_as_its_text(read, tmp_path, compression):
    table = read(compress(TABLE, compression, "t.csv"), f"t.csv.{compression}")
    out = tmp_path / f"out.csv.{compression}"

    write_table(table.frame, out, n_real=500, like=table)

    assert table.compression == compression
    assert len(out.read_bytes()) < len(TABLE) / 4
    assert read_table(out).content == TABLE


@pytest.mark.parametrize("compression", UNPACKERS)
def test_others_can_unpack_what_is_packed(compression):
    packed = compress(TABLE, compression, "t.csv")

    assert UNPACKERS[compression](packed) == TABLE


@pytest.mark.skipif(which("zstd") is None, reason="zstd is not installed")
def test_zstandard_files_are_those_of_zstd():
    theirs = subprocess.run(["zstd", "-c"], input=TABLE, capture_output=True).stdout
    ours = compress(TABLE, "zst", "t.csv")
    back = subprocess.run(["zstd", "-dc"], input=ours, capture_output=True).stdout

    assert decompress(theirs, "zst", "t", "csv") == back == TABLE


def test_packing_twice_gives_the_same_bytes():
    assert compress(TABLE, "gz", "t") == compress(TABLE, "gz", "t")
    assert compress(TABLE, "zip", "t") == compress(TABLE, "zip", "t")


@pytest.mark.parametrize("compression", ["gz", "bz2", "xz", "zst", "zip"])
def test_half_a_file_is_said_to_be_damaged(refusal, compression):
    packed = compress(bytes(range(256)) * 300, compression, "t.csv")

    said = refusal(packed[: len(packed) // 2], f"t.csv.{compression}")

    assert f"cannot be unpacked as {compression}" in said


def test_an_archive_of_several_files_lists_them(refusal):
    said = refusal(zipped(one_dot_csv="a\n", two_dot_csv="b\n"), "t.zip")

    assert "holds 2 files: one.csv, two.csv. Unpack it" in said


def test_what_macs_put_into_archives_is_no_second_file(read):
    packed = zipped(**{"t_dot_csv": TABLE, "__MACOSX/t_dot_csv": "x"})

    assert len(read(packed, "t.zip").frame) == 500


# ---- The encoding is found, or said to be wrong with the line where it is.


UMLAUTS = "name,größe\nZoë,1\nÅse,2\n"


@pytest.mark.parametrize(
    ("codec", "found", "mark"),
    [
        ("utf-8", "utf-8", False),
        ("utf-8-sig", "utf-8", True),
        ("utf-16", "utf-16-le", True),
        ("utf-16-le", "utf-16-le", False),
        ("utf-16-be", "utf-16-be", False),
        ("utf-32", "utf-32-le", True),
        ("windows-1252", "windows-1252", False),
    ],
)
def test_the_usual_encodings_are_found_and_kept(read, tmp_path, codec, found, mark):
    content = UMLAUTS.encode(codec)

    table = read(content)
    write_table(table.frame.iloc[[0, 1, 1]], tmp_path / "out.csv", n_real=2, like=table)

    assert table.frame.columns.tolist() == ["name", "größe"]
    assert table.dialect.encoding == found
    assert table.dialect.byte_order_mark is mark
    assert (f"read as {found}" in table.notes) is (found != "utf-8")
    added = "Åse,2\n".encode(found)
    assert (tmp_path / "out.csv").read_bytes() == content + added


def test_an_encoding_may_be_named(read):
    table = read("名,値\n東京,1\n".encode("shift_jis"), encoding="shift_jis")

    assert table.frame["名"].tolist() == ["東京"]


def test_a_wrong_byte_late_in_utf8_is_not_taken_for_another_encoding(refusal):
    said = refusal("a,b\né,1\n".encode() + b"\xe9,2\n")

    assert "in UTF-8 up to line 3, where the byte 0xe9 does not fit" in said


def test_what_no_encoding_fits_is_refused_with_both_places(refusal):
    said = refusal(b"a,b\nx\xff,1\ny\x81,2\n")

    assert "neither in UTF-8 (byte 0xff in line 2) nor in windows-1252" in said
    assert "byte 0x81 in line 3" in said


def test_a_named_encoding_that_does_not_fit_is_refused(refusal):
    assert "is not in ascii: byte 0xc3 in line 2" in refusal(
        "a,b\né,1\n", encoding="ascii"
    )
    assert "knows no such text encoding" in refusal("a,b\n1,2\n", encoding="utf-9")


def test_a_name_that_the_encoding_lacks_is_refused_when_writing(read, tmp_path):
    table = read("a,b\né,1\n".encode("windows-1252"))

    with pytest.raises(ValueError, match=r"'→' cannot be written in windows-1252"):
        write_table(table.frame, tmp_path / "out.csv", n_real=1, like=table, mark="→")

    assert not (tmp_path / "out.csv").exists()
