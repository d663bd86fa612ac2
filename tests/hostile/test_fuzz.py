"""Any bytes at all: a table or a sentence, in seconds, and no real byte changed.

A few inputs for each reader in the quick run; ``make fuzz`` tries as many as one likes.
"""

import contextlib
import functools
import io
import json
import signal
import zipfile
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from hostile.counting import N_EACH, N_GIVEN, N_INPUTS, N_TESTS, count_input, lines
from hostile.payloads import NUL, TEXTS
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from tabtap.archive import Archive, pack_archive, unpack_archive
from tabtap.cli.app import main
from tabtap.errors import UserInputError
from tabtap.files import read_table, write_table
from tabtap.files.formats import same_rows
from tabtap.files.opening import compress, open_source
from tabtap.gates import Rules
from tabtap.inspection import read_schema_file
from tabtap.result.files import EXACT, FORMAT_NAME, FORMAT_VERSION

LONGEST_SECONDS = 5
fuzzed = settings(
    max_examples=N_EACH,
    deadline=None,  # a clock of our own also ends what would never end
    suppress_health_check=list(HealthCheck),
    database=None,
)


# ---- What is read: sound files, spoilt in a few places.


N_ROWS = 8
FRAME = pd.DataFrame(
    {
        "dose": [0.5, 1.25, -3.0, 1e10, 0.0, 7.5, 2.5, 9.75],
        "count": range(N_ROWS),
        "kind": ["x", 'y "q"', "z, z", "", "x", "ü", "=1+1", "x"],
        "when": pd.date_range("2024-01-31", periods=N_ROWS),
        "sick": [True, False] * 4,
    }
)
TEXT = FRAME.to_csv(index=False)
WEST = TEXT.replace(",", ";").replace(".", ",")
RECORDS = json.loads(FRAME.to_json(orient="records", date_format="iso"))
LINES = "".join(json.dumps(record) + "\n" for record in RECORDS)
ARROW = pa.Table.from_pandas(FRAME.astype({"kind": "category"}), preserve_index=False)


def parquet(table=ARROW):
    sink = io.BytesIO()
    pyarrow.parquet.write_table(table, sink, compression="zstd")
    return sink.getvalue()


def feather(codec):
    sink = io.BytesIO()
    pyarrow.feather.write_feather(ARROW, sink, compression=codec)
    return sink.getvalue()


def stream():
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, ARROW.schema) as writer:
        writer.write_table(ARROW)
    return sink.getvalue()


def workbook():
    sink = io.BytesIO()
    FRAME.to_excel(sink, index=False)
    return sink.getvalue()


SOUND = {
    "csv": lambda: [TEXT.encode(), WEST.encode("cp1252"), TEXT.encode("utf-8-sig")],
    "txt": lambda: [TEXT.replace("\n", "\r\n").encode(), TEXT.encode("utf-16")],
    "tsv": lambda: [TEXT.replace(",", "\t").encode()],
    "csv.gz": lambda: [compress(TEXT.encode(), "gz", "a")],
    "csv.zip": lambda: [compress(TEXT.encode(), "zip", "a")],
    "csv.zst": lambda: [compress(TEXT.encode(), "zst", "a")],
    "json": lambda: [
        json.dumps(RECORDS).encode(),
        json.dumps(RECORDS, indent=1).encode(),
    ],
    "jsonl": lambda: [LINES.encode()],
    "xlsx": lambda: [workbook()],
    "parquet": lambda: [parquet()],
    "feather": lambda: [feather("lz4"), feather("zstd"), feather("uncompressed")],
    "arrow": lambda: [stream()],
}
PIECES = [
    *(text.encode() for text in TEXTS.values() if len(text) < 6_000),
    NUL.encode(), b"\x00", b"\xff", b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", b"'",
    b'"', b",", b";", b"\t", b"\n", b"\r", b"\r\n", b"\n\n", b"[", b"]", b"{", b"}",
    b"<", b">", b"&#0;", b"\xef\xbb\xbf", b"\xff\xfe", b"1e309", b"-1e308", b"NaN",
    b"Infinity",
    b"null", b"true", b"9223372036854775808", b"\\ud800", b"\\u0000", b"0000-00-00",
    b"9999-99-99", b"2024-02-30", b"sep=;\n", b"1.234,5", b"007", b"nan", b"NA", b"?",
]  # fmt: skip
PLACES = st.integers(0, 2**16)
CHANGES = st.lists(
    st.tuples(
        st.sampled_from(["put", "over", "drop", "again", "end"]),
        PLACES,
        st.sampled_from(PIECES) | st.binary(min_size=1, max_size=8),
        st.integers(1, 64),
    ),
    min_size=1,
    max_size=6,
)


