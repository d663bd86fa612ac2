import tracemalloc
import warnings
import zipfile

import numpy as np
import pandas as pd
import pytest

from tabtap import archive as archive_module
from tabtap.archive import Archive, pack_archive, reading, unpack_archive
from tabtap.errors import FileFormatError, UserInputError
from tabtap.result import load_result, verify
from tabtap.result.files import EXACT, FORMAT_NAME, FORMAT_VERSION
from tabtap.result.verify import verify_copies
from tabtap.table import read_frame

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


# ---- Files that somebody has made to do harm.


def schema_of(about):
    return about["table"]["schema"]


def with_dtype(text, number=0):
    return lambda about, _: schema_of(about)["features"][number].update(dtype=text)


def with_level(level):
    return lambda about, _: schema_of(about)["features"][2]["levels"].__setitem__(
        0, level
    )


def with_form(**parts):
    return lambda about, _: schema_of(about)["form"].update(parts)


def with_groups(dtype, labels):
    groups = {"dtype": dtype, "labels": labels}
    return lambda about, _: about["run"].update(groups=groups)


BUILDERS = {
    "a function of Arrow": with_dtype("list_[arrow]"),
    "a memory pool of Arrow": with_dtype("default_memory_pool[arrow]"),
    "an Arrow type without a name": with_dtype("[arrow]"),
    "text of a gigabyte": with_dtype("U1000000000"),
    "a structure": with_dtype("i8,i8,U999999999"),
    "void": with_dtype("V1000000000"),
    "a sparse dtype": with_dtype("Sparse[float64]"),
    "a zone that is a file": with_dtype("datetime64[ns, dateutil//dev/zero]", 1),
    "a unit of time that is none": with_dtype("datetime64[fs]", 1),
    "a time that is text": with_dtype("str[python]", 1),
    "text as a number": with_dtype("str[python]"),
    "storage of text": with_dtype("string[os.system]", 2),
    "a numpy type by name": with_level({"numpy": ["V1000000000", 1]}),
    "numpy's object": with_level({"numpy": ["object", 1]}),
    "numpy's structure": with_level({"numpy": ["i8,i8", 1]}),
    "a moment in a file": with_level({"timestamp": ["1", "ns", "dateutil//dev/zero"]}),
    "a list as a level": with_level({"tuple": [{"numpy": ["void", 9]}]}),
    "array of long texts": with_form(container="numpy", array_dtype="<U999999999"),
    "array of voids": with_form(container="numpy", array_dtype="V8"),
    "array of a structure": with_form(container="numpy", array_dtype="i8,i8"),
    "target of long texts": with_form(
        target_container="numpy", target_dtype="<U999999999"
    ),
    "names of long texts": with_form(columns_dtype="U999999999"),
    "groups that are voids": with_groups("V999999999", [1] * 12),
    "groups of a structure": with_groups("i8,i8", [1] * 12),
    "index of long texts": lambda about, _: about["index"].update(dtype="U999999999"),
    "index of a function": lambda about, _: about["index"].update(dtype="array[arrow]"),
}


@pytest.mark.parametrize("change", BUILDERS.values(), ids=BUILDERS)
def test_a_file_builds_nothing_but_what_tables_are_made_of(forge, change):
    path = forge(lambda about, arrays, _members: change(about, arrays))

    with pytest.raises(FileFormatError, match="damaged"):
        load_result(path)


def test_groups_of_long_texts_take_the_room_that_they_need(forge):
    labels = ["ann", "bob"] * 6
    change = with_groups("<U200000000", labels)

    result = load_result(forge(lambda about, arrays, _: change(about, arrays)))

    assert result.about.groups.dtype == "<U3"
    assert result.about.groups.tolist() == labels


def test_old_codes_are_refused_where_no_row_was_forgotten(forge):
    """They would give every label the code of another, which hashes are of."""

    def change(about, arrays, _members):
        schema_of(about)["target"]["column"]["levels"].reverse()
        arrays["codes_given.target"] = np.arange(3)[::-1].copy()

    with pytest.raises(FileFormatError, match="although no row was forgotten"):
        load_result(forge(change))


@pytest.mark.parametrize("depth", [400, 900, 5000])
def test_a_file_that_is_nested_too_deeply_is_refused(forge, depth):
    nested = "[" * depth + "]" * depth

    def change(about, _arrays, _members):
        about["run"]["settings"] = f'{{"augment": {nested}}}'

    with pytest.raises(FileFormatError, match="damaged"):
        verify_file(forge(change))


