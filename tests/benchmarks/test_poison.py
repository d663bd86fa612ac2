from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from poison import (
    CLEAN,
    NOISE,
    SHUFFLED,
    PoisonedCommitment,
    harmful_let_in,
    noise_pool,
    poison_section,
    preferred,
    shuffled,
)

from tabtap.domain import Baseline, CommitRequest, Lineages, ScoresToBeat


@pytest.fixture
def lineages(birds):
    return Lineages(np.arange(len(birds)) % 5, crossfit=True)


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


def test_labels_are_shuffled_as_targets_are(birds):
    found = shuffled(birds, 1.0, np.random.default_rng(0))

    assert np.bincount(found.target).tolist() == np.bincount(birds.target).tolist()
    assert (found.target != birds.target).mean() > 0.4


def test_noise_of_a_lineage_holds_nothing_of_its_unseen_fold(birds, lineages):
    pool = noise_pool(birds, lineages, 20, np.random.default_rng(0))

    place = birds.schema.numeric[0]
    assert np.bincount(pool.unseen_fold).tolist() == [20] * len(lineages.members)
    for member in lineages.members:
        seen = birds.take(lineages.seen(member)).cells[place]
        assert np.isin(pool.take(pool.unseen_fold == member).cells[place], seen).all()


def test_twins_of_the_first_pool_are_asked_about_and_the_run_sees_its_own_answer(
    birds, lineages
):
    asked = []
    inner = SimpleNamespace(
        real=birds, check=lambda trial: asked.append(trial.pool) or len(asked)
    )
    pool = noise_pool(birds, lineages, 4, np.random.default_rng(1))
    nothing = Baseline((), (), (), np.zeros(1), np.zeros(1))
    trial = CommitRequest(0, lineages, birds.empty(), pool, nothing, ScoresToBeat(), 0)
    commitment = PoisonedCommitment(inner, [], np.random.default_rng(0))

    assert commitment.check(trial) == 1
    assert len(asked) == len(commitment.seen) == 2 + len(SHUFFLED)
    assert {len(rows) for rows in asked} == {len(pool)}
    assert commitment.check(trial) == len(asked)  # later pools have no twins
    assert len(commitment.seen) == 2 + len(SHUFFLED)


@pytest.fixture
def record():
    def pool(name, lower, score, *, committed):
        bound = {"gain": lower + 0.1, "margin": 0.1, "lower": lower}
        truth = {"score": score, "share": 2 * score}
        found = {"pool": name, "committed": committed}
        return {**found, "over_real": bound, "truth": truth}

    return {
        "pools": [
            pool(CLEAN, 0.1, 0.2, committed=True),
            pool("50 % shuffled", 0.2, 0.1, committed=True),
            pool(NOISE, -0.3, -0.2, committed=False),
        ]
    }


def test_harm_is_counted_among_the_harmful(record):
    assert str(harmful_let_in(record["pools"])) == "0 of 1 (0 %)"


def test_a_poisoned_pool_is_preferred_where_its_bound_is_above_that_of_its_twin(record):
    assert str(preferred([record], ["50 % shuffled"])) == "1 of 1 (100 %)"
    assert str(preferred([record], [NOISE])) == "0 of 1 (0 %)"


def test_the_section_has_a_line_for_each_kind_and_one_for_all(record):
    lines = poison_section({"fast, one named": [record]}).splitlines()

    told = [[c.strip() for c in line.strip("|").split("|")] for line in lines[-4:]]
    assert told[0] == [
        "fast, one named",
        CLEAN,
        "+40.0",
        *["1 of 1 (100 %)"],
        *told[0][4:],
    ]
    assert told[-1][1:4] == ["all poisoned", "-10.0 ± 30.0", "1 of 2 (50 %)"]
    assert told[-1][4:] == ["0 of 1 (0 %)", "1 of 2 (50 %)"]
