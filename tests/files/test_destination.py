"""What cannot be written is said before the work, not after it."""

import os

import pytest

from tabtap.errors import UserInputError
from tabtap.files import check_destination


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
