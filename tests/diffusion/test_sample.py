from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch

from tabtap.config import DiffusionConfig
from tabtap.diffusion import fit_backbone
from tabtap.diffusion import sample as module
from tabtap.diffusion.encoding import Layout, fit_encodings
from tabtap.diffusion.network import Denoiser
from tabtap.diffusion.sample import (
    Job,
    Sampler,
    draw_row_noise,
    first_targets,
    move_targets,
)
from tabtap.table import read_frame

# ---- The way back with a network whose answers are known: no training is needed.


N_ROWS = 4000
CORRELATION = 0.8


class Ideal(Denoiser):
    """Know the best answer for two standard normal numbers and for any tokens."""

    def __init__(self, layout, config, chances):
        super().__init__(layout, config)
        self._log_chances = torch.tensor(chances).log()

    def __call__(self, weights, noisy, level, rest):
        del weights
        clean, kept, tokens, _ = rest
        covariance = torch.tensor([[1.0, CORRELATION], [CORRELATION, 1.0]])
        # A kept number is one without noise.
        kept = kept[0, 0]
        seen = torch.where(kept > 0, clean, noisy)
        noise = torch.diag(level.sigma.flatten()[0] ** 2 * (1 - kept) + 1e-6 * kept)
        answer = seen @ torch.linalg.inv(covariance + noise) @ covariance
        logits = self._log_chances.expand(*tokens.shape, -1)
        return answer, logits


def run(*, free_numbers=(True, True), chances=(0.2, 0.5, 0.3), **settings):
    """Draw rows of two numbers and a category around the anchors (1, 1, token 2)."""
    config = DiffusionConfig(n_sample_steps=30, **settings)
    denoiser = Ideal(Layout(2, (3,), 0, 1), config, chances)
    generator = torch.Generator().manual_seed(0)
    noise = (31, 1, N_ROWS, 2)
    job = Job(
        condition=torch.zeros(1, N_ROWS, dtype=torch.long),
        numbers=torch.ones(1, N_ROWS, 2),
        free_numbers=torch.tensor(free_numbers).expand(1, N_ROWS, 2),
        tokens=torch.full((1, N_ROWS, 1), 2),
        free_tokens=torch.ones(1, N_ROWS, 1, dtype=torch.bool),
        allowed=torch.ones(1, N_ROWS, 1, 3, dtype=torch.bool),
        fresh=torch.randn(noise, generator=generator),
        overwriting=torch.randn(noise, generator=generator),
        order=torch.rand(1, N_ROWS, 1, generator=generator),
        pick=torch.rand(1, N_ROWS, 1, generator=generator),
    )
    weights = {"any": torch.zeros(1, 1)}
    return job, Sampler(denoiser, weights, config)


@pytest.mark.parametrize("churn", [0.0, 0.3])
@pytest.mark.parametrize("conditioning", ["clean", "overwrite"])
def test_with_a_perfect_network_whole_rows_have_the_true_covariance(
    conditioning, churn
):
    job, sampler = run(conditioning=conditioning, churn=churn)

    numbers = sampler.run(job)[0][0].numpy()

    # 4,000 rows: a variance has a standard error of 0.02.
    expected = [[1.0, CORRELATION], [CORRELATION, 1.0]]
    assert np.allclose(np.cov(numbers.T), expected, atol=0.08)
    assert np.allclose(numbers.mean(axis=0), 0, atol=0.06)


def test_with_a_perfect_network_clean_conditioning_is_exact():
    # Without fresh noise the start, which knows no mean, would still show.
    job, sampler = run(free_numbers=(True, False), conditioning="clean", churn=0.3)

    drawn = sampler.run(job)[0][0, :, 0].numpy()

    assert drawn.mean() == pytest.approx(CORRELATION, abs=0.04)
    assert drawn.var() == pytest.approx(1 - CORRELATION**2, abs=0.04)


