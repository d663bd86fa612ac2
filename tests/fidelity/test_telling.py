from dataclasses import replace

import numpy as np
import pytest

from tabtap.fidelity import drawn_again, telling_apart


@pytest.fixture
def real(build_table, rng):
    label = rng.integers(2, size=80)
    return build_table(label, rng.normal(size=80) + label, rng.integers(3, size=80))


def test_real_rows_drawn_again_cannot_be_told(real, rng):
    again = drawn_again(real, real.condition, rng)

    assert telling_apart(real, again, seed=0) == pytest.approx(0.5, abs=0.12)


def test_rows_of_another_place_can_be_told(real):
    moved = replace(real, cells=(real.cells[0] + 9.0, *real.cells[1:]))

    assert telling_apart(real, moved, seed=0) > 0.95


def test_holes_and_the_largest_numbers_are_told_without_a_word(build_table, rng):
    left = np.where(rng.random(40) < 0.3, np.nan, 1e308 * rng.uniform(-1, 1, 40))
    right = 1e-300 * rng.normal(size=40)
    real = build_table(rng.normal(size=40), left)
    synthetic = build_table(rng.normal(size=40), right)

    assert telling_apart(real, synthetic, seed=0) > 0.9


def test_too_few_rows_tell_nothing(real):
    few = real.take(np.arange(7))

    assert np.isnan(telling_apart(real, few, seed=0))
    assert np.isnan(telling_apart(few, real, seed=0))


def test_rows_that_crowd_around_one_real_row_can_be_told(real):
    copies = real.take(np.zeros(60, dtype=int))

    assert telling_apart(real, copies, seed=0) > 0.8


def test_the_seed_alone_decides(real, rng):
    again = drawn_again(real, real.condition, rng)

    assert telling_apart(real, again, seed=3) == telling_apart(real, again, seed=3)


def test_rows_drawn_again_have_the_mix_of_targets_asked_for(real, rng):
    wanted = np.array([1] * 30 + [0] * 5)

    again = drawn_again(real, wanted, rng)

    assert again.condition.tolist() == wanted.tolist()
    assert set(again.origin.tolist()) <= set(range(80))


def test_a_target_that_nobody_has_gets_any_row(real, rng):
    again = drawn_again(real, np.array([7, 7, 7]), rng)

    assert len(again) == 3
