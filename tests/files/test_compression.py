"""What is compressed comes out the same, and what is damaged says so."""

import bz2
import gzip
import io
import lzma
import subprocess
import zipfile
from shutil import which

import pytest

from tabtap.files import read_table, write_table
from tabtap.files.opening import compress, decompress

TEXT = b"a,b\n" + b"1,x\n" * 500
UNPACKERS = {"gz": gzip.decompress, "bz2": bz2.decompress, "xz": lzma.decompress}


def zipped(**members):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in members.items():
            archive.writestr(name.replace("_dot_", "."), content)
    return packed.getvalue()


@pytest.mark.parametrize("compression", ["gz", "bz2", "xz", "zst", "zip"])
def test_a_compressed_file_is_read_and_written_as_its_text(read, tmp_path, compression):
    table = read(compress(TEXT, compression, "t.csv"), f"t.csv.{compression}")
    out = tmp_path / f"out.csv.{compression}"

    write_table(table.frame, out, n_real=500, like=table)

    assert table.compression == compression
    assert len(out.read_bytes()) < len(TEXT) / 4
    assert read_table(out).content == TEXT


@pytest.mark.parametrize("compression", UNPACKERS)
def test_others_can_unpack_what_is_packed(compression):
    packed = compress(TEXT, compression, "t.csv")

    assert UNPACKERS[compression](packed) == TEXT


@pytest.mark.skipif(which("zstd") is None, reason="zstd is not installed")
def test_zstandard_files_are_those_of_zstd():
    theirs = subprocess.run(["zstd", "-c"], input=TEXT, capture_output=True).stdout
    ours = compress(TEXT, "zst", "t.csv")
    back = subprocess.run(["zstd", "-dc"], input=ours, capture_output=True).stdout

    assert decompress(theirs, "zst", "t", "csv") == back == TEXT


def test_packing_twice_gives_the_same_bytes():
    assert compress(TEXT, "gz", "t") == compress(TEXT, "gz", "t")
    assert compress(TEXT, "zip", "t") == compress(TEXT, "zip", "t")


@pytest.mark.parametrize("compression", ["gz", "bz2", "xz", "zst", "zip"])
def test_half_a_file_is_said_to_be_damaged(refusal, compression):
    packed = compress(bytes(range(256)) * 300, compression, "t.csv")

    said = refusal(packed[: len(packed) // 2], f"t.csv.{compression}")

    assert f"cannot be unpacked as {compression}" in said


def test_an_archive_of_several_files_lists_them(refusal):
    said = refusal(zipped(one_dot_csv="a\n", two_dot_csv="b\n"), "t.zip")

    assert "holds 2 files: one.csv, two.csv. Unpack it" in said


def test_what_macs_put_into_archives_is_no_second_file(read):
    packed = zipped(**{"t_dot_csv": TEXT, "__MACOSX/t_dot_csv": "x"})

    assert len(read(packed, "t.zip").frame) == 500