def test_even_with_a_perfect_network_overwriting_pulls_too_little():
    job, sampler = run(free_numbers=(True, False), conditioning="overwrite", churn=0.3)

    drawn = sampler.run(job)[0][0, :, 0].numpy()

    # Equation 9 is an approximation: the pull has the right sign, not the full size.
    assert 0.2 < drawn.mean() < CORRELATION
    assert drawn.var() > 1 - CORRELATION**2


def test_tokens_are_drawn_as_often_as_the_network_says():
    job, sampler = run(chances=(0.2, 0.5, 0.3))

    tokens = sampler.run(job)[1].flatten()

    shares = torch.bincount(tokens, minlength=3) / N_ROWS
    assert torch.allclose(shares, torch.tensor([0.2, 0.5, 0.3]), atol=0.03)


def test_only_allowed_tokens_are_drawn_and_keep_their_proportions():
    job, sampler = run(chances=(0.2, 0.5, 0.3))
    allowed = torch.tensor([True, False, True]).expand_as(job.allowed)

    tokens = sampler.run(replace(job, allowed=allowed))[1].flatten()

    shares = torch.bincount(tokens, minlength=3) / N_ROWS
    assert torch.allclose(shares, torch.tensor([0.4, 0.0, 0.6]), atol=0.03)


@pytest.mark.parametrize("pick", [1e-12, 1.0])
def test_the_ends_of_chance_still_give_an_allowed_token(pick):
    # float32 rounds numbers just below 1 up to it.
    job, sampler = run(chances=(0.2, 0.5, 0.3))
    allowed = torch.tensor([False, True, False]).expand_as(job.allowed)
    edge = torch.full_like(job.pick, pick)

    tokens = sampler.run(replace(job, allowed=allowed, pick=edge))[1]

    assert (tokens == 1).all()


@pytest.mark.parametrize("conditioning", ["clean", "overwrite"])
def test_kept_tokens_stay_whatever_the_network_says(conditioning):
    job, sampler = run(chances=(0.98, 0.01, 0.01), conditioning=conditioning)
    kept = torch.zeros_like(job.free_tokens)

    tokens = sampler.run(replace(job, free_tokens=kept))[1]

    assert (tokens == 2).all()


# ---- Noise: every row has a seed of its own.


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


# ---- Drawing in chunks.


def test_rows_drawn_in_small_chunks_are_the_same(backbone, mixed, content, monkeypatch):
    mask = np.random.default_rng(0).random(mixed.missing.shape) < 0.5
    at_once = backbone.inpaint(mixed, mask, np.random.default_rng(1))

    monkeypatch.setattr(module, "_CHUNK_CELLS", 1)
    in_chunks = backbone.inpaint(mixed, mask, np.random.default_rng(1))

    assert content(in_chunks) == content(at_once)


def test_chunks_bound_the_noise_that_is_held_at_once(backbone, monkeypatch):
    sizes = []
    draw_row_noise = module.draw_row_noise

    def measured(seeds, *rest, **more):
        sizes.append(len(seeds))
        return draw_row_noise(seeds, *rest, **more)

    monkeypatch.setattr(module, "draw_row_noise", measured)
    monkeypatch.setattr(module, "_CHUNK_CELLS", 2000)
    backbone.sample(200, np.random.default_rng(0))

    assert sum(sizes) == 200
    assert max(sizes) < 100


# ---- A regression target is drawn first, in its bin, and its row given it.


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def table_of(x, y, **more):
    frame = pd.DataFrame({"x": x, "y": y})
    return read_frame(frame, "y", task="regression", **more)


@pytest.fixture
def line(rng):
    """Two hundred rows in which x is twice the target, and a little noise."""
    y = rng.normal(size=200)
    return table_of(2 * y + 0.1 * rng.normal(size=200), y, n_bins=4)


def encoding_of(table, **config):
    (encoding,), _ = fit_encodings([table], DiffusionConfig(**config))
    return encoding


