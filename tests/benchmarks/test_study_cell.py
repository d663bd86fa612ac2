from dataclasses import replace

import numpy as np
import pytest
import study_cell
from cells import Cell
from study_cell import (
    RUNS,
    SHUFFLED,
    Truth,
    clean_pool,
    noise_pool,
    poison_records,
    prepare,
    shuffled,
)

from tabtap.api.run import lineages_of
from tabtap.domain import Lineages

QUICK = {"n_steps": 5, "width": 16}


@pytest.fixture
def few_rows(monkeypatch):
    monkeypatch.setattr(study_cell, "POOL_ROWS", 20)


@pytest.fixture(scope="module")
def cell():
    return Cell(table="credit-g", n_real=50, split=0, seed=0)


@pytest.fixture(scope="module")
def ground(birds, cell):
    return prepare(cell, cell.repetition(birds), QUICK)


@pytest.fixture
def lineages():
    return Lineages(np.arange(50) % 5, crossfit=True)


@pytest.mark.usefixtures("few_rows")
def test_a_clean_pool_has_rows_of_every_lineage(ground, lineages):
    rng = np.random.default_rng(0)

    pool = clean_pool(ground.members(lineages), ground.real, lineages, rng)

    assert np.bincount(pool.unseen_fold).tolist() == [20] * 5


@pytest.mark.usefixtures("few_rows")
def test_noise_of_a_lineage_holds_nothing_of_its_unseen_fold(ground, lineages):
    pool = noise_pool(ground.real, lineages, np.random.default_rng(0))

    place = ground.real.schema.numeric[0]
    for member in lineages.members:
        seen = ground.real.take(lineages.seen(member)).cells[place]
        assert np.isin(pool.take(pool.unseen_fold == member).cells[place], seen).all()


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_shuffling_moves_targets_of_a_share_of_each_lineages_rows(sums, share):
    pool = replace(sums, unseen_fold=np.repeat([0, 1], 40))

    found = shuffled(pool, share, np.random.default_rng(0))

    moved = found.target_values != pool.target_values
    for member in (0, 1):
        mine = pool.unseen_fold == member
        assert moved[mine].sum() <= 40 * share
        assert moved[mine].sum() >= 40 * share - 3  # a few stay by chance
        assert sorted(found.target_values[mine]) == sorted(pool.target_values[mine])
    assert all(map(np.array_equal, found.cells, pool.cells))


@pytest.mark.usefixtures("few_rows")
def test_labels_are_shuffled_as_targets_are(birds):
    found = shuffled(birds, 1.0, np.random.default_rng(0))

    assert np.bincount(found.target).tolist() == np.bincount(birds.target).tolist()
    assert (found.target != birds.target).mean() > 0.4


@pytest.mark.usefixtures("few_rows")
def test_every_pool_is_offered_alone_to_both_rules(ground, monkeypatch):
    linear = {"classification": "holdout", "regression": "holdout"}
    presets = {
        name: replace(preset, evaluators=linear)
        for name, preset in study_cell.OFFERED_TO.items()
    }
    monkeypatch.setattr(study_cell, "OFFERED_TO", presets)
    monkeypatch.setattr(study_cell, "SHUFFLED", {"half": 0.5})

    records = poison_records(ground, Truth(ground.repetition))

    assert [r["pool"] for r in records] == ["clean", "half", "noise"] * 2
    assert [r["protocol"] for r in records] == ["crossfit"] * 3 + ["paper"] * 3
    assert all(r["first"] and r["look"] == 1 for r in records)
    assert {r["n_rows"] for r in records} == {20}
    for found in records:
        assert found["truth"]["over_real"] == found["truth"]["over_incumbent"]


def test_the_shares_of_poison_are_those_that_were_asked_for():
    assert [*SHUFFLED.values()] == [0.3, 0.5, 1.0]


def test_each_fold_has_a_backbone_that_never_saw_it_and_one_saw_all(ground):
    # Two partitions of five folds each.
    assert ground.stack.unseen_folds == (*range(10), -1)
    assert len(ground.stack) == 11


@pytest.mark.parametrize("name", RUNS)
def test_every_run_finds_its_backbones_among_those_of_the_cell(ground, name):
    lineages = lineages_of(ground.request(RUNS[name]))

    assert ground.members(lineages).unseen_folds == lineages.members


def test_the_referee_of_the_study_is_the_mean_of_the_panel(ground):
    assert ground.request(RUNS["default"]).referee.evaluator.is_mean


def test_backbones_of_a_stopped_run_are_brought_back(birds, cell, tmp_path):
    repetition = cell.repetition(birds)
    file = tmp_path / "new" / "cell.safetensors"

    first = prepare(cell, repetition, QUICK, file)
    second = prepare(cell, repetition, QUICK | {"n_steps": 6}, file)

    assert np.array_equal(first.stack.weights, second.stack.weights)
    assert second.fit_seconds == first.fit_seconds
