import zipfile

import numpy as np
import pytest

from tabtap import archive as archive_module
from tabtap.archive import Archive, pack_archive, unpack_archive
from tabtap.errors import FileFormatError, UserInputError
from tabtap.result import load_result
from tabtap.result.files import EXACT, FORMAT_NAME, FORMAT_VERSION

KIND = {"name": FORMAT_NAME, "version": FORMAT_VERSION}


def test_a_failed_write_leaves_the_old_file(result, saved, monkeypatch):
    before = saved.read_bytes()

    def full_disk(_handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(archive_module.os, "fsync", full_disk)
    with pytest.raises(OSError, match="No space left"):
        result.forget(0).save(saved)

    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]


def test_a_missing_folder_is_named(result, tmp_path):
    with pytest.raises(UserInputError, match=r"no folder .*nowhere.*Create it first"):
        result.save(tmp_path / "nowhere" / "r")


def test_a_changed_byte_is_noticed_or_means_nothing(result, saved, content):
    whole = saved.read_bytes()
    places = np.random.default_rng(0).choice(len(whole), 60, replace=False)

    for place in [0, 1, len(whole) - 1, *places]:
        changed = bytes([whole[place] ^ 1])
        saved.write_bytes(whole[:place] + changed + whole[place + 1 :])
        try:
            back = load_result(saved)
        except FileFormatError:
            continue
        assert content(back.delivered) == content(result.delivered)
        assert back.certificates_json() == result.certificates_json()


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.99])
def test_a_file_cut_short_is_refused_in_one_sentence(saved, share):
    whole = saved.read_bytes()
    saved.write_bytes(whole[: int(share * len(whole))])

    with pytest.raises(FileFormatError, match="damaged") as caught:
        load_result(saved)

    assert "\n" not in str(caught.value)
    assert str(saved) in str(caught.value)


def rezipped(path, change):
    """Rewrite a file with some members changed."""
    with zipfile.ZipFile(path) as file:
        members = {name: file.read(name) for name in file.namelist()}
    with zipfile.ZipFile(path, "w") as file:
        for name, member in change(members).items():
            file.writestr(name, member)


@pytest.mark.parametrize(
    "write",
    [
        lambda path: path.write_bytes(b"dose,label\n0.5,ill\n"),
        lambda path: rezipped(path, lambda _: {"word/document.xml": b"<a/>"}),
        lambda path: rezipped(path, lambda m: {**m, EXACT: m["synthetic.parquet"]}),
    ],
    ids=["text", "another zip", "other tensors"],
)
def test_a_file_of_another_program_is_refused(saved, write):
    write(saved)

    with pytest.raises(FileFormatError, match="is not a tabtap-result file"):
        load_result(saved)


def with_archive(change, version=FORMAT_VERSION):
    """Return a change of the exact member, with a checksum that fits."""

    def changed(members):
        found = unpack_archive(members[EXACT], "r", **KIND)
        packed = pack_archive(change(found), name=FORMAT_NAME, version=version)
        return {**members, EXACT: packed}

    return changed


def test_a_newer_version_is_named(saved):
    rezipped(saved, with_archive(lambda found: found, version=FORMAT_VERSION + 1))

    with pytest.raises(FileFormatError, match=r"has format version 2, this tabtap"):
        load_result(saved)


def without(name):
    return lambda a: Archive({n: v for n, v in a.arrays.items() if n != name}, a.about)


def with_array(name, change):
    return lambda a: Archive({**a.arrays, name: change(a.arrays[name])}, a.about)


def with_about(**parts):
    return lambda a: Archive(a.arrays, {**a.about, **parts})


CHANGES = {
    "no rows": without("real.target"),
    "no step": without("delivered.step"),
    "no state": without("steps.deficit"),
    "short column": with_array("real.cell0", lambda a: a[:-1]),
    "short holes": with_array("real.missing", lambda a: a[:, :-1]),
    "short origin": with_array("real.origin", lambda a: a[:-1]),
    "short marks": with_array("delivered.regenerate", lambda a: a[:-1]),
    "short score": with_array("delivered.score.distance", lambda a: a[:-1]),
    "unknown code": with_array("real.cell2", lambda a: a + 99),
    "unknown class": with_array("delivered.target", lambda a: a - 99),
    "unknown ancestor": with_array("delivered.origin", lambda a: a + 99),
    "short codes": lambda found: Archive(
        {**found.arrays, "codes_given.2": np.zeros(1, np.int64)}, found.about
    ),
    "no schema": with_about(table=None),
    "no stop": with_about(stop="BOREDOM"),
    "odd step": with_about(steps=[{"step": 0}]),
    "odd run": with_about(run={"seed": 0}),
    "short index": with_about(index={"range": [0, 3, 1], "names": [None]}),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_file_that_holds_no_result_is_refused(saved, change):
    rezipped(saved, with_archive(change))

    with pytest.raises(FileFormatError, match="is damaged") as caught:
        load_result(saved)

    assert "\n" not in str(caught.value)


def test_a_readable_copy_that_was_changed_is_noticed(saved):
    rezipped(saved, lambda m: {**m, "certificates.json": b"{}"})

    with pytest.raises(FileFormatError, match=r"certificates\.json is not what was"):
        load_result(saved)


def test_a_missing_file_and_a_folder_are_named_with_the_way_out(tmp_path):
    with pytest.raises(FileFormatError, match=r"There is no file .*\. Check the path"):
        load_result(tmp_path / "r")
    with pytest.raises(FileFormatError, match=r"is a folder\. Pass the path of a file"):
        load_result(tmp_path)
