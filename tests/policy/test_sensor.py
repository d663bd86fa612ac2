import numpy as np
import pytest

from tabtap.domain import TEMPLATES, Template
from tabtap.errors import UserInputError
from tabtap.policy.sensor import (
    NEUTRAL,
    PassRates,
    deficit,
    novelty_of,
    read_state,
    uncertainty_by_target,
    wanted_mixture,
)
from tabtap.table.distance import DistanceScale, typical_gap

COUNTS = np.array([30, 0, 10])


@pytest.mark.parametrize(
    ("wish", "expected"),
    [
        ("balanced", [0.5, 0.0, 0.5]),
        ("real", [0.75, 0.0, 0.25]),
        ({2: 1.0}, [0.0, 0.0, 1.0]),
        ([1, 0, 3], [0.25, 0.0, 0.75]),
        (np.array([0.2, 0.0, 0.6]), [0.25, 0.0, 0.75]),
    ],
    ids=["balanced", "real", "mapping", "list", "array"],
)
def test_a_wanted_mixture_is_shares_that_add_up_to_one(wish, expected):
    assert wanted_mixture(wish, COUNTS) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("wish", "sentence"),
    [
        ("even", "be 'balanced', 'real'"),
        ([1.0, 1.0], "one share for each of the 3 targets"),
        ({7: 1.0}, "0 to 2. Leave out 7"),
        ({1: 1.0}, "target 1 are wanted, but no real row"),
        ([-1.0, 0.0, 2.0], "at least 0"),
        ([np.nan, 0.0, 1.0], "at least 0"),
        ([0.0, 0.0, 0.0], "not all of them 0"),
    ],
)
def test_a_wish_that_cannot_be_met_is_refused_with_the_way_out(wish, sentence):
    with pytest.raises(UserInputError, match=sentence):
        wanted_mixture(wish, COUNTS)


def test_a_deficit_is_the_share_wanted_minus_the_share_held():
    found = deficit(np.array([0.5, 0.5]), np.array([30, 10]))

    assert found == pytest.approx([-0.25, 0.25])


def test_a_deficit_does_not_depend_on_how_many_rows_there_are():
    wanted, counts = np.array([0.2, 0.3, 0.5]), np.array([7, 11, 2])

    assert deficit(wanted, 10 * counts) == pytest.approx(deficit(wanted, counts))


def test_the_uncertainty_of_a_target_is_the_mean_share_of_the_largest_entropy():
    entropy = np.log(4) * np.array([0.2, 0.4, 1.0])

    found = uncertainty_by_target(entropy, np.array([0, 0, 2]), 4, n_classes=4)

    # Targets 1 and 3 have no rows: the mean of the targets 0 and 2.
    assert found == pytest.approx([0.3, 0.65, 1.0, 0.65])


def test_the_uncertainty_of_a_number_is_squashed():
    found = uncertainty_by_target(np.array([1.0, 3.0]), np.array([0, 1]), 2)

    assert found == pytest.approx([0.5, 0.75])


def test_an_uncertainty_that_is_not_a_number_does_not_count():
    level = np.array([np.nan, 1.0, np.nan])

    some = uncertainty_by_target(level, np.array([0, 0, 1]), 2)
    none = uncertainty_by_target(level[[0, 2]], np.array([0, 1]), 2)

    assert some == pytest.approx([0.5, 0.5])
    assert none.tolist() == [NEUTRAL, NEUTRAL]


def test_novelty_is_zero_for_copies_and_a_half_at_the_usual_gap(make_table):
    real = make_table([0.0, 1.0, 2.0, 3.0])
    scale = DistanceScale.of(real)
    gap = typical_gap(real, scale)
    none = real.empty()

    def novelty(shift):
        return novelty_of(make_table([3.0 + shift]), none, real, scale, gap)

    assert novelty(0.0) == 0.0
    assert novelty(1.0) == pytest.approx(0.5)
    assert novelty(3.0) == pytest.approx(0.75)
    assert novelty(1e9) < 1.0


def test_novelty_is_against_committed_rows_as_soon_as_there_are_some(make_table):
    real = make_table([0.0, 1.0, 2.0, 3.0])
    scale = DistanceScale.of(real)
    pool, committed = make_table([0.0, 0.0]), make_table([2.0])

    found = novelty_of(pool, committed, real, scale, typical_gap(real, scale))

    assert found == pytest.approx(2 / 3)


def test_an_empty_pool_is_neither_near_nor_far(make_table):
    real = make_table([0.0, 1.0])

    found = novelty_of(real.empty(), real.empty(), real, DistanceScale.of(real), 1.0)

    assert found == NEUTRAL


@pytest.mark.parametrize("gap", [0.0, np.inf], ids=["all coincide", "one row"])
def test_without_a_usual_gap_novelty_is_in_standard_deviations(make_table, gap):
    real = make_table([0.0, 2.0])  # standard deviation 1
    pool = make_table([5.0])

    found = novelty_of(pool, real.empty(), real, DistanceScale.of(real), gap)

    assert found == pytest.approx(0.75)


def test_a_state_makes_targets_without_real_rows_or_a_wanted_share_unavailable():
    wanted = np.array([0.0, 0.0, 0.4, 0.6])

    state = read_state(
        np.array([4, 0, 4, 2]),
        np.array([0, 0, 0, 10]),
        wanted,
        np.full(4, 0.5),
        PassRates(),
        0.5,
    )

    assert state.available.tolist() == [False, False, True, True]
    assert state.deficit == pytest.approx(wanted - np.array([0.2, 0.0, 0.2, 0.6]))


def test_pass_rates_start_at_a_half_and_follow_their_own_template():
    rates = PassRates().updated(Template.CONSERVATIVE, 14, 14)

    assert PassRates().shares().tolist() == [0.5, 0.5]
    assert rates.shares()[TEMPLATES.index(Template.CONSERVATIVE)] == 15 / 16
    assert rates.shares()[TEMPLATES.index(Template.EXPLORE)] == 0.5


def test_pass_rates_forget_all_but_the_last_ten_actions():
    rates = PassRates().updated(Template.EXPLORE, 1000, 1000)
    for _ in range(10):
        rates = rates.updated(Template.EXPLORE, 0, 16)

    assert rates.shares()[TEMPLATES.index(Template.EXPLORE)] == 1 / 162


@pytest.mark.parametrize(("n_passed", "n_proposed"), [(3, 2), (-1, 2)])
def test_more_rows_passed_than_proposed_is_refused(n_passed, n_proposed):
    with pytest.raises(UserInputError, match="cannot have passed"):
        PassRates().updated(Template.EXPLORE, n_passed, n_proposed)


def test_pass_rates_come_back_from_plain_lists():
    rates = PassRates().updated(Template.EXPLORE, 3, 5).updated(Template.EXPLORE, 0, 2)

    assert PassRates.from_lists(rates.to_lists()) == rates
