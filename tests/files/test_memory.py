"""A file that does not fit into memory is refused before it is read."""

import gzip
import io
import os
import re
from types import SimpleNamespace

import pytest

from tabtap.errors import UserInputError
from tabtap.files import opening, read_table
from tabtap.files.opening import available_bytes, large_note


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
