import io
import json
import zipfile
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest

from tabtap.domain import Candidates
from tabtap.domain.judgement import table_sha256
from tabtap.loop import Stop
from tabtap.loop.commit import group_name
from tabtap.report import write_report
from tabtap.result import AugmentResult, RunAbout, load_result, verify
from tabtap.result.forgetting import as_given
from tabtap.table import read_frame, write_frame

GONE = 4
"""The row that is forgotten; nobody else has any of its values."""


def bytes_of(path):
    """Return all that is in a saved result, decompressed."""
    with zipfile.ZipFile(path) as file:
        return b"\n".join(file.read(name) for name in file.namelist())


def by_hand(real, groups=None, index=None):
    """Return a result whose synthetic rows are copies of some real ones."""
    copies = real.take(np.array([1, GONE, 7]))
    return AugmentResult(
        real=real,
        delivered=Candidates(copies, copies.missing < 0, np.zeros(3, np.int64)),
        stop=Stop.STEPS,
        about=RunAbout(seed=0, budget=3, settings={}, groups=groups),
        index=index,
    )


@pytest.fixture
def person():
    """Twelve rows, of which one has a name, a town, a class and a date of its own."""
    days = pd.date_range("2024-01-01", periods=12, freq="D").to_list()
    days[GONE] = pd.Timestamp("1931-05-17")
    return pd.DataFrame(
        {
            "name": [f"name{k:02d}" for k in range(12)],
            "town": ["Aachen", "Ulm"] * 2 + ["Xanten"] + ["Ulm", "Zeitz", None] * 2
            + ["Ulm"],
            "grade": pd.Categorical([1, 2, 3] * 4, categories=[3, 2, 1, 9]),
            "day": pd.DatetimeIndex(days).as_unit("s"),
            "ill": ["flu", "gout"] * 2 + ["kuru"] + ["flu", "gout", "flu"] * 2
            + ["gout"],
        },
        index=[f"label{k:02d}" for k in range(12)],
    )  # fmt: skip


@pytest.fixture
def table(person):
    kinds = {"name": "identifier", "town": "category"}
    return read_frame(person, "ill", kinds=kinds)


WORDS = (b"name04", b"Xanten", b"kuru", b"label04", b"owner04")
WORDS += (np.datetime64("1931-05-17", "s").tobytes(),)


def test_nothing_of_a_forgotten_row_is_in_the_saved_file(person, table, tmp_path):
    owners = np.array([f"owner{k:02d}" for k in range(12)])
    result = by_hand(table, groups=owners, index=person.index)
    result.save(tmp_path / "before")
    result.forget(GONE).save(tmp_path / "after")

    before, after = bytes_of(tmp_path / "before"), bytes_of(tmp_path / "after")

    assert all(word in before for word in WORDS)
    assert not any(word in after for word in WORDS)
    assert all(word in after for word in (b"name05", b"Zeitz", b"gout", b"label05"))


def test_the_rows_that_stay_are_what_they_were(person, table, tmp_path):
    by_hand(table, index=person.index).forget([GONE, 0]).save(tmp_path / "r")

    back = load_result(tmp_path / "r")

    wanted = person.drop(index=["label04", "label00"])
    pd.testing.assert_frame_equal(write_frame(back.real, index=back.index), wanted)
    assert back.synthetic["town"].tolist() == person["town"].iloc[[1, 7]].tolist()
    assert back.synthetic_target.tolist() == person["ill"].iloc[[1, 7]].tolist()


def test_declared_categories_of_pandas_stay_and_names_do_not(person):
    frame = person.astype({"name": "category", "town": "category"})
    real = read_frame(frame, "ill", kinds={"name": "identifier"})

    less = write_frame(by_hand(real).forget(GONE).real)

    assert less["town"].dtype == frame["town"].dtype
    assert less["grade"].dtype == frame["grade"].dtype
    names = [f"name{k:02d}" for k in range(12) if k != GONE]
    assert less["name"].cat.categories.tolist() == less["name"].tolist() == names