def spoil(content, changes):
    """Return bytes with some changes made to them, one after the other."""
    for how, place, piece, length in changes:
        at = place % (len(content) + 1)
        if how == "put":
            content = content[:at] + piece + content[at:]
        elif how == "over":
            content = content[:at] + piece + content[at + len(piece) :]
        elif how == "drop":
            content = content[:at] + content[at + length :]
        elif how == "again":
            content = content[:at] + content[at : at + length] + content[at:]
        else:
            content = content[:at] or content
    return content


# ---- What must come of it.


@contextlib.contextmanager
def in_time():
    """Raise if something works for longer than it may, where signals can say so.

    Its own time is counted, not that of the clock: a machine may be busy.  Every input
    passes here once, and is counted too.
    """
    count_input()

    def stop(*_):
        raise TimeoutError(f"still at it after {LONGEST_SECONDS} s")

    if not hasattr(signal, "setitimer"):
        yield
        return
    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, LONGEST_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def read_or_refuse(path):
    """Read a file, and write it with a row more, if it is a table at all."""
    with in_time():
        try:
            table = read_table(path)
        except UserInputError:
            event("refused")
            return
        event("read")
        with contextlib.suppress(UserInputError):  # such as what Excel cannot hold
            grow(table, path.with_name(f"out-{path.name}"))


def grow(table, out):
    """Write a table as it is, then with a row more: the real rows are as they were."""
    n_real = len(table.frame)
    write_table(table.frame, out, n_real=n_real, like=table, force=True)
    assert open_source(out, None).content == table.content
    bigger = pd.concat([table.frame, table.frame.iloc[:1]], ignore_index=True)
    write_table(bigger, out, n_real=n_real, like=table, force=True)
    if table.format in ("csv", "tsv", "json", "jsonl"):
        assert_grown(table.content, open_source(out, None).content)
    else:
        again = read_table(out).frame
        assert len(again) == n_real + 1
        assert same_rows(again.iloc[:n_real], table.frame)


def assert_grown(old, new):
    """All old bytes are there, in two pieces with the new row between them."""
    assert n_alike(old, new) + n_alike(old[::-1], new[::-1]) >= len(old)


def n_alike(left, right):
    """Return how many bytes are alike before the first that differ."""
    pairs = enumerate(zip(left, right, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(left), len(right)))


@functools.cache
def sound(kind):
    return SOUND[kind]()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz")


@pytest.mark.parametrize("kind", SOUND)
@fuzzed
@given(changes=CHANGES, which=st.integers(0, 2))
def test_any_file_is_a_table_or_refused(folder, kind, changes, which):
    files = sound(kind)
    path = folder / f"spoilt.{kind}"
    path.write_bytes(spoil(files[which % len(files)], changes))

    read_or_refuse(path)


@fuzzed
@given(changes=CHANGES, part=st.integers(0, 20))
def test_any_part_of_a_workbook_may_be_spoilt(folder, changes, part):
    path = folder / "parts.xlsx"
    with (
        zipfile.ZipFile(io.BytesIO(sound("xlsx")[0])) as old,
        zipfile.ZipFile(path, "w") as new,
    ):
        names = old.namelist()
        # The sheet itself as often as all others together.
        wanted = names[part] if part < len(names) else "xl/worksheets/sheet1.xml"
        for name in names:
            content = old.read(name)
            new.writestr(name, spoil(content, changes) if name == wanted else content)

    read_or_refuse(path)


@fuzzed
@given(changes=CHANGES)
def test_what_pandas_notes_in_a_file_may_be_spoilt(folder, changes):
    noted = spoil(ARROW.schema.metadata[b"pandas"], changes)
    path = folder / "noted.parquet"
    path.write_bytes(parquet(ARROW.replace_schema_metadata({"pandas": noted})))

    read_or_refuse(path)


CELLS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(sorted({*TEXTS.values()} - {TEXTS["long"]}))
    | st.sampled_from(["NA", "?", "2024-01-31", "007", "1,5", "-", "true", ""])
)


