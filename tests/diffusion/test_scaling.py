import numpy as np
import pytest

from tabtap.config import DiffusionConfig
from tabtap.diffusion.scaling import HOLE, Scaling, bandwidth_for, fit_smoothing

# ---- Scaling numbers and taking them back.


def fit(numbers, **settings):
    return Scaling.of(numbers, DiffusionConfig(**settings))


@pytest.fixture
def numbers():
    rng = np.random.default_rng(0)
    columns = [rng.normal(50, 9, 200), rng.lognormal(0, 2, 200), np.full(200, 4.0)]
    made = np.column_stack(columns)
    made[::7, 0] = np.nan
    return made


@pytest.fixture(params=["standard", "quantile"])
def scaling(request, numbers):
    return fit(numbers, scale=request.param)


def test_real_numbers_survive_the_way_there_and_back(scaling, numbers):
    back = scaling.decode(scaling.encode(numbers))

    present = ~np.isnan(numbers)
    spread = np.nanstd(numbers, axis=0).max()
    # Knots of the quantile scale are apart: between them numbers are interpolated.
    assert np.abs(back - numbers)[present].max() < 0.02 * spread


def test_holes_stay_holes_and_nothing_else_becomes_one(scaling, numbers):
    assert np.array_equal(np.isnan(scaling.encode(numbers)), np.isnan(numbers))


def test_encoded_columns_are_of_the_size_the_network_expects(scaling, numbers):
    encoded = scaling.encode(numbers)

    assert np.abs(np.nanmean(encoded, axis=0)).max() < 0.1
    assert (np.nanstd(encoded[:, :2], axis=0) > 0.8).all()
    assert (np.nanstd(encoded[:, :2], axis=0) < 1.2).all()
    assert np.allclose(encoded[:, 2], 0)


def test_drawn_numbers_stay_in_the_real_range(scaling, numbers):
    far = scaling.decode(np.linspace(-40.0, 40.0, 333)[:, None].repeat(3, axis=1))

    assert (far >= np.nanmin(numbers, axis=0)).all()
    assert (far <= np.nanmax(numbers, axis=0)).all()


def test_what_is_drawn_beyond_the_range_does_not_pile_up_on_its_ends():
    column = np.arange(101.0)[:, None]

    drawn = fit(column).decode(np.linspace(-3.0, 3.0, 200)[:, None])

    at_an_end = (drawn == 0.0) | (drawn == 100.0)
    assert at_an_end.mean() < 0.02
    assert np.unique(drawn).size > 190


def test_the_paper_s_scale_clips_what_is_drawn_beyond_its_quantiles():
    numbers = np.arange(101.0)[:, None]
    scaling = Scaling.of(numbers, DiffusionConfig.paper())

    drawn = scaling.decode(np.array([[-9.0], [-2.9], [0.0], [2.9], [9.0]]))

    assert drawn[[0, 1, 3, 4], 0].tolist() == [1.0, 1.0, 99.0, 99.0]


def test_the_range_can_be_narrowed_to_quantiles():
    column = np.arange(101.0)[:, None]

    scaling = fit(column, clip_quantiles=(0.01, 0.99))

    drawn = scaling.decode(np.linspace(-3.0, 3.0, 200)[:, None])
    assert 1.0 <= drawn.min() < 2.0
    assert 98.0 < drawn.max() <= 99.0


def test_the_quantile_scale_makes_a_skewed_column_normal(numbers):
    scaling = fit(numbers, scale="quantile")

    scores = scaling.encode(numbers)[:, 1]

    # Its own third moment, in standard deviations, is above 5.
    assert abs(np.mean(scores**3)) < 0.5


def test_ties_share_the_middle_of_their_probabilities():
    column = np.repeat([0.0, 1.0], 50)[:, None]

    scores = fit(column, scale="quantile").encode(column)

    # Half of the rows each: symmetric around 0.
    assert np.allclose(scores[0], -scores[-1])
    assert scores[0, 0] < -0.3


def test_a_column_without_any_number_is_survived():
    column = np.full((12, 1), np.nan)

    scaling = fit(column)

    assert np.isfinite(scaling.decode(np.zeros((1, 1)))).all()


def test_a_value_that_a_column_piles_up_on_is_a_state():
    # 30 zeros, which is more than a tenth; 4 fives, which are fewer than five rows.
    column = np.r_[np.zeros(30), np.full(4, 5.0), np.linspace(1, 2, 60), np.nan]
    scaling = fit(column[:, None])

    states = scaling.states(column[:, None]).ravel()

    assert scaling.spikes.tolist() == [[0.0]]
    assert states.tolist() == [2] * 30 + [0] * 64 + [HOLE]


