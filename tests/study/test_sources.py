import hashlib
import json
from collections import Counter
from types import SimpleNamespace
from urllib.error import URLError

import pandas as pd
import pytest

from tabtap.errors import FileFormatError, UserInputError
from tabtap.study import sources
from tabtap.study.sources import SOURCES, Source, data_folder, load_source

needs_folder = pytest.mark.skipif(
    data_folder() is None, reason="TABTAP_DATA names no folder with the paper's tables"
)
FRAME = pd.DataFrame({"a": [1.0, 2.0], "b": ["u", "v"], "class": ["x", "y"]})
TINY = Source(
    openml_id=1, target="class", task="classification", n_rows=2, n_features=2
)


@pytest.fixture
def tiny(monkeypatch):
    monkeypatch.delenv("TABTAP_DATA", raising=False)
    monkeypatch.setattr(sources, "SOURCES", {"tiny": TINY})


@pytest.fixture
def folder(tiny, tmp_path):  # noqa: ARG001  for what it patches
    FRAME.to_parquet(tmp_path / "tiny.parquet")
    digest = hashlib.sha256((tmp_path / "tiny.parquet").read_bytes()).hexdigest()
    parquet = {"path": "tiny.parquet", "sha256": digest}
    entry = {"name": "tiny", "target": "class", "categorical": ["b"]}
    index = {"datasets": [{**entry, "parquet": parquet}]}
    (tmp_path / "datasets.json").write_text(json.dumps(index))
    return tmp_path


def test_a_table_is_read_from_the_folder_the_environment_names(folder, monkeypatch):
    monkeypatch.setenv("TABTAP_DATA", str(folder))

    table = load_source("tiny")

    assert table.frame["a"].tolist() == [1.0, 2.0]
    assert (table.target, table.task) == ("class", "classification")
    assert table.categorical == ("b",)
    assert table.groups is None


def test_groups_beside_the_table_are_read_without_the_number_of_the_row(folder):
    (folder / "tiny_groups.csv").write_text("mouse\n309_1\nJ3295_15\n")

    assert load_source("tiny", folder).groups == ("309", "J3295")


def test_a_file_with_another_digest_is_refused(folder):
    FRAME.iloc[::-1].to_parquet(folder / "tiny.parquet")

    with pytest.raises(FileFormatError, match=r"sha256 .* Copy the file again"):
        load_source("tiny", folder)


@pytest.mark.usefixtures("tiny")
def test_a_folder_without_an_index_is_refused(tmp_path):
    with pytest.raises(UserInputError, match=r"datasets.json does not exist"):
        load_source("tiny", tmp_path)


def test_a_table_missing_from_the_index_is_refused(folder, monkeypatch):
    monkeypatch.setattr(sources, "SOURCES", {"other": TINY})

    with pytest.raises(UserInputError, match="no table 'other', only tiny"):
        load_source("other", folder)


@pytest.mark.usefixtures("tiny")
def test_without_a_folder_the_table_is_fetched_by_its_number(monkeypatch):
    asked = []

    def fetch(**how):
        asked.append(how["data_id"])
        return SimpleNamespace(frame=FRAME)

    monkeypatch.setattr(sources, "fetch_openml", fetch)

    table = load_source("tiny")

    assert asked == [1]
    assert table.frame is FRAME


@pytest.mark.usefixtures("tiny")
def test_being_offline_is_explained_with_the_way_out(monkeypatch):
    def fetch(**_):
        raise URLError("no route")

    monkeypatch.setattr(sources, "fetch_openml", fetch)

    with pytest.raises(UserInputError, match=r"OpenML \(id 1\).*set TABTAP_DATA"):
        load_source("tiny")


@pytest.mark.usefixtures("tiny")
def test_a_table_of_another_shape_is_refused(monkeypatch):
    short = SimpleNamespace(frame=FRAME.iloc[:1])
    monkeypatch.setattr(sources, "fetch_openml", lambda **_: short)

    with pytest.raises(FileFormatError, match=r"shape \(1, 3\)"):
        load_source("tiny")


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(UserInputError, match=r"'iris'\. Choose from MiceProtein"):
        load_source("iris")


@needs_folder
@pytest.mark.parametrize("name", SOURCES)
def test_the_folder_holds_the_tables_of_the_paper(name):
    table = load_source(name)

    assert table.categorical == SOURCES[name].categorical
    assert table.target == SOURCES[name].target


@needs_folder
def test_mice_come_with_fifteen_rows_each():
    groups = load_source("MiceProtein").groups

    assert set(Counter(groups).values()) == {15}
