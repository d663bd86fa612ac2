import numpy as np
import pytest
from imblearn.over_sampling import SMOTE as TheirSMOTE

from tabtap.errors import UserInputError
from tabtap.rivals.simple import SMOTE, Copies, Jitter, Real, even_rows


@pytest.fixture
def train(build_table, rng):
    """Twelve rows of class 0 and five of class 1; numbers are already standardised."""
    label = np.array([0] * 12 + [1] * 5)
    numbers = rng.normal(size=(17, 3)) + 2.0 * label[:, None]
    numbers = (numbers - numbers.mean(axis=0)) / numbers.std(axis=0)
    return build_table(label, *numbers.T)


def ordered(rows):
    return rows[np.lexsort(rows.T)]


def test_real_adds_nothing(train, make_rows):
    assert len(make_rows(Real(), train, 50)) == 0


def test_copies_are_real_rows_classes_evenly(train, make_rows):
    rows = make_rows(Copies(), train, 50)

    assert np.array_equal(rows.numeric, train.numeric[rows.origin])
    assert np.bincount(rows.target).tolist() == [25, 25]


def test_jitter_moves_numbers_by_its_share_of_their_deviation(train, make_rows):
    rows = make_rows(Jitter(scale=0.1), train, 2000)

    noise = rows.numeric - train.numeric[rows.origin]
    assert noise.std(axis=0) == pytest.approx(0.1, rel=0.1)


def test_a_negative_scale_is_refused():
    with pytest.raises(UserInputError, match=r"scale=-1.*negative"):
        Jitter(scale=-1)


def test_smote_makes_exactly_the_rows_of_imbalanced_learn(train, make_rows):
    # What ours draws before it hands over: which classes, then a seed.
    rng = np.random.default_rng(3)
    even_rows(train, 41, rng)
    seed = int(rng.integers(2**31))
    mine = make_rows(SMOTE(), train, 41, seed=3)
    wanted = np.bincount(mine.target)
    total = {0: 12 + int(wanted[0]), 1: 5 + int(wanted[1])}

    theirs = TheirSMOTE(sampling_strategy=total, k_neighbors=4, random_state=seed)
    points, labels = theirs.fit_resample(train.numeric, train.target)

    points, labels = points[17:], labels[17:]
    assert np.bincount(labels).tolist() == wanted.tolist()
    for label in (0, 1):
        ours = ordered(mine.numeric[mine.target == label])
        assert ours == pytest.approx(ordered(points[labels == label]), abs=1e-9)
