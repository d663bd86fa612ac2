import numpy as np
import pytest

from tabtap.diffusion.sample import draw_row_noise

SEEDS = np.array([3, 2**64 - 1, 0], dtype=np.uint64)


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_row_s_noise_depends_on_its_own_seed_alone(overwrite):
    together = draw_row_noise(SEEDS, 5, 4, 3, overwrite=overwrite)
    last = draw_row_noise(SEEDS[2:], 5, 4, 3, overwrite=overwrite)

    for all_rows, one_row in zip(together, last, strict=True):
        assert np.array_equal(all_rows[2:], one_row)


def test_overwriting_changes_no_other_draw():
    without = draw_row_noise(SEEDS, 5, 4, 3, overwrite=False)
    with_it = draw_row_noise(SEEDS, 5, 4, 3, overwrite=True)

    assert without.overwriting.size == 0
    assert with_it.overwriting.shape == with_it.fresh.shape == (3, 6, 4)
    assert np.array_equal(without.fresh, with_it.fresh)
    assert np.array_equal(without.pick, with_it.pick)


def test_noise_is_normal_and_picks_are_uniform():
    seeds = np.arange(400, dtype=np.uint64)

    noise = draw_row_noise(seeds, 9, 10, 10, overwrite=True)

    # 40,000 numbers: the mean's standard error is 0.005.
    for normal in (noise.fresh, noise.overwriting):
        assert abs(normal.mean()) < 0.03
        assert abs(normal.std() - 1) < 0.03
    assert abs(np.corrcoef(noise.fresh.ravel(), noise.overwriting.ravel())[0, 1]) < 0.03
    for uniform in (noise.order, noise.pick, noise.rare):
        assert uniform.shape == (400, 10)
        assert abs(uniform.mean() - 0.5) < 0.03
        assert uniform.min() >= 0
        assert uniform.max() <= 1