def test_a_polars_categorical_forgets_and_an_enum_declares(person, tmp_path):
    towns = person["town"].astype(object).where(person["town"].notna(), None).tolist()
    frame = pl.DataFrame(
        {
            "met": pl.Series(towns, dtype=pl.Categorical),
            "told": pl.Series(
                ["low", "high", "low"] * 4, dtype=pl.Enum(["low", "high", "top"])
            ),
        }
    )
    result = by_hand(read_frame(frame, y=pl.Series("y", [0, 1] * 6)))

    result.forget(GONE).save(tmp_path / "r")
    back = load_result(tmp_path / "r")

    assert b"Xanten" not in bytes_of(tmp_path / "r")
    less = write_frame(back.real)
    assert less["met"].to_list() == towns[:GONE] + towns[GONE + 1 :]
    assert less["told"].dtype == pl.Enum(["low", "high", "top"])


def test_whole_numbers_and_times_are_no_longer_counted_from_a_row_that_is_gone():
    frame = pd.DataFrame(
        {
            "count": 1_234_567 + 5 * np.arange(12),
            "when": pd.date_range("1931-05-17 03:04", periods=12, freq="D"),
        }
    )
    real = read_frame(frame, y=np.arange(12) * 0.5)

    less = by_hand(real).forget([0, 1]).real

    bases = [column.base for column in less.schema.features]
    assert bases == [int(cells[0]) for cells in less.cells]
    drawn = np.array([1_234_571.0, 1.0e6])
    old, new = real.schema.features[0], less.schema.features[0]
    assert new.store(drawn).tolist() == old.store(drawn).tolist()
    assert (
        write_frame(less)
        .reset_index(drop=True)
        .equals(frame.iloc[2:].reset_index(drop=True))
    )


def test_targets_are_cut_between_the_rows_that_stay_as_before():
    y = np.arange(12) * 1.25
    real = read_frame(pd.DataFrame({"x": np.arange(12) * 0.1}), y=y)
    edges = real.schema.target.edges
    cut = [int(np.flatnonzero(y == edge)[0]) for edge in edges]

    less = by_hand(real).forget(cut).real

    assert not set(less.schema.target.edges) & set(edges)
    keep = np.setdiff1d(np.arange(12), cut)
    assert less.condition.tolist() == real.condition[keep].tolist()


def test_a_first_bin_that_is_empty_stays_empty():
    real = read_frame(pd.DataFrame({"x": np.arange(12) * 0.1}), y=np.arange(12) * 1.0)
    first = np.flatnonzero(real.condition == 0)

    less = by_hand(real).forget(first.tolist()).real

    assert less.condition.tolist() == real.condition[len(first) :].tolist()


def test_hashes_of_pools_that_lost_no_row_still_fit(make_result, table, tmp_path):
    result = make_result(table, gain=0.03)
    town = write_frame(result.delivered.rows)["town"]
    assert result.real.schema.features[1].levels == ("Aachen", "Ulm", "Xanten", "Zeitz")
    assert "Zeitz" in town.tolist()

    less = result.forget(GONE).forget([0, 2])
    less.save(tmp_path / "r")

    for found in (less, load_result(tmp_path / "r")):
        assert found.codes_given
        assert {finding.kind for finding in verify(found)} == {"forgotten"}
    kept = {finding.window for finding in verify(less)}
    windows = {c.window for c in result.certificates if c.committed}
    assert windows - kept  # at least one pool was hashed again


def test_rows_get_the_codes_of_the_run_back_however_often_something_is_forgotten(table):
    less = by_hand(table).forget(1).forget([0, 2]).forget([GONE, 6, 9])

    again = as_given(less.real, less.codes_given)

    keep = np.array([3, 5, 7, 8, 10, 11])
    assert less.real.schema.features[1].levels == ("Ulm",)
    assert table_sha256(again) == table_sha256(table.take(keep))
    assert table_sha256(less.real) != table_sha256(table.take(keep))


