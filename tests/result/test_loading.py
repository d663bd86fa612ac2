import io
import json
import subprocess
import sys
import zipfile
from dataclasses import fields

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tabtap.domain import Candidates
from tabtap.loop import Stop
from tabtap.result import AugmentResult, RunAbout, load_result
from tabtap.result.files import EXACT
from tabtap.table import read_frame, write_frame


def plain(record):
    """Return a record as something that can be compared."""
    if isinstance(record, np.ndarray):
        return (record.dtype.str, record.shape, record.tobytes())
    if isinstance(record, float):
        return repr(record)
    if isinstance(record, (list, tuple)):
        return [plain(part) for part in record]
    if isinstance(record, dict):
        return [(name, plain(part)) for name, part in record.items()]
    if hasattr(record, "__dataclass_fields__"):
        return [(f.name, plain(getattr(record, f.name))) for f in fields(record)]
    return record


@pytest.mark.parametrize("protocol", ["crossfit", "paper"])
@pytest.mark.parametrize("gain", [0.01, -0.01])
def test_everything_comes_back(make_result, table, tmp_path, gain, protocol, content):
    result = make_result(table, gain=gain, protocol=protocol).forget([1, 2])

    result.save(tmp_path / "r")
    back = load_result(tmp_path / "r")

    assert back.real.schema == result.real.schema
    assert content(back.delivered) == content(result.delivered)
    assert content(Candidates(back.real, *[np.zeros(0)] * 2)) == content(
        Candidates(result.real, *[np.zeros(0)] * 2)
    )
    for name in ("certificates", "steps", "about", "stop", "forgotten", "n_removed"):
        assert plain(getattr(back, name)) == plain(getattr(result, name)), name
    assert back.real_sha256 == result.real_sha256
    assert back.why == result.why
    pd.testing.assert_frame_equal(back.provenance, result.provenance)
    pd.testing.assert_frame_equal(back.trace, result.trace)


def test_labels_groups_and_identifiers_come_back(make_result, classes, frame, tmp_path):
    mice = np.array(["ann", "bob", "cat", "dan"] * 3, dtype=object)
    result = make_result(classes, groups=mice, gain=0.03, index=frame.index)
    result.save(tmp_path / "r")

    back = load_result(tmp_path / "r")

    pd.testing.assert_frame_equal(back.augmented()[0], result.augmented()[0])
    assert back.groups.tolist() == result.groups.tolist()
    assert back.augmented()[0]["key"].iloc[0] == "p000"


@pytest.mark.parametrize(
    "groups",
    [
        np.array([3, -1, 2**62] * 4),
        np.array([0.5, np.nan, -1.0] * 4),
        np.array(["a", "é", ""] * 4),
        np.array(["a", 1, None] * 4, dtype=object),
        np.array(["2024-01-01", "2024-01-02", "2025-01-01"] * 4, "datetime64[D]"),
        np.array([True, False, True] * 4),
    ],
    ids=lambda groups: groups.dtype.str,
)
def test_groups_of_any_kind_come_back(classes, tmp_path, groups):
    result = AugmentResult(
        real=classes,
        delivered=Candidates.none(classes),
        stop=Stop.STEPS,
        about=RunAbout(seed=1, budget="auto", settings={}, groups=groups),
    )
    result.save(tmp_path / "r")

    back = load_result(tmp_path / "r").about

    assert back.groups.dtype == groups.dtype
    assert list(map(repr, back.groups)) == list(map(repr, groups))
    assert back.budget == "auto"


CELLS = {
    "float64": st.floats(width=64, allow_infinity=False),
    "int64": st.integers(-(2**63), 2**63 - 1),
    "Int64": st.none() | st.integers(-(2**63), 2**63 - 1),
    "uint64": st.integers(0, 2**64 - 1),
    "boolean": st.none() | st.booleans(),
    "category": st.none() | st.sampled_from(["a", "", "日本"]),
    "object": st.none() | st.sampled_from(["1", "x", "\ud800"]),
    "datetime64[ns, Europe/Berlin]": st.none()
    | st.datetimes(pd.Timestamp("1971"), pd.Timestamp("2100")).map(
        lambda moment: pd.Timestamp(moment, tz="UTC")
    ),
}