def verify_file(path):
    """Do what ``tabtap verify`` does."""
    result = load_result(path)
    with reading(path, "result"):
        return [*verify(result), *verify_copies(result, path)]


ODD = [None, True, -1, 3, 10**30, 1.5, float("nan"), float("-inf"), "", "x", "\ud800"]
ODD += ["\x1b[31m\n", [], [1, 2], {}, {"a": 1}, {"int": "9" * 5000}, "int64", [[["z"]]]]


def places_in(value, place=()):
    yield place
    parts = value.items() if isinstance(value, dict) else ()
    parts = enumerate(value) if isinstance(value, list) else parts
    for name, part in parts:
        yield from places_in(part, (*place, name))


def odd_array(array, rng):
    """Return an array of another type, another shape, or other numbers."""
    kinds = ("f2", "f4", "f8", "i1", "i8", "u4", "?")
    with np.errstate(all="ignore"):
        changed = [array.astype(rng.choice(kinds)), array[..., None], array[:0]]
    changed += [array[:-1], np.concatenate([array, array]), np.zeros((), array.dtype)]
    changed.append(np.full_like(array, -100 if array.dtype.kind == "i" else 100))
    return changed[rng.integers(len(changed))]


@pytest.mark.parametrize("seed", range(8))
def test_whatever_a_file_holds_verify_says_a_sentence(forge, saved, seed):
    whole, rng = saved.read_bytes(), np.random.default_rng(seed)

    def change(about, arrays, _members):
        if rng.random() < 0.3:
            name = sorted(arrays)[rng.integers(len(arrays))]
            arrays[name] = odd_array(arrays[name], rng)
            return
        places = [place for place in places_in(about) if place]
        *way, last = places[rng.integers(len(places))]
        for name in way:
            about = about[name]
        about[last] = ODD[rng.integers(len(ODD))]

    for _ in range(15):
        saved.write_bytes(whole)
        try:
            found = verify_file(forge(change))
        except FileFormatError as error:
            found = [error]
        assert all(str(part).isprintable() and len(str(part)) < 600 for part in found)


# ---- Files that unpack to more than the memory.


def zipped(path, *members, method=zipfile.ZIP_DEFLATED):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a name that is there twice
        with zipfile.ZipFile(path, "w", method) as file:
            for name, content in members:
                file.writestr(name, content)


def members_of(path):
    with zipfile.ZipFile(path) as file:
        return [(name, file.read(name)) for name in file.namelist()]


def peak_while_refused(path):
    tracemalloc.start()
    with pytest.raises(FileFormatError, match="damaged") as caught:
        load_result(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak, str(caught.value)


def test_a_file_that_unpacks_to_far_too_much_is_not_unpacked(saved):
    zeros = bytes(300 * 10**6)
    zipped(saved, (EXACT, zeros), *members_of(saved)[1:])
    del zeros

    peak, said = peak_while_refused(saved)

    assert "would become 300," in said
    assert peak < 10**7


def test_a_member_that_is_larger_than_it_says_is_not_unpacked_further(saved):
    zipped(saved, (EXACT, bytes(50 * 10**6)), *members_of(saved)[1:])
    content = saved.read_bytes()
    true, told = (n.to_bytes(4, "little") for n in (50 * 10**6, 1000))
    assert content.count(true) == 2  # in the member's own head and in the directory
    saved.write_bytes(content.replace(true, told))

    peak, said = peak_while_refused(saved)

    assert "Bad CRC" in said
    assert peak < 10**7


def test_a_member_that_no_result_has_is_not_unpacked(saved, result, content):
    zipped(saved, *members_of(saved), ("more.bin", bytes(300 * 10**6)))

    tracemalloc.start()
    back = load_result(saved)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert content(back.delivered) == content(result.delivered)
    assert peak < 10**7


def test_a_member_that_is_there_twice_is_refused(saved):
    zipped(saved, *members_of(saved), members_of(saved)[0])

    assert "a member is there twice" in peak_while_refused(saved)[1]


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_member_that_is_packed_as_no_result_is_is_refused(saved, method):
    zipped(saved, *members_of(saved), method=method)

    assert "packed in another way" in peak_while_refused(saved)[1]


def test_a_table_that_packs_well_is_read(make_result, tmp_path):
    rows = 30_000
    frame = pd.DataFrame({f"flag {k}": np.arange(rows) == k for k in range(40)})
    frame["y"] = np.arange(rows) % 2
    make_result(read_frame(frame, "y"), budget=0).save(tmp_path / "r")

    assert len(load_result(tmp_path / "r").real) == rows
