import numpy as np
import pytest
from scipy.stats import chi2_contingency, f_oneway
from scipy.stats.contingency import crosstab

from tabtap.fidelity import TARGET, associations, is_signed


def test_two_numbers_are_correlated_over_rows_that_have_both(build_table, rng):
    x, y = rng.normal(size=(2, 60))
    x[:9] = np.nan
    table = build_table(y, x)

    found = associations(table, [0, TARGET])

    expected = np.corrcoef(x[9:], y[9:])[0, 1]
    assert found == pytest.approx(np.array([[1, expected], [expected, 1]]))


def test_two_levels_count_as_a_number_with_a_sign(build_table, rng):
    label = rng.integers(2, size=50)
    x = rng.normal(size=50) - label
    table = build_table(label, x)

    found = associations(table, [0, TARGET])

    assert found[0, 1] == pytest.approx(np.corrcoef(x, label)[0, 1])
    assert found[0, 1] < 0
    assert is_signed(table, TARGET)


def test_a_number_and_a_category_share_variance_beyond_chance(build_table, rng):
    level = rng.integers(4, size=90)
    x = rng.normal(size=90) + 0.7 * level
    level[:5] = -1
    table = build_table(x, level)

    found = associations(table, [0, TARGET])[0, 1]

    n, k = 85, 4
    between = f_oneway(*[x[level == one] for one in range(4)]).statistic * (k - 1)
    share = between / (between + n - k)
    assert found == pytest.approx(np.sqrt(1 - (1 - share) * (n - 1) / (n - k)))
    assert not is_signed(table, 0)


def test_two_categories_have_a_corrected_cramers_v(build_table, rng):
    first = rng.integers(3, size=120)
    second = np.where(rng.random(120) < 0.5, first, rng.integers(4, size=120))
    table = build_table(rng.normal(size=120), first, second)

    found = associations(table, [0, 1])[0, 1]

    counts = crosstab(first, second).count
    square = chi2_contingency(counts, correction=False).statistic / 120
    square -= 2 * 3 / 119
    assert found == pytest.approx(np.sqrt(square / (3 - 2**2 / 119 - 1)))


def test_unrelated_categories_are_not_made_related_by_being_few(build_table, rng):
    strengths = [
        associations(
            build_table(
                rng.normal(size=40),
                rng.integers(5, size=40),
                rng.integers(5, size=40),
            ),
            [0, 1],
        )[0, 1]
        for _ in range(30)
    ]

    # Uncorrected, the mean would be about 0.32.
    assert np.mean(strengths) < 0.15


def test_what_has_no_spread_is_related_to_nothing(build_table):
    flat = np.zeros(12)
    level = np.arange(12) % 3
    table = build_table(level, flat, np.full(12, np.nan), level)

    found = associations(table, [0, 1, 2, TARGET])

    assert found[:2, 2:].tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert found[2, 3] == pytest.approx(1.0)


def test_the_largest_numbers_do_not_overflow(build_table, rng):
    level = np.arange(60) % 3
    table = build_table(level, 1e308 * (level - 1.0), rng.normal(size=60) * 1e-300)

    found = associations(table, [0, 1, TARGET])

    assert np.isfinite(found).all()
    assert found[0, 2] == pytest.approx(1.0)