@st.composite
def odd_frames(draw):
    dtypes = draw(st.lists(st.sampled_from(sorted(CELLS)), min_size=1, max_size=4))
    columns = {}
    for place, dtype in enumerate(dtypes):
        cells = draw(st.lists(CELLS[dtype], min_size=12, max_size=12))
        cells[0] = draw(CELLS[dtype].filter(lambda v: v is not None and v == v))
        name = draw(st.sampled_from([str(place), place, (place, "x")]))
        columns[place] = (name, pd.Series(cells, dtype=object).astype(dtype))
    frame = pd.DataFrame({place: cells for place, (_, cells) in columns.items()})
    frame.columns = pd.Index(
        [name for name, _ in columns.values()], dtype=object, tupleize_cols=False
    )
    return frame


@given(frame=odd_frames(), numeric=st.booleans())
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
def test_odd_tables_come_back_bit_for_bit(tmp_path, frame, numeric, content):
    y = np.arange(12) * 0.5 if numeric else np.arange(12) % 2
    kinds = {
        name: "category"
        for name, dtype in zip(frame.columns, frame.dtypes, strict=True)
        if dtype.kind == "O"
    }
    real = read_frame(frame, y=y, kinds=kinds)
    chosen = real.take(np.array([3, 3, 7]))
    rows = Candidates(chosen, chosen.missing > 0, np.array([0, 1, 2]))
    result = AugmentResult(
        real=real,
        delivered=rows,
        stop=Stop.STEPS,
        about=RunAbout(seed=0, budget=3, settings={}),
        index=pd.RangeIndex(12),
    )

    result.save(tmp_path / "r")
    back = load_result(tmp_path / "r")

    assert back.real.schema == real.schema
    assert content(back.delivered) == content(rows)
    pd.testing.assert_frame_equal(write_frame(back.real), frame, check_exact=True)


def test_other_programs_find_parquet_and_json_inside(saved, result):
    with zipfile.ZipFile(saved) as file:
        rows = pd.read_parquet(io.BytesIO(file.read("synthetic.parquet")))
        made = pd.read_parquet(io.BytesIO(file.read("provenance.parquet")))
        checks = json.loads(file.read("certificates.json"))

    assert rows["big"].tolist() == result.synthetic["big"].tolist()
    assert rows["ill"].tolist() == result.synthetic["ill"].tolist()
    assert str(rows["when"].dtype.tz) == "Europe/Berlin"
    assert [tuple(names) for names in made["redrawn"]] == (
        result.provenance["redrawn"].tolist()
    )
    assert len(checks["certificates"]) == len(result.certificates)


def test_polars_and_numpy_results_come_back(make_result, tmp_path, content):
    array = np.random.default_rng(0).normal(size=(12, 2))
    polars = pl.DataFrame({"a": array[:, 0], "b": ["u", "v", None] * 4})
    for name, table in (
        ("polars", read_frame(polars, y=pl.Series("y", [0, 1] * 6))),
        ("numpy", read_frame(array, y=np.array([0, 1] * 6))),
    ):
        result = make_result(table)
        result.save(tmp_path / name)

        back = load_result(tmp_path / name)

        assert content(back.delivered) == content(result.delivered)
        assert type(back.augmented()[0]) is type(result.augmented()[0])


def test_equal_results_give_equal_files_without_a_pickle(result, saved, tmp_path):
    result.save(tmp_path / "again")

    assert saved.read_bytes() == (tmp_path / "again").read_bytes()
    with zipfile.ZipFile(saved) as file:
        assert sorted(file.namelist()) == [
            "certificates.json", "provenance.parquet", EXACT, "synthetic.parquet"
        ]  # fmt: skip


def test_reading_a_result_needs_no_torch(saved):
    code = (
        "import sys; from tabtap.result import load_result; "
        f"load_result({str(saved)!r}).why; print('torch' in sys.modules)"
    )

    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert answer.stdout.strip() == "False"
