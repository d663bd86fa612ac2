import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import truncnorm
from sklearn.datasets import make_moons
from sklearn.ensemble import RandomForestClassifier

from tabtap.errors import UserInputError
from tabtap.rivals.arf import ARF, Leaves
from tabtap.rivals.simple import independent_columns


def two_moons(n_rows, seed):
    return make_moons(n_rows, noise=0.08, random_state=seed)


def smiley(n_rows, seed):
    """Give two eyes, a nose and a mouth, each as often."""
    rng = np.random.default_rng(seed)
    part = np.arange(n_rows) % 4
    along = rng.uniform(-1, 1, n_rows)
    shapes = [
        rng.normal([-0.8, 1.0], 0.12, (n_rows, 2)),
        rng.normal([0.8, 1.0], 0.12, (n_rows, 2)),
        np.column_stack([along / 4, 0.15 + rng.uniform(-0.45, 0.45, n_rows)]),
        np.column_stack(
            [1.2 * along, 0.6 * along**2 - 1 + rng.normal(0, 0.08, n_rows)]
        ),
    ]
    return np.stack(shapes)[part, np.arange(n_rows)], part


@pytest.fixture(params=[two_moons, smiley], ids=["moons", "smiley"])
def shape(request, read_columns):
    """Give a table of 500 points, 2,000 fresh points, and 2,000 more."""
    (points, part), (fresh, _), (truth, which) = (
        request.param(n_rows, seed) for n_rows, seed in ((500, 1), (2000, 2), (2000, 3))
    )
    x, y = points.T
    return read_columns(x=x, y=y, part=part.astype(str)), fresh, truth, which


def test_rows_follow_the_shape_that_independent_columns_lose(shape, make_rows, energy):
    train, fresh, truth, _ = shape

    rows = make_rows(ARF(), train, 2000)

    alone = independent_columns(train, 2000, np.random.default_rng(0))
    lost = energy(alone.numeric, truth)
    # No further from the truth than another sample and a little of what is lost.
    assert energy(rows.numeric, truth) < energy(fresh, truth) + 0.2 * lost
    near = np.quantile(cdist(fresh, truth).min(axis=1), 0.99)
    precision = (cdist(rows.numeric, truth).min(axis=1) < near).mean()
    coverage = (cdist(truth, rows.numeric).min(axis=1) < near).mean()
    assert precision > 0.88
    assert coverage > 0.95
    assert (cdist(alone.numeric, truth).min(axis=1) < near).mean() < 0.65


def test_the_label_belongs_to_its_place(shape, make_rows):
    train, _, truth, which = shape

    rows = make_rows(ARF(), train, 1000)

    nearest = cdist(rows.numeric, truth).argmin(axis=1)
    assert (rows.target == which[nearest]).mean() > 0.93


def test_independent_columns_stay_independent(read_columns, make_rows):
    rng = np.random.default_rng(0)
    train = read_columns(
        x=rng.normal(size=400), y=rng.uniform(size=400), label=["a", "b"] * 200
    )

    rows = make_rows(ARF(), train, 4000)

    x, y = rows.numeric.T
    assert abs(np.corrcoef(x, y)[0, 1]) < 0.1
    assert [x.mean(), x.std()] == pytest.approx([0, 1], abs=0.15)
    assert [y.mean(), y.std()] == pytest.approx([0.5, 12**-0.5], abs=0.05)
    assert rows.target.mean() == pytest.approx(0.5, abs=0.05)


def test_holes_come_as_often_and_where_they_do(read_columns, make_rows):
    rng = np.random.default_rng(0)
    ill = rng.random(300) < 0.5
    dose = np.where(ill & (rng.random(300) < 0.6), np.nan, rng.normal(size=300))
    train = read_columns(dose=dose, age=rng.normal(size=300), ill=ill)

    rows = make_rows(ARF(), train, 2000)

    hole, ill = rows.missing[:, 0] > 0, rows.target == 1
    assert hole[ill].mean() == pytest.approx(0.6, abs=0.12)
    assert hole[~ill].mean() < 0.12


def test_every_leaf_has_enough_rows_and_they_lie_within_its_borders():
    rng = np.random.default_rng(0)
    cells = np.column_stack([rng.normal(size=(80, 2)), rng.integers(3, size=80)])
    is_number = np.array([True, True, False])
    forest = RandomForestClassifier(5, min_samples_leaf=1, random_state=0)
    label = rng.integers(2, size=80)

    leaves = Leaves.of(forest.fit(cells, label), cells, is_number, 6)

    assert leaves.count.min() >= 6
    assert leaves.count.sum() == 5 * 80
    for leaf in range(len(leaves.count)):
        start, size = leaves.start[leaf], leaves.count[leaf]
        rows = leaves.order[start : start + size]
        inside = cells[rows, :2]
        assert (leaves.leaf_of == leaf).sum() == size
        assert (inside >= leaves.low[leaf] - 1e-6).all()
        assert (inside <= leaves.high[leaf] + 1e-6).all()
        assert leaves.mean[leaf] == pytest.approx(inside.mean(axis=0))
        assert leaves.deviation[leaf] == pytest.approx(inside.std(axis=0, ddof=1))


def test_a_number_is_normal_between_the_borders_of_its_leaf():
    none = np.zeros(0, dtype=np.int64)
    box = {"low": [[-0.5, -np.inf]], "high": [[np.inf, 1.0]]}
    like = {"mean": [[0.3, 0.0]], "deviation": [[0.8, 2.0]]}
    arrays = {name: np.array(values) for name, values in (box | like).items()}
    leaves = Leaves(
        cells=np.zeros((1, 2)),
        leaf_of=none,
        order=none,
        start=none,
        count=none,
        **arrays,
    )

    drawn = leaves.numbers(np.zeros(20_000, dtype=int), np.random.default_rng(0))

    shares = [0.05, 0.5, 0.95]
    truth = [
        truncnorm((-0.5 - 0.3) / 0.8, np.inf, 0.3, 0.8),
        truncnorm(-np.inf, 1.0 / 2.0, 0.0, 2.0),
    ]
    for column, expected in zip(drawn.T, truth, strict=True):
        found = np.quantile(column, shares)
        assert found == pytest.approx(expected.ppf(shares), abs=0.05)


def test_smoothing_gives_every_level_a_chance(read_columns, make_rows):
    colour = np.repeat(["red", "blue"], [190, 10])
    x = np.where(colour == "red", 0.0, 9.0) + np.random.default_rng(0).normal(size=200)
    train = read_columns(x=x, colour=colour)

    plain, smooth = (
        make_rows(ARF(smoothing=smoothing), train, 2000) for smoothing in (0.0, 50.0)
    )

    assert smooth.target.mean() == pytest.approx(0.5, abs=0.25)
    assert (plain.target == train.target[-1]).mean() < 0.1
    assert (smooth.target == train.target[-1]).mean() > 0.25


def test_a_leaf_of_less_than_a_row_is_refused():
    with pytest.raises(UserInputError, match=r"min_node_size=0.*at least 1"):
        ARF(min_node_size=0)
