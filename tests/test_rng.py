import numpy as np
import pytest

from tabtap.rng import stream


def test_a_stream_is_the_same_whenever_it_is_asked_for():
    first = stream(7, "inpaint", 3).random(4)

    stream(7, "something else").random(100)
    again = stream(7, "inpaint", 3).random(4)

    assert np.array_equal(first, again)


@pytest.mark.parametrize(
    "other",
    [(8, "inpaint", 3), (7, "anchor", 3), (7, "inpaint", 4), (7, "inpaint", "3")],
    ids=["seed", "purpose", "step", "type of step"],
)
def test_another_name_is_another_stream(other):
    first = stream(7, "inpaint", 3).random(4)

    assert not np.array_equal(first, stream(*other).random(4))


def test_streams_of_neighbouring_steps_are_not_correlated():
    draws = np.stack([stream(0, "step", k).random(2000) for k in range(4)])

    off_diagonal = np.corrcoef(draws)[~np.eye(4, dtype=bool)]

    assert np.abs(off_diagonal).max() < 0.1  # 4.5 standard errors
