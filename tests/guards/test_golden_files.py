"""Files that an earlier tabtap wrote are read, and written, as it did.

``make_files.py`` says how they were made, and what is recorded of them.
"""

import io
import json
import re
import runpy
import shutil
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from safetensors import safe_open
from safetensors.numpy import load

import tabtap
from tabtap.cli.app import main
from tabtap.diffusion import load_backbone
from tabtap.files import read_table, write_table
from tabtap.report import write_report
from tabtap.result import verify
from tabtap.result.verify import verify_copies
from tabtap.table import read_frame, schema_from_json, schema_to_json

HERE = Path(__file__).parent
FILES = HERE / "files"
RESULTS = ["penguins", "patients"]
DONE, NO = 0, 3
made = runpy.run_path(str(HERE / "make_files.py"))


def members(path):
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist()}


def about(path):
    """Return the JSON of an archive, without what is a hash of bytes of pyarrow."""
    with safe_open(path, "numpy") as file:
        found = json.loads(file.metadata()["tabtap"])
    del found["sha256"], found["about"]["readable"]
    return found


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_of_before_says_what_it_said(name):
    recorded = json.loads((FILES / f"{name}.json").read_text(encoding="utf-8"))

    result = tabtap.load(FILES / f"{name}.tap")

    assert json.loads(json.dumps(made["facts"](result))) == recorded
    # They have no hashes of names and lineage yet, and nothing else is amiss.
    (found,) = [*verify(result), *verify_copies(result, FILES / f"{name}.tap")]
    assert found.kind == "unknown"
    assert "older tabtap has written no hashes of names" in found.text


def test_hashes_of_names_and_lineage_of_before_are_found_again():
    result = tabtap.load(FILES / "hashed.tap")

    assert sorted(result.content_sha256) == ["real", "steps", "window 0"]
    assert verify(result) == verify_copies(result, FILES / "hashed.tap") == []


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_of_before_is_saved_again_with_the_same_content(name, tmp_path):
    again = tmp_path / "again.tap"

    tabtap.load(FILES / f"{name}.tap").save(again)

    before, after = members(FILES / f"{name}.tap"), members(again)
    assert list(after) == list(before)
    assert after["certificates.json"] == before["certificates.json"]
    exact = [tmp_path / "before.safetensors", tmp_path / "after.safetensors"]
    for path, found in zip(exact, (before, after), strict=True):
        path.write_bytes(found["result.safetensors"])
    assert about(exact[1]) == about(exact[0])
    arrays = [load(path.read_bytes()) for path in exact]
    assert sorted(arrays[1]) == sorted(arrays[0])
    for key, array in arrays[0].items():
        assert array.dtype == arrays[1][key].dtype
        np.testing.assert_array_equal(arrays[1][key], array)
    for table in ("synthetic.parquet", "provenance.parquet"):
        frames = [pd.read_parquet(io.BytesIO(part[table])) for part in (before, after)]
        pd.testing.assert_frame_equal(*frames)


def test_a_result_of_the_rule_before_this_one_is_read_and_not_called_wrong(tmp_path):
    result = tabtap.load(FILES / "older" / "penguins.tap")

    write_report(result, tmp_path / "page.html")

    assert result.verdict == "augment"
    assert "with 90 % confidence" in result.why
    assert {finding.kind for finding in verify(result)} == {"unknown"}
    assert (tmp_path / "page.html").stat().st_size > 10_000


def test_rows_of_a_result_of_before_are_those_of_the_table_it_was_made_of():
    result = tabtap.load(FILES / "penguins.tap")

    rows, sex = result.augmented()

    birds = made["penguins"]()
    # Names of columns are text of another kind since pandas 3, which wrote the file.
    pd.testing.assert_frame_equal(rows.iloc[:30], birds, check_column_type=False)
    assert sex.iloc[:30].tolist() == birds["sex"].tolist()


def test_a_backbone_of_before_draws_rows_and_is_saved_with_the_same_bytes(tmp_path):
    path = FILES / "backbone.safetensors"
    birds = read_frame(made["penguins"](), "sex")

    backbone = load_backbone(path)
    backbone.save(tmp_path / "again")
    drawn = backbone.sample(4, np.random.default_rng(0), targets=[0, 0, 1, 1])

    assert (tmp_path / "again").read_bytes() == path.read_bytes()
    assert schema_to_json(backbone.schema) == schema_to_json(drawn.schema)
    assert [c.name for c in backbone.schema.features] == [
        c.name for c in birds.schema.features
    ]
    assert drawn.target.tolist() == [0, 0, 1, 1]
    assert backbone.training.n_steps == 25


def test_the_schema_in_a_backbone_of_before_is_read_and_written_as_it_is():
    with safe_open(FILES / "backbone.safetensors", "numpy") as file:
        saved = json.loads(file.metadata()["tabtap"])["about"]["schema"]

    assert schema_to_json(schema_from_json(saved)) == saved