@st.composite
def any_records(draw):
    """Return records of a few columns, each of one sort of cells or of all."""
    names = draw(st.lists(st.text(max_size=6), min_size=2, max_size=4, unique=True))
    n_rows = draw(st.integers(1, 20))
    columns = []
    for _ in names:
        one = st.lists(draw(st.sampled_from([CELLS, st.floats(), st.integers(0, 3)])))
        known = draw(one.filter(bool))
        columns.append([known[i % len(known)] for i in range(n_rows)])
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def write_records(path, rows):
    frame = pd.DataFrame(rows, dtype=object)
    text = json.dumps(rows) if path.suffix == ".json" else frame.to_csv(index=False)
    path.write_bytes(text.encode("utf-8", "replace"))


@fuzzed
@given(rows=any_records(), as_text=st.booleans())
def test_any_records_are_a_table_or_refused(folder, rows, as_text):
    path = folder / ("records.csv" if as_text else "records.json")
    write_records(path, rows)

    read_or_refuse(path)


@fuzzed
@given(rows=any_records(), as_text=st.booleans())
def test_inspect_has_an_answer_to_any_table(folder, rows, as_text):
    rows = [dict(row, label=("no", "yes")[i % 2]) for i, row in enumerate(rows * 3)]
    path = folder / ("inspected.csv" if as_text else "inspected.json")
    write_records(path, rows)
    target = list(rows[0])[len(rows) % len(rows[0])]
    out, said = io.StringIO(), io.StringIO()

    with in_time(), contextlib.redirect_stdout(out), contextlib.redirect_stderr(said):
        code = main(["inspect", str(path), f"--target={target}"])

    assert code in (0, 2, 3), said.getvalue()  # 3: a column was not understood
    steering = [sign for sign in out.getvalue() + said.getvalue() if sign in "\x1b\x07"]
    assert steering == []


SCHEMA = b"""target = "sick"
task = "classification"
groups = "kind"
[columns]
dose = "continuous"
kind = "category"
"""
RULES = b"""[[rule]]
name = "a"
text = "dose < count and kind in ('x', 'y')"
[[rule]]
column = "dose"
min = 0
max = 1e9
[[rule]]
combination = ["kind", "sick"]
"""


@fuzzed
@given(changes=CHANGES)
def test_any_schema_file_is_read_or_refused(folder, changes):
    path = folder / "schema.toml"
    path.write_bytes(spoil(SCHEMA, changes))

    with in_time(), contextlib.suppress(UserInputError):
        read_schema_file(path, list(FRAME.columns))


@fuzzed
@given(changes=CHANGES)
def test_any_rule_file_is_read_or_refused(folder, changes):
    path = folder / "rules.toml"
    path.write_bytes(spoil(RULES, changes))

    with in_time(), contextlib.suppress(UserInputError):
        Rules.read(path)


# ---- Saved results, whose checksums may be mended after they were spoilt.


GOLDEN = Path(__file__).parents[1] / "guards" / "files"
RESULTS = sorted(path.read_bytes() for path in GOLDEN.glob("*.tap"))
ODD = (
    st.none()
    | st.booleans()
    | st.integers(-3, 20)
    | st.sampled_from([2**31, 2**63, -(2**70), 1e308, 0.5, -0.0])
    | st.sampled_from([float("nan"), float("inf"), "", "x", "\x1b[2J", "\ud800"])
    | st.sampled_from([[], [[]], {}, {"x": 1}, [1, 2], ["x"], [None], "1e999", "nan"])
)
KINDS = ["<f8", "<f4", "<i8", "<i4", "<i2", "|u1", "|b1", "<f2", "<u8"]
FORGERIES = st.lists(
    st.tuples(
        st.sampled_from(["change", "drop", "again", "other", "array", "array"]),
        PLACES,
        PLACES,
        ODD,
        st.sampled_from(["kind", "shape", "cell", "cells", "drop", "other", "turn"]),
    ),
    min_size=1,
    max_size=3,
)


def places_in(part):
    """Return every place in some JSON: what holds it, and its key there."""
    if isinstance(part, str) and part[:1] == "{":
        return []
    keys = part if isinstance(part, dict) else range(len(part))
    here = [(part, key) for key in keys]
    inner = [part[key] for key in keys if isinstance(part[key], (dict, list))]
    return here + [place for one in inner for place in places_in(one)]


