import pytest
import torch

from tabtap.rivals.matrices import Blocks

SIZES = (3, 2, 3, 1)


@pytest.fixture
def blocks():
    return Blocks.of(SIZES)


@pytest.fixture
def generator():
    return torch.Generator().manual_seed(0)


def column(blocks, place):
    """Return the matrix columns of one block."""
    start = blocks.starts[place]
    return slice(start, start + SIZES[place])


def test_codes_come_back_from_their_ones(blocks):
    codes = torch.tensor([[2, 0, 1, 0], [0, 1, 2, 0]])

    matrix = blocks.one_hot(codes)

    assert matrix.shape == (2, 9)
    assert matrix.sum(dim=1).tolist() == [4.0, 4.0]
    assert torch.equal(blocks.largest(matrix), codes)


def test_each_block_has_a_softmax_of_its_own(blocks, generator):
    logits = torch.randn(5, blocks.width, generator=generator)

    found = blocks.log_softmax(logits)

    for place in range(len(SIZES)):
        part = column(blocks, place)
        assert torch.allclose(found[:, part], logits[:, part].log_softmax(1))


def test_cross_entropy_is_that_of_torch_column_by_column(blocks, generator):
    logits = torch.randn(5, blocks.width, generator=generator)
    codes = torch.tensor([[2, 1, 0, 0]] * 5)

    found = blocks.cross_entropy(logits, codes)

    for place in range(len(SIZES)):
        part = logits[:, column(blocks, place)]
        expected = torch.nn.functional.cross_entropy(
            part, codes[:, place], reduction="none"
        )
        assert torch.allclose(found[:, place], expected, atol=1e-6)


def test_levels_are_drawn_as_often_as_they_are_likely(generator):
    blocks = Blocks.of((2, 3))
    shares = torch.tensor([0.3, 0.7, 0.1, 0.2, 0.7])

    drawn = blocks.draw(shares.log().expand(20_000, -1), generator)

    found = blocks.one_hot(drawn).mean(dim=0)
    assert torch.allclose(found, shares, atol=0.015)  # four standard errors


def test_a_value_of_each_block_is_spread_over_its_columns(blocks):
    spread = blocks.expanded(torch.tensor([10.0, 20.0, 30.0, 40.0]))

    for place, value in enumerate((10.0, 20.0, 30.0, 40.0)):
        assert (spread[column(blocks, place)] == value).all()


def test_there_may_be_no_blocks_and_no_rows(blocks, generator):
    nothing = Blocks.of(())

    assert nothing.one_hot(torch.zeros(3, 0, dtype=torch.long)).shape == (3, 0)
    assert nothing.draw(torch.zeros(3, 0), generator).shape == (3, 0)
    assert blocks.draw(torch.zeros(0, blocks.width), generator).shape == (0, 4)