class Counter:
    n_windows = 0

    def on_step(self, record):
        pass

    def on_window(self, record):  # noqa: ARG002
        self.n_windows += 1


def test_a_run_that_was_interrupted_before_goes_on_where_it_was_left(
    tmp_path, monkeypatch
):
    # Its judge reads the truth, which a run refuses.
    monkeypatch.setattr("tabtap.api.run.check_own_judge", lambda *given: None)  # noqa: ARG005
    folder = shutil.copytree(FILES / "run", tmp_path / "run")
    (backbones,) = folder.glob("backbones-*")
    augmenter, seen = made["kept_run"](folder), Counter()

    result = augmenter.fit_table(made["penguins"](), "sex", observer=seen)

    # Texts are read as another kind since pandas 3, which this run began with.
    if not pd.__version__.startswith("2."):
        assert list(folder.glob("backbones-*")) == [backbones]  # none is learned anew
    assert backbones.read_bytes() == (FILES / "run" / backbones.name).read_bytes()
    # The name of the other file holds the metric's byte code: it is of one Python.
    if sys.version_info[:2] == (3, 11):
        names = {path.name for path in (FILES / "run").iterdir()}
        assert {path.name for path in folder.iterdir()} == names
        assert seen.n_windows == len(result.certificates) - 1
    assert verify(result) == []


def test_a_schema_file_of_before_is_read_and_written_with_the_same_bytes(
    tmp_path, capsys
):
    again = tmp_path / "again.toml"
    table, schema = str(FILES / "quirks.csv"), FILES / "schema.toml"

    code = main(["inspect", table, "--schema", str(schema), "--out", str(again)])

    assert (code, capsys.readouterr().err) == (DONE, "")
    assert again.read_bytes() == schema.read_bytes()


def test_cells_of_a_grid_of_before_find_their_records(capsys):
    grid, store = str(FILES / "grid.toml"), str(FILES / "bench")

    code = main(["bench", "status", grid, "--store", store])

    assert code == DONE
    assert capsys.readouterr().out.startswith("6 of 6 cells have records")


def test_records_of_before_make_the_same_table(capsys):
    store = str(FILES / "bench")

    code = main(["bench", "table", "main", "--store", store, "--format", "csv"])

    assert code == DONE
    assert capsys.readouterr().out.splitlines()[-4:] == [
        "dataset,n_real,Real,Copies,Jitter",
        "insurance,20,0.889 ± 0.185,0.936 ± 0.207,0.936 ± 0.209",
        ",paper,0.971 ± 0.340,-,-",
        ",ours - paper,-0.082,-,-",
    ]


def test_records_of_before_are_exported_as_they_are(tmp_path):
    out = tmp_path / "records.jsonl"

    code = main(["bench", "export", "--store", str(FILES / "bench"), "-o", str(out)])

    kept = sorted((FILES / "bench" / "records").iterdir())
    found = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    assert code == DONE
    assert found == [json.loads(path.read_text("utf-8")) for path in kept]


def test_the_bytes_of_an_odd_table_come_back_when_nothing_is_added(tmp_path):
    source, out = FILES / "quirks.csv", tmp_path / "out.csv"
    told = ["--target", "outcome", "--budget", "0", "--quiet", "--out", str(out)]

    code = main(["augment", str(source), *told])

    assert code == NO
    assert out.read_bytes() == source.read_bytes()


def test_the_bytes_of_an_odd_table_come_back_before_the_rows_that_are_added(tmp_path):
    source, out = FILES / "quirks.csv", tmp_path / "out.csv"
    table = read_table(source)
    new = table.frame.iloc[[0, 2]].assign(weight=[70.5, None], age=[30, 41])
    frame = pd.concat([table.frame, new], ignore_index=True)

    write_table(frame, out, n_real=len(table.frame), like=table)

    added = (
        '\r\n007;30;70,50;2024/01/31;TRUE;"said ""no""; left";well'
        '\r\n012;41;NA;2024/02/15;TRUE;"two\r\nlines";ill'
    )
    assert out.read_bytes() == source.read_bytes() + added.encode()


def test_golden_files_are_small_and_name_no_place_on_one_machine():
    paths = [path for path in FILES.rglob("*") if path.is_file()]
    contents = [path.read_bytes() for path in paths]
    inner = [b"".join(members(path).values()) for path in FILES.glob("*.tap")]

    places = rb"(?<![\w.])/(?:home|root|tmp|work|opt|Users)/\w+"
    found = [re.findall(places, content) for content in (*contents, *inner)]

    assert not any(found)
    assert max(map(len, contents)) < 60_000
    assert sum(map(len, contents)) < 250_000