def forge_json(about, how, first, second, odd):
    """Change one place of some JSON."""
    places = places_in(about)
    within, key = places[first % len(places)]
    if how == "drop":
        del within[key]
    elif how == "again" and isinstance(within, list):
        within.append(within[key])
    elif how == "other":
        other, its = places[second % len(places)]
        within[key] = json.loads(json.dumps(other[its]))
    else:
        within[key] = odd


def forge_arrays(arrays, how, first, second, odd):
    """Change one of some arrays."""
    names = sorted(arrays)
    name = names[first % len(names)]
    array = arrays[name]
    if how == "kind":
        with np.errstate(all="ignore"):
            array = array.astype(KINDS[second % len(KINDS)])
    elif how == "shape":
        flat = array.ravel()[: second % (array.size + 1)]
        array = flat if second % 2 else flat[None]
    elif how in ("cell", "cells") and array.size:
        array = array.copy()
        chosen = slice(None) if how == "cells" else second % array.size
        with contextlib.suppress(TypeError, ValueError, OverflowError):
            array.reshape(-1)[chosen] = odd
    elif how == "drop":
        del arrays[name]
        return
    elif how == "other":
        array = arrays[names[second % len(names)]]
    else:
        array = array.T
    arrays[name] = np.ascontiguousarray(array)


def forge(content, forgeries):
    """Return a saved result that was changed by somebody who mends every checksum."""
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        members = {name: file.read(name) for name in file.namelist()}
    kind = {"name": FORMAT_NAME, "version": FORMAT_VERSION}
    found = unpack_archive(members.pop(EXACT), "sound", **kind)
    about, arrays = json.loads(json.dumps(found.about)), dict(found.arrays)
    about["run"]["settings"] = json.loads(about["run"]["settings"])
    for how, first, second, odd, what in forgeries:
        if how == "array":
            forge_arrays(arrays, what, first, second, odd)
        else:
            forge_json(about, how, first, second, odd)
    with contextlib.suppress(KeyError, TypeError):
        about["run"]["settings"] = json.dumps(about["run"]["settings"])
    members[EXACT] = pack_archive(Archive(arrays, about), **kind)
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as file:
        for name, member in members.items():
            file.writestr(name, member)
    return sink.getvalue()


def assert_answered(path, command):
    """Do something with a saved result: it is done, or refused in a sentence."""
    arguments = {
        "report": ["--force", "--out", str(path.with_name("out.html"))],
        "forget": ["--force", "--row=3", "--out", str(path.with_name("out.tap"))],
        "verify": [],
    }
    out, said = io.StringIO(), io.StringIO()

    with in_time(), contextlib.redirect_stdout(out), contextlib.redirect_stderr(said):
        code = main([command, str(path), *arguments[command]])

    assert code in (0, 2, 3), said.getvalue()
    event(f"{command} ended with {code}")
    assert not {"\x1b", "\x07"} & {*out.getvalue(), *said.getvalue()}


COMMANDS = st.sampled_from(["report", "forget", "verify"])


@fuzzed
@given(result=st.sampled_from(RESULTS), changes=CHANGES, command=COMMANDS)
def test_any_bytes_of_a_result_may_be_spoilt(folder, result, changes, command):
    path = folder / "spoilt.tap"
    path.write_bytes(spoil(result, changes))

    assert_answered(path, command)


@fuzzed
@given(result=st.sampled_from(RESULTS), forgeries=FORGERIES, command=COMMANDS)
def test_any_part_of_a_result_may_be_forged(folder, result, forgeries, command):
    path = folder / "forged.tap"
    path.write_bytes(forge(result, forgeries))

    assert_answered(path, command)


def test_all_inputs_are_shared_among_the_tests():
    here = Path(__file__).read_text(encoding="utf-8")

    assert here.count("\n@fuzzed\n") - 1 + len(SOUND) == N_TESTS
    assert np.isclose(fuzzed.max_examples, N_INPUTS / N_TESTS, atol=1)


def test_every_test_that_ran_was_given_all_of_its_inputs():
    short = {name: n for name, n in N_GIVEN.items() if n < N_EACH}

    assert short == {}


def test_a_test_that_was_ended_midway_is_told_as_such(monkeypatch):
    monkeypatch.setattr("hostile.counting.N_GIVEN", Counter(whole=5000, cut=1234))
    monkeypatch.setattr("hostile.counting.N_EACH", 5000)

    assert lines() == [
        "whole: 5,000 of 5,000 inputs",
        "cut: 1,234 of 5,000 inputs, NOT ALL",
        "6,234 inputs in 2 tests",
    ]
