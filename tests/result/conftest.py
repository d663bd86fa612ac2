"""Runs of the real loop with stages whose answers are known, in milliseconds."""

import json
import zipfile
from dataclasses import asdict, replace

import numpy as np
import pandas as pd
import pytest
from stand_ins import (
    BestCritic,
    CountingSensor,
    EvenPolicy,
    LineageRows,
    ToldGates,
    WorthReferee,
    WorthUtility,
)

from tabtap.archive import Archive, pack_archive, unpack_archive
from tabtap.config import AugmentConfig, CommitConfig
from tabtap.domain import Candidates, Lineages
from tabtap.loop import (
    CrossfitCommitment,
    Limits,
    PaperCommitment,
    Progress,
    RunContext,
    Stages,
    augment,
)
from tabtap.policy.steering import PolicySteering
from tabtap.result import AugmentResult, RunAbout
from tabtap.result.files import EXACT, FORMAT_NAME, FORMAT_VERSION, sha256
from tabtap.table import read_frame

KIND = {"name": FORMAT_NAME, "version": FORMAT_VERSION}


def mixed(_action, real, seen, rng):
    """Make real rows, some of whose cells are those of other real rows."""
    rows, other = (real.take(rng.choice(seen, 2)) for _ in range(2))
    mask = rng.random(rows.missing.shape) < 0.5
    cells = tuple(
        np.where(chosen, theirs, ours)
        for chosen, theirs, ours in zip(mask.T, other.cells, rows.cells, strict=True)
    )
    missing = np.where(mask, other.missing, rows.missing)
    return replace(rows, cells=cells, missing=missing), mask


def gates(*, none_pass):
    """Refuse the first candidate of every lineage, or all of them."""
    return ToldGates(
        passes=lambda shown: (np.arange(len(shown)) > 0) & (not none_pass),
        scores=lambda admitted: {"distance": np.linspace(1.0, 2.0, len(admitted))},
        names=("range", "copies"),
    )


@pytest.fixture
def make_result():
    """Run the loop on a table: two steps a window, three folds."""

    def make(real, *, gain=0.01, budget=9, groups=None, index=None, **settings):
        none_pass = settings.pop("none_pass", False)
        no_harm = settings.pop("no_harm", {})
        time_budget = settings.pop("time_budget", None)
        commit = CommitConfig(**{"window_length": 2, "confidence": 0.9, **settings})
        config = AugmentConfig(n_steps=12, actions_per_batch=1, commit=commit)
        lineages = Lineages(np.arange(len(real)) % 3, commit.protocol == "crossfit")
        name = "stand-in: accuracy"
        utility = WorthUtility(real, lineages, lambda rows: gain * len(rows), 0.01)
        clusters = None
        if groups is not None:
            clusters = pd.factorize(np.asarray(groups))[0].astype(np.int64)
        rule = PaperCommitment(utility, commit, name)
        if commit.protocol == "crossfit":
            # Every row beside the real ones changes all scores by about the gain.
            referee = WorthReferee(real, lineages, lambda rows: gain * len(rows), name)
            rule = CrossfitCommitment(real, referee, commit, clusters, no_harm=no_harm)
        stages = Stages(
            proposer=LineageRows(lineages, mixed),
            gatekeeper=gates(none_pass=none_pass),
            utility=utility,
            commitment=rule,
        )
        start = Progress(
            committed=Candidates.none(real),
            steering=PolicySteering(
                EvenPolicy(), CountingSensor(real.schema.n_conditions), BestCritic()
            ),
        )
        limits = Limits(budget=budget, time_budget=time_budget)
        outcome = augment(RunContext(real, lineages, stages, config, 0), start, limits)
        about = RunAbout(
            seed=0,
            budget=budget,
            settings={"augment": asdict(config)}
            | ({"no_harm": no_harm} if no_harm else {}),
            evaluator="stand-in",
            referee_why="It is what the user will train.",
            versions={"tabtap": "0"},
            seconds={"fit": 1.5},
            groups=groups,
            rules=("age > 0",),
            licences={"tiny": "Apache-2.0"},
            notes=("Nothing was asked of anyone.",),
        )
        return AugmentResult.of(real, outcome, lineages, about, index=index)

    return make


@pytest.fixture
def frame():
    """Twelve rows of what is easily lost: zones, unused levels, 64 bits, holes."""
    moments = pd.date_range("2024-03-30 22:00", periods=12, freq="3h", tz="UTC")
    places = pd.Categorical(["b", None, "a"] * 4, categories=["z", "b", "a"])
    big = 2**53 + 1 + np.arange(12) % 7 * 1_000_003
    return pd.DataFrame(
        {
            "dose": np.where(np.arange(12) == 5, np.nan, np.arange(12) * 0.1),
            "when": moments.tz_convert("Europe/Berlin"),
            "place": places,
            "big": big,
            "key": [f"p{k:03d}" for k in range(12)],
            "ill": ["no", "yes", "maybe"] * 4,
        },
        index=pd.Index([f"row {k}" for k in range(12)], name="patient"),
    )


@pytest.fixture
def classes(frame):
    return read_frame(frame, "ill", kinds={"key": "identifier"})


@pytest.fixture
def numbers(frame):
    y = pd.Series(np.arange(12) * 1.5, name="cost", index=frame.index)
    return read_frame(frame, y=y, kinds={"ill": "category", "key": "identifier"})


@pytest.fixture(params=["classification", "regression"])
def table(request, classes, numbers):
    return classes if request.param == "classification" else numbers


@pytest.fixture
def result(make_result, classes, frame):
    """Return nine rows in three windows, and their real rows' labels."""
    return make_result(classes, index=frame.index)


@pytest.fixture
def saved(result, tmp_path):
    result.save(tmp_path / "r.tabtap")
    return tmp_path / "r.tabtap"


@pytest.fixture
def forge(saved):
    """Change a saved file as somebody who means it would: every checksum is mended.

    ``change`` is given the file's JSON, its arrays and its members, all to be changed
    in place.
    """

    def make(change):
        with zipfile.ZipFile(saved) as file:
            members = {name: file.read(name) for name in file.namelist()}
        found = unpack_archive(members.pop(EXACT), saved, **KIND)
        about = json.loads(json.dumps(found.about))
        arrays = {name: array.copy() for name, array in found.arrays.items()}
        change(about, arrays, members)
        about["readable"] = {name: sha256(part) for name, part in members.items()}
        members[EXACT] = pack_archive(Archive(arrays, about), **KIND)
        with zipfile.ZipFile(saved, "w") as file:
            for name, member in members.items():
                file.writestr(name, member)
        return saved

    return make


@pytest.fixture
def content():
    """Return everything of some candidates, as bytes."""

    def read(candidates):
        rows = candidates.rows
        arrays = (*rows.cells, rows.missing, rows.target, rows.origin, rows.unseen_fold)
        arrays += (candidates.regenerate, candidates.step, *candidates.scores.values())
        return [(a.dtype.str, a.shape, a.tobytes()) for a in arrays]

    return read
