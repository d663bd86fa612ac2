import numpy as np
import pytest

from tabtap.rivals.tvae import Tvae
from tabtap.stopwatch import Stopwatch


@pytest.fixture(scope="module")
def drawn(truth):
    method = Tvae(batch_size=100, n_epochs=150)
    return method.make(truth, 600, np.random.default_rng(0), Stopwatch())


def test_it_learns_what_holds_in_the_table(drawn, findings):
    found = findings(drawn)

    assert found["correlation"] > 0.2
    assert found["apart low"] == pytest.approx(-2, abs=0.4)
    assert found["apart high"] == pytest.approx(2, abs=0.4)
    assert found["sign kept"] > 0.6
    assert 0.1 < found["low"] < 0.45


def test_stages_are_timed(truth, rng):
    watch = Stopwatch()

    Tvae(n_epochs=1).make(truth, 3, rng, watch)

    assert set(watch.cpu_seconds) == {"fit", "sample"}


def test_more_rows_than_a_batch_can_be_drawn(truth, rng):
    rows = Tvae(n_epochs=1, batch_size=40).make(truth, 90, rng, Stopwatch())

    assert len(rows) == 90
