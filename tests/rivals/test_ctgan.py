import numpy as np
import pytest

from tabtap.errors import UserInputError
from tabtap.rivals.ctgan import Ctgan
from tabtap.stopwatch import Stopwatch


def test_a_batch_is_made_of_whole_packs():
    with pytest.raises(UserInputError, match=r"batch_size=55.*multiple of pack=10"):
        Ctgan(batch_size=55)


def test_more_rows_than_a_batch_can_be_drawn(truth, rng):
    rows = Ctgan(n_epochs=1, batch_size=40).make(truth, 90, rng, Stopwatch())

    assert len(rows) == 90


def test_numbers_alone_need_no_wish(build_table, rng):
    table = build_table(rng.normal(size=30), rng.normal(size=30), edges=(0.0,))

    rows = Ctgan(n_epochs=2, batch_size=20).make(table, 30, rng, Stopwatch())

    assert np.isfinite(rows.numeric).all()
    assert np.isfinite(rows.target_values).all()


@pytest.mark.slow
def test_it_learns_what_holds_in_the_table(truth, findings):
    drawn = Ctgan(batch_size=100, n_epochs=600).make(
        truth, 1000, np.random.default_rng(0), Stopwatch()
    )

    found = findings(drawn)
    assert found["apart low"] == pytest.approx(-2, abs=0.7)
    assert found["apart high"] == pytest.approx(2, abs=0.7)
    assert found["correlation"] > 0.4
    assert 0.15 < found["low"] < 0.45
