import json

import numpy as np
import pytest
from safetensors.numpy import save

from tabtap import archive as module
from tabtap.archive import Archive, read_archive, write_archive
from tabtap.errors import FileFormatError, UserInputError

KIND = {"name": "parcel", "version": 3}


@pytest.fixture
def parcel():
    arrays = {
        "odd": np.array([np.nan, -0.0, np.inf, 5e-324]),
        "none": np.zeros((0, 4), dtype=np.int32),
        "columns": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    }
    return Archive(arrays, {"words": ["a", "\u00e9"], "share": 0.1})


def test_arrays_and_words_come_back_exactly(tmp_path, parcel):
    write_archive(parcel, tmp_path / "p", **KIND)

    back = read_archive(tmp_path / "p", **KIND)

    assert back.about == parcel.about
    assert back.arrays.keys() == parcel.arrays.keys()
    for name, array in parcel.arrays.items():
        assert back.arrays[name].dtype == array.dtype
        assert back.arrays[name].shape == array.shape
        assert back.arrays[name].tobytes() == array.tobytes()


def test_equal_content_gives_equal_files(tmp_path, parcel):
    write_archive(parcel, tmp_path / "one", **KIND)
    write_archive(parcel, tmp_path / "two", **KIND)

    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_any_changed_byte_is_noticed(tmp_path, parcel):
    path = tmp_path / "p"
    write_archive(parcel, path, **KIND)
    content = path.read_bytes()

    for place in range(len(content)):
        path.write_bytes(
            content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]
        )
        try:
            back = read_archive(path, **KIND)
        except FileFormatError:
            continue
        # Padding after the header is the one place where a byte means nothing.
        assert content[place : place + 1] == b" "
        assert back.about == parcel.about


@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.7, 0.99])
def test_a_file_cut_short_is_refused_in_one_sentence(tmp_path, parcel, share):
    path = tmp_path / "p"
    write_archive(parcel, path, **KIND)
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])

    with pytest.raises(FileFormatError, match="damaged") as caught:
        read_archive(path, **KIND)

    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)


FOREIGN = {
    "text": b"dose,label\n0.5,ill\n",
    "pickle": b"\x80\x04\x95\x00\x00\x00\x00\x00\x00\x00\x00N.",
    "other tensors": save({"x": np.zeros(2)}),
    "other metadata": save({"x": np.zeros(2)}, metadata={"tabtap": "[1, 2]"}),
    "other format": save(
        {"x": np.zeros(2)}, metadata={"tabtap": json.dumps({"format": "letter"})}
    ),
    "deep nesting": (200_000).to_bytes(8, "little") + b"[" * 200_000,
}


@pytest.mark.parametrize("content", FOREIGN.values(), ids=FOREIGN)
def test_a_file_of_another_program_is_refused(tmp_path, content):
    path = tmp_path / "p"
    path.write_bytes(content)

    with pytest.raises(FileFormatError, match="is not a parcel file"):
        read_archive(path, **KIND)


def test_a_newer_version_is_named_with_the_way_out(tmp_path, parcel):
    path = tmp_path / "p"
    write_archive(parcel, path, name="parcel", version=4)

    with pytest.raises(FileFormatError, match=r"version 4, this tabtap reads 3\. Read"):
        read_archive(path, **KIND)


def test_a_failed_write_leaves_the_old_file_and_nothing_else(
    tmp_path, parcel, monkeypatch
):
    path = tmp_path / "p"
    path.write_bytes(b"old")

    def full_disk(handle):
        del handle
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module.os, "fsync", full_disk)
    with pytest.raises(OSError, match="No space left"):
        write_archive(parcel, path, **KIND)

    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_finished_write_replaces_the_old_file_and_leaves_nothing_else(
    tmp_path, parcel
):
    path = tmp_path / "p"
    path.write_bytes(b"old")

    write_archive(parcel, path, **KIND)

    assert read_archive(path, **KIND).about == parcel.about
    assert list(tmp_path.iterdir()) == [path]


def test_a_missing_folder_is_named(tmp_path, parcel):
    with pytest.raises(UserInputError, match=r"no folder .*nowhere.*Create it first"):
        write_archive(parcel, tmp_path / "nowhere" / "p", **KIND)


def test_a_missing_file_is_named_with_the_way_out(tmp_path, parcel):
    write_archive(parcel, tmp_path / "p", **KIND)

    for path in (tmp_path / "q", tmp_path / "no" / "p", tmp_path / "p" / "q"):
        with pytest.raises(FileFormatError, match=r"no file .*\. Check") as caught:
            read_archive(path, **KIND)
        assert repr(str(path)) in str(caught.value)


def test_a_folder_is_told_from_a_file(tmp_path):
    with pytest.raises(FileFormatError, match=r"is a folder\. Pass the path of a file"):
        read_archive(tmp_path, **KIND)