def test_what_lies_under_a_hole_may_be_a_level_that_goes(table, tmp_path):
    result = by_hand(table)
    rows = result.delivered.rows
    town = rows.cells[1].copy()
    missing = rows.missing.copy()
    town[0], missing[0, 1] = 3, 1  # Zeitz, the last level
    rows = replace(rows, cells=(rows.cells[0], town, *rows.cells[2:]), missing=missing)
    result = replace(result, delivered=replace(result.delivered, rows=rows))

    result.forget([6, 9]).save(tmp_path / "r")

    assert load_result(tmp_path / "r").synthetic["town"].isna().iloc[0]
    assert b"Zeitz" not in bytes_of(tmp_path / "r")


def test_steps_that_asked_for_a_forgotten_class_no_longer_name_it(make_result, table):
    result = make_result(table, gain=-0.01)
    asked = result.trace["target"] == "kuru"
    assert asked.any()

    trace = result.forget(GONE).trace

    assert trace["target"][asked].isna().all()
    assert trace["deficit"][asked].isna().all()
    same = ["target", "deficit", "uncertainty", "n_proposed"]
    pd.testing.assert_frame_equal(trace[same][~asked], result.trace[same][~asked])
    assert result.forget(GONE).waterfall == result.waterfall


LONE = {
    "text": "Xanten",
    "number": 123_454_321,
    "moment": pd.Timestamp("1931-05-17"),
    "truth": True,
    "category": "Xanten",
    "other": Decimal("12345.4321"),
}


@pytest.mark.parametrize("kind", ["category", "identifier"])
@pytest.mark.parametrize("name", LONE)
def test_a_column_whose_only_value_is_forgotten_is_one_of_holes(name, kind, tmp_path):
    cells = pd.Series([None] * 12, dtype=object)
    cells[GONE] = LONE[name]
    dtype = {"number": "Int64", "moment": "datetime64[s]", "truth": "boolean"}
    cells = cells.astype(dtype.get(name, "category" if name == "category" else object))
    frame = pd.DataFrame({"x": np.arange(12) * 0.5, "lone": cells})
    real = read_frame(frame, y=[0, 1] * 6, kinds={"lone": kind})

    less = by_hand(real).forget(GONE).forget(5)
    less.save(tmp_path / "r")
    back = load_result(tmp_path / "r")

    column = back.real.schema.features[1]
    declared = (name, kind) == ("category", "category")
    assert (LONE[name] in column.levels + column.categories) == declared
    found = write_frame(back.real)["lone"]
    assert found.isna().all()
    assert name == "category" or found.dtype == cells.dtype


def test_both_forms_of_a_hole_stay_where_no_value_does():
    cells = pd.Series([None, np.nan] * 6, dtype=object)
    cells[GONE] = "Xanten"
    frame = pd.DataFrame({"x": np.arange(12) * 0.5, "lone": cells})
    real = read_frame(frame, y=[0, 1] * 6, kinds={"lone": "category"})

    less = write_frame(by_hand(real).forget(GONE).real)["lone"]

    assert [value is None for value in less] == [
        value is None for value in cells.drop(GONE)
    ]


# ---- Certificates, notes, the file's form, and every page that is made of them.


