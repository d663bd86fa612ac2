import numpy as np

from tabtap.diffusion import sample as module


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