def test_first_targets_are_real_ones_of_the_wanted_bin(line, rng):
    bins = np.repeat(np.arange(4), 50)

    drawn = first_targets(encoding_of(line), bins, rng.random(200))

    assert set(drawn) <= set(line.target_values)
    edges = line.schema.target.edges
    assert np.searchsorted(edges, drawn, side="left").tolist() == bins.tolist()


def test_chance_reaches_the_first_and_the_last_of_a_bin(line):
    inside = np.sort(line.target_values[line.condition == 2])
    chance = np.array([0.0, np.nextafter(1.0, 0.0)])

    drawn = first_targets(encoding_of(line), np.array([2, 2]), chance)

    assert drawn.tolist() == [inside[0], inside[-1]]


def test_of_many_rows_some_targets_are_kept(rng):
    y = rng.normal(size=5000)

    kept = encoding_of(table_of(y, y)).targets

    assert len(kept) == 1000
    assert (kept[0], kept[-1]) == (y.min(), y.max())
    assert np.median(kept) == pytest.approx(np.median(y), abs=0.01)


def test_moved_targets_stay_in_their_bins_and_spread_as_before(rng):
    y = rng.normal(size=40)
    table = table_of(y, y, n_bins=4).take(np.tile(np.arange(40), 100))
    encoding = encoding_of(table.take(np.arange(40)))

    moved = move_targets(encoding, table, rng.standard_normal(4000))

    assert moved.condition.tolist() == table.condition.tolist()
    assert (moved.target_values != table.target_values).mean() > 0.99
    assert moved.target_values.mean() == pytest.approx(y.mean(), abs=0.1)
    assert moved.target_values.std() == pytest.approx(y.std(), rel=0.1)
    assert moved.target_values.min() >= y.min()
    assert moved.target_values.max() <= y.max()


@pytest.mark.parametrize("values", [np.arange(40) // 4, np.arange(40) * 100])
def test_whole_numbers_are_rounded_and_do_not_leave_their_bin(values, rng):
    table = table_of(rng.normal(size=40), values, n_bins=7)

    moved = move_targets(encoding_of(table), table, rng.standard_normal(40))

    assert moved.condition.tolist() == table.condition.tolist()
    assert (moved.target_values == moved.target_values.round()).all()


def test_without_smoothing_a_target_stays_what_it_is(line, rng):
    encoding = encoding_of(line, smoothing=0.0)

    moved = move_targets(encoding, line, rng.standard_normal(200))

    assert moved.target_values == pytest.approx(line.target_values, abs=1e-12)


def test_where_kept_cells_are_overwritten_the_bin_is_given(line):
    encodings, layout = fit_encodings([line], DiffusionConfig.paper())

    assert layout.n_conditions == 4
    assert not layout.target_is_given
    assert encodings[0].cells(line).condition.tolist() == line.condition.tolist()


def test_a_row_belongs_to_its_exact_target_not_only_to_its_bin(line, rng):
    backbone = fit_backbone(line, rng=rng, config=DiffusionConfig(n_steps=600))

    rows = backbone.sample(800, rng)

    # Within a bin, where rows that only knew their bin would have no slope at all.
    inner = rows.condition == 1
    slope, _ = np.polyfit(rows.target_values[inner], rows.numeric[inner, 0], 1)
    assert slope == pytest.approx(2.0, abs=0.3)


def test_the_first_rows_do_not_depend_on_how_many_follow(line):
    backbone = fit_backbone(
        line, rng=np.random.default_rng(0), config=DiffusionConfig(n_steps=5)
    )
    wanted = np.array([0, 1, 2, 3])

    few = backbone.sample(4, np.random.default_rng(1), targets=wanted)
    many = backbone.sample(
        8, np.random.default_rng(1), targets=np.concatenate([wanted, wanted])
    )

    assert few.target_values.tolist() == many.target_values[:4].tolist()
    assert few.numeric.tolist() == many.numeric[:4].tolist()
