"""What is not there, or not a file, or empty, is said with the way out."""

import io
import os
import threading
from types import SimpleNamespace

import pandas as pd
import pytest

from tabtap.errors import UserInputError
from tabtap.files import read_table


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
