"""What synthetic rows give away of single real ones, where the answer is known."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from tabtap.domain import Candidates
from tabtap.errors import FileFormatError
from tabtap.loop import Stop
from tabtap.result import AugmentResult, RunAbout, load_result
from tabtap.table import read_frame
from tabtap.table.table import concat

N_ROWS, N_GENES, N_FOLDS = 60, 20, 3


@pytest.fixture(scope="module")
def genes():
    """Sixty rows of twenty numbers, no two of which are equal."""
    rng = np.random.default_rng(0)
    columns = {f"gene {k}": rng.normal(size=N_ROWS) for k in range(N_GENES)}
    return read_frame(pd.DataFrame({**columns, "ill": ["no", "yes"] * 30}), "ill")


def result_of(real, rows, **claims):
    none = Candidates.none(real)
    delivered = (
        none
        if rows is None
        else Candidates(
            rows, np.zeros(rows.missing.shape, bool), np.zeros(len(rows), np.int64)
        )
    )
    about = RunAbout(seed=0, budget=len(delivered), settings={}, **claims)
    fold = np.arange(len(real)) % N_FOLDS
    return AugmentResult(
        real=real,
        delivered=delivered,
        stop=Stop.BUDGET,
        about=about,
        folds=fold[None, :],
    )


def drawn(real, seed, keep=0):
    """Return rows of fresh numbers, the first ``keep`` cells those of an ancestor."""
    rng = np.random.default_rng(seed)
    mask = np.zeros(real.missing.shape, bool)
    mask[:, keep:] = True
    numbers = rng.normal(size=real.numeric.shape)
    rows = real.redrawn(mask, numbers, real.categorical)
    return replace(rows, unseen_fold=(np.arange(len(real)) + 1) % N_FOLDS)


def test_a_result_without_rows_gives_nothing_away(genes):
    assert result_of(genes, None).privacy is None


def test_cells_of_one_real_row_are_counted_and_the_verdict_says_so(genes):
    result = result_of(genes, drawn(genes, 1, keep=8))

    privacy = result.privacy

    assert (privacy.n_cells, privacy.cells_most, privacy.cells_mean) == (20, 8, 8.0)
    assert (privacy.real_cells_most, privacy.n_copies) == (0, 0)
    assert privacy.carries_cells
    assert "up to 8 of 20 cells of one real row unchanged" in result.why


def test_fresh_rows_give_nothing_away_and_the_verdict_is_silent(genes):
    result = result_of(genes, drawn(genes, 1))

    privacy = result.privacy

    assert privacy.cells_most == 0
    assert not privacy.carries_cells
    assert not privacy.tells_members
    assert abs(privacy.membership.value - 0.5) < privacy.membership.margin
    assert abs(privacy.distance_ratio - privacy.real_distance_ratio) < 0.05
    assert "cells of one real row" not in result.why


def test_what_real_rows_share_is_not_held_against_new_ones():
    flags = {f"flag {k}": np.arange(40) % 2 == 0 for k in range(6)}
    frame = pd.DataFrame({**flags, "dose": np.arange(40) * 1.37})
    real = read_frame(frame.assign(ill=["a", "b"] * 20), "ill")
    mask = np.array([column.name == "dose" for column in real.schema.features])
    new = real.redrawn(
        np.tile(mask, (40, 1)), np.arange(40)[:, None] * 1.41 + 0.5, real.categorical
    )

    privacy = result_of(real, new).privacy

    assert (privacy.cells_most, privacy.real_cells_most) == (6, 6)
    assert not privacy.carries_cells


def test_copies_point_at_their_real_row_and_give_away_who_was_learned_from(genes):
    # Row i was seen by the generators that do not leave out fold i % 3.
    copies = replace(genes, unseen_fold=(np.arange(N_ROWS) + 1) % N_FOLDS)

    privacy = result_of(genes, copies).privacy

    assert privacy.n_copies == N_ROWS
    assert privacy.distance_ratio == 0.0
    # One of the two generators that had seen a row holds its copy: always nearer than
    # the one that had not.  The other had seen it too, and is told by chance.
    assert privacy.membership.value == pytest.approx(0.75, abs=0.06)
    assert privacy.tells_members


def test_rows_alike_are_not_pointed_at(genes):
    twice = concat([genes, genes])

    privacy = result_of(twice, genes).privacy

    assert privacy.distance_ratio == 1.0
    assert privacy.real_cells_most == N_GENES


def test_without_folds_nothing_is_said_of_members(genes):
    result = replace(result_of(genes, drawn(genes, 1)), folds=None)

    assert result.privacy.membership is None
    assert result.privacy.to_json()["membership"] is None


def test_a_generator_that_saw_all_rows_has_nobody_to_compare_with(genes):
    rows = replace(drawn(genes, 1), unseen_fold=np.full(N_ROWS, -1))

    assert result_of(genes, rows).privacy.membership is None


def test_rows_of_a_group_count_once(genes):
    copies = replace(genes, unseen_fold=(np.arange(N_ROWS) + 1) % N_FOLDS)
    alone, together = (
        result_of(genes, copies, groups=groups).privacy.membership
        for groups in (None, np.repeat(np.arange(6), 10))
    )

    assert together.value == alone.value
    assert together.margin != alone.margin


def test_a_run_keeps_its_folds_when_saved_and_forgets_those_of_forgotten_rows(
    result, tmp_path
):
    result.save(tmp_path / "r.tap")
    again = load_result(tmp_path / "r.tap")

    np.testing.assert_array_equal(again.folds, [np.arange(12) % 3])
    assert again.privacy == result.privacy
    assert result.privacy.membership is not None
    np.testing.assert_array_equal(result.forget(0).folds, [np.arange(1, 12) % 3])


@pytest.mark.parametrize(
    "folds",
    [np.zeros((1, 11), np.int64), np.zeros(12, np.int64), np.zeros((1, 12))],
    ids=["of other rows", "without partitions", "not whole numbers"],
)
def test_folds_that_do_not_fit_the_rows_are_refused(forge, folds):
    path = forge(lambda _about, arrays, _members: arrays.update(folds=folds))

    with pytest.raises(FileFormatError, match="folds of shape"):
        load_result(path)


def test_a_run_by_the_papers_rule_has_no_folds(make_result, classes):
    result = make_result(classes, protocol="paper")

    assert result.folds is None
