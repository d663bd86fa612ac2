import numpy as np
import torch

from tabtap.rivals.matrices import ModeEncoding


def test_rows_come_back_from_their_matrix(build_table, rng):
    numbers = rng.normal(size=80)
    table = build_table(np.arange(80) % 2, numbers, np.arange(80) % 3)
    encoding = ModeEncoding.of(table, rng)

    rows = encoding.rows(table, rng)
    back = encoding.table(rows)

    within = np.abs(rows.places.numpy()[:, 0]) < 0.98
    assert within.mean() > 0.9
    assert np.allclose(back.numeric[within], table.numeric[within], atol=1e-5)
    assert np.array_equal(back.categorical, table.categorical)
    assert np.array_equal(back.target, table.target)


def test_the_matrix_has_places_then_a_one_in_every_block(build_table, rng):
    table = build_table([0, 1, 0, 1], np.array([1.0, 2.0, 3.0, 4.0]), [0, 1, 2, 0])
    encoding = ModeEncoding.of(table, rng)
    rows = encoding.rows(table, rng)

    matrix = encoding.matrix(rows)

    assert matrix.shape == (4, encoding.width)
    assert torch.equal(matrix[:, :1], rows.places)
    assert matrix[:, 1:].sum(dim=1).tolist() == [3.0] * 4  # mode, category, label