@pytest.fixture
def patients():
    """Thirty-six visits; patient p02 is alone at a site and with a number and a day."""
    n = 36
    own = np.arange(n) // 3 == 2
    frame = pd.DataFrame(
        {
            "site": np.where(own, "Xanten", np.where(np.arange(n) % 2, "Ulm", "Zeitz")),
            "dose": np.where(own, 77.125, np.arange(n) * 0.5),
            "ill": ["no", "yes"] * (n // 2),
        }
    )
    return read_frame(frame, "ill"), np.array([f"p{k // 3:02d}" for k in range(n)])


TOLD = ("Xanten", "77.125", "p02")
SOURCE = {
    "format": "csv", "dialect": None, "written": [], "columns": None,
    "styles": [
        {"name": "dose", "spelling": ["", "", "", False, [[77.125, "<77.125"]], ""]},
        {"name": "site", "spelling": None},
    ],
}  # fmt: skip


@pytest.fixture
def told(make_result, patients):
    """A result whose certificates, notes and source name what only p02 has."""
    real, groups = patients
    result = make_result(
        real, groups=groups, no_harm={"site": 0.02, "dose": 0.02}, gain=0.03
    )
    # Rows of other patients that were given a cell of hers tell it, and stay.
    drawn = write_frame(result.delivered.rows)
    own = (drawn["site"] == "Xanten") | (drawn["dose"] == 77.125)
    hers = np.isin(result.delivered.rows.origin, [6, 7, 8])
    result = replace(result, delivered=result.delivered.take(hers | ~own.to_numpy()))
    harmed = [
        replace(
            check,
            groups=(*check.groups, replace(check.groups[-1], value="at most 77.125")),
            reason=f"so, but {group_name(check.groups[0])} loses 0.1",
            evidence={
                **check.evidence,
                "weights": np.where(groups == "p02", 77.125, 1.0),
            },
        )
        for check in result.certificates
    ]
    about = replace(
        result.about,
        notes=(*result.about.notes, "Site 'Xanten' has 3 rows.", "Of p02, see p01."),
        source=json.dumps(SOURCE),
    )
    return replace(result, certificates=tuple(harmed), about=about)


def all_texts(result, folder):
    """Return everything that is written of a result, member by member."""
    result.save(folder / "r.tap")
    with zipfile.ZipFile(folder / "r.tap") as file:
        parts = {name: file.read(name) for name in file.namelist()}
    for name in ("synthetic.parquet", "provenance.parquet"):  # which are compressed
        rows = pd.read_parquet(io.BytesIO(parts[name]))
        parts[name] = rows.to_csv().encode()
    write_report(result, folder / "r.html")
    result.write_datasheet(folder / "r.md")
    result.write_datasheet(folder / "r.json")
    for page in ("r.html", "r.md", "r.json"):
        parts[page] = (folder / page).read_bytes()
    parts["html"] = result._repr_html_().encode()
    parts["why"] = result.why.encode()
    return parts


@pytest.mark.parametrize("by", ["group", "row"])
def test_nothing_that_is_written_names_what_only_forgotten_rows_had(told, tmp_path, by):
    less = told.forget(group="p02") if by == "group" else told.forget([6, 7, 8])

    before, after = (all_texts(one, tmp_path) for one in (told, less))

    for text in TOLD:
        assert any(text.encode() in part for part in before.values())
        assert [n for n, part in after.items() if text.encode() in part] == []
    number = np.float64(77.125).tobytes()
    assert number in before["result.safetensors"]
    assert number not in after["result.safetensors"]
    assert b"Zeitz" in after["result.safetensors"]


def test_what_a_certificate_named_is_said_to_be_forgotten(told):
    check = told.forget(group="p02").certificates[0]

    named = [group.value for group in check.groups]
    assert "a forgotten value" in named
    assert named[-1] == "at most a forgotten value"
    assert {"Ulm", "Zeitz"} <= {*named}


def test_notes_that_name_nothing_forgotten_stay(told):
    notes = told.forget(group="p02").forget(0).about.notes

    assert notes[0] == "Nothing was asked of anyone."
    assert notes.count("Notes that named values of rows removed since were left out.")
    assert sum(note.startswith("Real row") for note in notes) == 2


def test_a_forgotten_result_is_verified_as_before(make_result, patients):
    real, groups = patients
    result = make_result(real, groups=groups, no_harm={"site": 0.02}, gain=0.03)

    found = verify(result.forget(group="p02"))

    assert {finding.kind for finding in found} == {"forgotten"}
