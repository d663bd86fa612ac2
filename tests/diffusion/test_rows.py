import numpy as np
import pytest
import torch

from tabtap.config import DiffusionConfig
from tabtap.diffusion.encoding import Cells
from tabtap.diffusion.train import MemberRows, stack_batches

CPU = torch.device("cpu")


def make_cells(numbers, condition):
    numbers = np.asarray(numbers, dtype=np.float32)
    n_rows = len(numbers)
    return Cells(
        numbers,
        np.ones(numbers.shape, dtype=bool),
        np.arange(n_rows)[:, None],
        np.asarray(condition),
    )


def test_rows_without_smoothing_are_the_real_ones():
    cells = make_cells([[1.0, 2.0], [3.0, 4.0]], [0, 1])
    rows = MemberRows(cells, DiffusionConfig(smoothing=0.0), CPU)

    batch = rows.draw(50, torch.Generator().manual_seed(0))

    assert torch.equal(batch.numbers, torch.tensor(cells.numbers)[batch.tokens[:, 0]])
    assert torch.equal(batch.condition, batch.tokens[:, 0])


@pytest.mark.parametrize("bandwidth", [0.3, 0.6, 0.9])
def test_smoothing_keeps_the_mean_and_the_covariance_of_each_class(bandwidth):
    rng = np.random.default_rng(0)
    condition = np.repeat([0, 1], 200)
    numbers = rng.multivariate_normal([0, 0], [[1, 0.7], [0.7, 1]], 400)
    numbers += np.array([[-2.0, 0.0], [2.0, 1.0]])[condition]
    rows = MemberRows(
        make_cells(numbers, condition), DiffusionConfig(smoothing=bandwidth), CPU
    )

    batch = rows.draw(40_000, torch.Generator().manual_seed(0))

    for k in (0, 1):
        drawn = batch.numbers[batch.condition == k].numpy()
        real = numbers[condition == k]
        assert np.abs(drawn.mean(axis=0) - real.mean(axis=0)).max() < 0.03
        # The noise has the covariance of both classes together.
        assert np.abs(np.cov(drawn.T) - np.cov(real.T)).max() < 0.15


def test_smoothed_rows_are_new_ones():
    cells = make_cells(np.random.default_rng(0).normal(size=(30, 5)), [0] * 30)
    rows = MemberRows(cells, DiffusionConfig(), CPU)

    batch = rows.draw(100, torch.Generator().manual_seed(0))

    real = torch.tensor(cells.numbers)[batch.tokens[:, 0]]
    assert (batch.numbers != real).all()


def test_members_keep_their_own_rows_when_stacked():
    generator = torch.Generator().manual_seed(0)
    members = [
        MemberRows(make_cells([[k]] * 3, [0] * 3), DiffusionConfig(smoothing=0.0), CPU)
        for k in (1.0, 2.0)
    ]

    batch = stack_batches([member.draw(4, generator) for member in members])

    assert batch.numbers[:, :, 0].tolist() == [[1.0] * 4, [2.0] * 4]
