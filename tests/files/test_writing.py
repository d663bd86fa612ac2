import io
import os
import stat
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from tabtap.errors import UserInputError
from tabtap.files import check_destination, read_table, write_table

# ---- A file is written whole or not at all.


FRAME = pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})
FULL = Path("/dev/full")


def test_standard_output_gets_the_bytes(read, monkeypatch):
    table = read("a;b\r\n1;x\r\n2;y\r\n")
    out = io.BytesIO()
    monkeypatch.setattr("sys.stdout", SimpleNamespace(buffer=out))

    write_table(FRAME.iloc[[0, 1, 0]], "-", n_real=2, like=table)

    assert out.getvalue() == b"a;b\r\n1;x\r\n2;y\r\n1;x\r\n"


def test_a_new_file_can_be_read_by_whom_the_system_lets(tmp_path):
    before = os.umask(0o027)
    try:
        write_table(FRAME, tmp_path / "o.csv", n_real=2)
    finally:
        os.umask(before)

    mode = stat.S_IMODE((tmp_path / "o.csv").stat().st_mode)
    assert mode == (0o640 if os.name == "posix" else mode)


@pytest.mark.skipif(os.name != "posix", reason="modes are those of POSIX")
def test_a_replaced_file_keeps_its_mode(put):
    path = put("old", "o.csv")
    path.chmod(0o600)

    write_table(FRAME, path, n_real=2, force=True)

    assert path.read_text() == "a,b\n1,x\n2,y\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_link_is_followed_and_not_replaced(tmp_path, put):
    target, link = put("old", "target.csv"), tmp_path / "link.csv"
    link.symlink_to(target)

    write_table(FRAME, link, n_real=2, force=True)

    assert link.is_symlink()
    assert target.read_text() == "a,b\n1,x\n2,y\n"


@pytest.mark.skipif(not FULL.exists(), reason="the system has no full device")
def test_a_full_device_is_one_sentence():
    with pytest.raises(UserInputError, match="No space left on device"):
        write_table(FRAME, FULL, n_real=2)


def test_a_disk_that_fills_up_leaves_the_old_file_and_nothing_else(put, tmp_path):
    resource = pytest.importorskip("resource", reason="the system has no limits")
    path = put("old", "o.csv")
    large = pd.DataFrame({"a": np.arange(50_000)})
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))

    try:
        with pytest.raises(UserInputError, match="Nothing was left half-written"):
            write_table(large, path, n_real=2, force=True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["o.csv"]


def test_an_interruption_leaves_nothing_behind(tmp_path, monkeypatch):
    def interrupt(_file):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)

    with pytest.raises(KeyboardInterrupt):
        write_table(FRAME, tmp_path / "o.csv", n_real=2)

    assert list(tmp_path.iterdir()) == []


def test_a_closed_pipe_is_one_sentence(monkeypatch):
    class Closed(io.RawIOBase):
        def write(self, _content):
            raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setattr("sys.stdout", SimpleNamespace(buffer=Closed()))

    with pytest.raises(UserInputError, match="standard output could not be written"):
        write_table(FRAME, "-", n_real=2)


@pytest.mark.parametrize("n_real", [-1, 3])
def test_more_real_rows_than_there_are_is_refused(tmp_path, n_real):
    with pytest.raises(UserInputError, match=f"n_real={n_real} is not usable"):
        write_table(FRAME, tmp_path / "o.csv", n_real=n_real)


@pytest.mark.parametrize(
    "name", ["o.csv", "o.tsv", "o.parquet", "o.jsonl", "o.feather"]
)
def test_every_format_becomes_every_other(read, tmp_path, name):
    table = read("a;b\n1,5;x\nNA;y\n")

    write_table(table.frame, tmp_path / name, n_real=2, like=table)

    pd.testing.assert_frame_equal(read_table(tmp_path / name).frame, table.frame)


# ---- What cannot be written is said before the work, not after it.


def said_of(destination, **settings):
    with pytest.raises(UserInputError) as caught:
        check_destination(destination, **settings)
    return str(caught.value)


def test_a_good_place_says_what_would_be_written(tmp_path):
    place = check_destination(tmp_path / "out.tsv.gz")

    assert (place.format, place.compression) == ("tsv", "gz")
    assert list(tmp_path.iterdir()) == []


def test_a_missing_folder_is_refused(tmp_path):
    assert "There is no folder" in said_of(tmp_path / "no" / "out.csv")


def test_a_folder_is_refused(tmp_path):
    assert "is a folder" in said_of(tmp_path)


def test_an_unknown_extension_is_refused(tmp_path):
    assert "the extension '.doc'" in said_of(tmp_path / "out.doc")


def test_an_existing_file_needs_force(put):
    path = put("a,b\n1,2\n", "old.csv")

    assert "is there already" in said_of(path)
    assert check_destination(path, force=True).path == path.resolve()


def test_a_folder_of_others_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)

    assert "is not yours to write in" in said_of(tmp_path / "out.csv")


@pytest.mark.parametrize("way", ["itself", "relative", "symlink", "hardlink"])
def test_the_input_is_never_written_over(read, tmp_path, monkeypatch, way):
    table = read("a,b\n1,2\n", "in.csv")
    other = tmp_path / "other.csv"
    monkeypatch.chdir(tmp_path)
    if way == "symlink":
        other.symlink_to(tmp_path / "in.csv")
    elif way == "hardlink":
        os.link(tmp_path / "in.csv", other)
    ways = {"itself": tmp_path / "in.csv", "relative": "in.csv"}

    said = said_of(ways.get(way, other), like=table, force=True)

    assert "is the input, which is never written over" in said


def test_a_mark_must_be_a_new_name(read, tmp_path):
    table = read("a,b\n1,2\n")

    assert "the table has a column of that name" in said_of(
        tmp_path / "o.csv", like=table, mark="b"
    )


def test_standard_output_gets_the_format_of_the_input(read):
    assert check_destination("-").format == "csv"
    assert check_destination("-", like=read('{"a":1}\n', "t.jsonl")).format == "jsonl"
