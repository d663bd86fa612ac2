"""Small tables in the place of the paper's, and studies cut down to seconds."""

import hashlib
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from tabtap.compare.store import Terms
from tabtap.datasets import load_penguins
from tabtap.study import cell as work
from tabtap.study.runs import merged
from tabtap.study.sources import SOURCES
from tabtap.study.studies import StudyOptions, study_named
from tabtap.table import read_frame

TINY = {
    "augment": {
        "n_steps": 8,
        "actions_per_batch": 4,
        "proposal": {"candidates_per_step": 4},
        "utility": {"n_partitions": 1, "n_folds": 3},
        "commit": {"window_length": 4, "patience": 2},
    },
    "diffusion": {"n_steps": 20, "n_sample_steps": 4, "width": 32},
}


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def birds(monkeypatch):
    """Let penguins stand in for every table of the paper: species, or body mass."""
    frame = load_penguins().dropna()
    tables = {
        "classification": read_frame(frame, target="species"),
        "regression": read_frame(frame, target="body_mass_g", task="regression"),
    }
    monkeypatch.setattr(
        work, "load_table", lambda name: (tables[SOURCES[name].task], None)
    )
    return tables


@pytest.fixture
def tiny_cells():
    """Give the cells of a quick study, each cut down to a second or two."""

    def make(name, protocol="ours", **options):
        study = study_named(name)
        cells = study.plan(StudyOptions(quick=True, protocol=protocol, **options))
        return [shrink(cell) for cell in cells]

    return make


def shrink(cell):
    if cell.study == "main":
        terms = Terms(budget=20, predictors=("KNN",), seed=cell.terms.seed)
        return replace(cell, terms=terms, n_real=24)
    settings = {"learner": "linear", **merged(cell.settings, TINY)}
    asked = cell.settings.get("augment", {}).get("commit", {})
    if cell.method.startswith(("K=", "tau=")):  # what the cell is about
        kept = {k: v for k, v in asked.items() if k in ("window_length", "min_gain")}
        settings = merged(settings, {"augment": {"commit": kept, "n_steps": 16}})
    terms = Terms(budget=20, predictors=("KNN",), seed=cell.terms.seed)
    return replace(cell, settings=settings, terms=terms, n_real=24)


@pytest.fixture
def insurance_folder(tmp_path):
    """Write a folder that holds rows shaped as the table of insurance is."""
    source, rng = SOURCES["insurance"], np.random.default_rng(0)
    n = source.n_rows
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 65, n),
            "sex": rng.choice(["male", "female"], n),
            "bmi": rng.normal(30, 6, n).round(2),
            "children": rng.integers(0, 5, n),
            "smoker": rng.choice(["yes", "no"], n),
            "region": rng.choice(["north", "south"], n),
        }
    )
    smokes = frame["smoker"].eq("yes")
    noise = rng.normal(0, 500, n)
    frame["charges"] = (200 * frame["age"] + 15_000 * smokes + noise).round(2)
    folder = tmp_path / "tables"
    folder.mkdir()
    frame.to_parquet(folder / "insurance.parquet")
    digest = hashlib.sha256((folder / "insurance.parquet").read_bytes()).hexdigest()
    entry = {
        "name": "insurance",
        "target": "charges",
        "categorical": ["sex", "smoker", "region"],
        "parquet": {"path": "insurance.parquet", "sha256": digest},
    }
    (folder / "datasets.json").write_text(json.dumps({"datasets": [entry]}))
    return folder