def test_states_put_holes_and_spikes_where_they_say():
    column = np.r_[np.zeros(30), np.linspace(1, 2, 60)][:, None]
    drawn = np.array([[1.3], [1.3], [1.3]])

    placed = fit(column).at_states(drawn, np.array([[0], [HOLE], [2]], dtype=np.int32))

    np.testing.assert_array_equal(placed, [[1.3], [np.nan], [0.0]])


def test_a_column_of_few_values_gets_no_others():
    column = np.repeat([0.5, 1.0, 4.0], 40)[:, None]

    drawn = fit(column).decode(np.linspace(-3, 3, 50)[:, None])

    assert set(drawn.ravel()) == {0.5, 1.0, 4.0}


def test_a_column_of_many_values_is_left_between_them():
    column = np.arange(100.0)[:, None]

    drawn = fit(column).decode(np.linspace(-1, 1, 50)[:, None])

    assert (drawn % 1 != 0).mean() > 0.9


def test_a_very_skewed_positive_column_is_scaled_in_logs():
    rng = np.random.default_rng(0)
    amounts = rng.lognormal(8.0, 2.0, 300)[:, None]

    scaling = fit(amounts)
    scores = scaling.encode(amounts)

    # In plain standard deviations four of five rows lie within 0.3 of each other.
    assert scaling.in_logs.tolist() == [True]
    assert abs(np.median(scores)) < 0.2
    assert np.allclose(scaling.decode(scores), amounts)


@pytest.mark.parametrize(
    "column",
    [
        np.random.default_rng(0).normal(size=300),
        np.random.default_rng(0).normal(50.0, 3.0, size=300),
        np.random.default_rng(0).standard_t(1.5, size=300),
        np.arange(300.0),
    ],
    ids=["normal", "positive", "long tails on both sides", "even"],
)
def test_other_columns_are_scaled_as_they_are(column):
    assert fit(column[:, None]).in_logs.tolist() == [False]


# ---- Smoothing: how far apart copies of few rows are learned.


def test_the_bandwidth_falls_with_the_rows_and_ends_at_nothing():
    widths = [bandwidth_for(n, 8) for n in (12, 50, 100, 400, 1000, 5000, 200_000)]

    assert widths == sorted(widths, reverse=True)
    assert widths[0] == widths[1] > 0
    assert widths[-1] == 0


def test_the_bandwidth_grows_with_the_numbers_and_stays_below_one():
    widths = [bandwidth_for(12, n) for n in (1, 3, 8, 30, 300, 10_000)]

    assert widths == sorted(widths)
    assert widths[-1] < 1


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    condition = np.resize([0, 0, 0, 2], 4000)
    covariance = [[1.0, 0.7], [0.7, 2.0]]
    numbers = rng.multivariate_normal([0, 0], covariance, 4000)
    return numbers + np.array([[5.0, 0.0], [0, 0], [-5.0, 1.0]])[condition], condition


def test_smoothing_knows_the_covariance_within_conditions(rows):
    numbers, condition = rows

    smoothing = fit_smoothing(numbers, np.ones(numbers.shape, bool), condition, 0.5)

    found = smoothing.factor @ smoothing.factor.T
    assert np.allclose(found, [[1.0, 0.7], [0.7, 2.0]], atol=0.15)
    assert np.allclose(smoothing.means[[0, 2]], [[5.0, 0.0], [-5.0, 1.0]], atol=0.15)


def test_missing_numbers_do_not_move_the_means(rows):
    numbers, condition = rows
    observed = np.random.default_rng(1).random(numbers.shape) < 0.5
    filled = np.where(observed, numbers, 0.0)

    smoothing = fit_smoothing(filled, observed, condition, 0.5)

    assert np.allclose(smoothing.means[[0, 2]], [[5.0, 0.0], [-5.0, 1.0]], atol=0.15)


def test_a_condition_with_one_row_is_survived():
    numbers = np.array([[0.0, 1.0], [1.0, 0.0], [5.0, 5.0]])
    observed = np.ones(numbers.shape, dtype=bool)

    smoothing = fit_smoothing(numbers, observed, np.array([0, 0, 1]), 0.5)

    assert np.isfinite(smoothing.factor).all()
    assert smoothing.means[1].tolist() == [5.0, 5.0]
