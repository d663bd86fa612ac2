import numpy as np
import pytest

from tabtap.errors import UserInputError
from tabtap.rivals.tabddpm import QuantileScale, TabDdpm
from tabtap.stopwatch import Stopwatch


@pytest.fixture(scope="module")
def drawn(truth):
    """Draw rows after a training that is short, of a network that is small."""
    method = TabDdpm(n_steps=800, n_times=50, batch_size=100, widths=(128, 128))
    return method.make(truth, 600, np.random.default_rng(0), Stopwatch())


def test_it_recovers_what_is_known_of_the_table(drawn, findings):
    found = findings(drawn)

    assert found["correlation"] == pytest.approx(0.8, abs=0.1)
    assert found["deviation"] == pytest.approx(1, abs=0.15)
    # Thirteen quantiles span the gap between the two centers, and some rows fall in.
    assert found["apart low"] == pytest.approx(-2, abs=0.5)
    assert found["apart high"] == pytest.approx(2, abs=0.3)
    assert found["sign kept"] > 0.85
    assert found["low"] == pytest.approx(0.3, abs=0.05)


def test_numbers_stay_in_the_real_range(drawn, truth):
    assert (drawn.numeric >= truth.numeric.min(axis=0)).all()
    assert (drawn.numeric <= truth.numeric.max(axis=0)).all()


def test_the_published_size_takes_ten_times_the_steps():
    assert TabDdpm().training_steps == 3_000
    assert TabDdpm(size="paper").training_steps == 30_000
    assert TabDdpm(size="paper", n_steps=5).training_steps == 5


def test_a_regression_target_is_drawn_with_its_row(build_table):
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=200)
    table = build_table(3 * numbers + 1, numbers, edges=(1.0,))

    rows = TabDdpm(n_steps=400, n_times=50, batch_size=100).make(
        table, 300, rng, Stopwatch()
    )

    assert np.corrcoef(rows.numeric[:, 0], rows.target_values)[0, 1] > 0.9


def test_categories_alone_can_be_learned(build_table):
    rng = np.random.default_rng(0)
    code = np.arange(120) % 3
    table = build_table(np.arange(120) % 2, code, code)

    rows = TabDdpm(n_steps=250, n_times=20).make(table, 300, rng, Stopwatch())

    same = rows.categorical[:, 0] == rows.categorical[:, 1]
    assert same.mean() > 0.9  # a third, if they were drawn apart


def test_a_training_that_runs_away_is_told(truth, rng):
    with pytest.raises(UserInputError, match="smaller learning_rate"):
        TabDdpm(n_steps=20, n_times=5, learning_rate=1e30).make(
            truth, 5, rng, Stopwatch()
        )


def test_scores_are_normal_and_lead_back_to_the_numbers(rng):
    numbers = rng.lognormal(size=(900, 1))
    scale = QuantileScale.of(numbers, rng)

    scores = scale.encode(numbers)

    inside = np.abs(scores) < 5
    assert scores[inside].std() == pytest.approx(1, abs=0.1)
    assert np.median(scores) == pytest.approx(0, abs=0.05)
    assert np.allclose(scale.decode(scores), numbers)
    assert scale.decode(scores[:0]).shape == (0, 1)


@pytest.mark.slow
def test_many_columns_and_few_rows_run_away_only_in_the_published_size(build_table):
    rng = np.random.default_rng(0)
    common = rng.normal(size=100)
    columns = [common + rng.normal(size=100) for _ in range(60)]
    table = build_table(np.arange(100) % 2, *columns)

    ends = {}
    for size in ("default", "paper"):
        method = TabDdpm(size=size, n_steps=1000, n_times=200)
        numbers = method.make(table, 200, rng, Stopwatch()).numeric
        low, high = table.numeric.min(axis=0), table.numeric.max(axis=0)
        ends[size] = ((numbers == low) | (numbers == high)).mean()

    assert ends["paper"] > 0.5
    assert ends["default"] < 0.2
