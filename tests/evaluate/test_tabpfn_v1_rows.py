import numpy as np
import pytest

from tabtap.evaluate.tabpfn_v1 import mutual_information, prepare_rows


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_numbers_are_standardised_by_the_context_and_spread_over_100(build_table, rng):
    values = rng.normal(5.0, 3.0, 30)
    table = build_table(np.arange(30) % 2, values, rng.normal(size=30))

    rows = prepare_rows(table, table, seed=0)

    expected = (values - values.mean()) / values.std(ddof=1) * 100 / 2
    assert np.allclose(rows.context[:, 0], expected, atol=1e-3)
    assert np.array_equal(rows.context, rows.queries)


def test_queries_do_not_move_the_scale_of_the_context(build_table, rng):
    table = build_table(np.arange(30) % 2, rng.normal(size=30))
    far = build_table([0, 1], np.array([1e6, -1e6]))

    alone = prepare_rows(table, table, seed=0)
    beside = prepare_rows(table, far, seed=0)

    assert np.array_equal(alone.context, beside.context)


def test_outliers_are_drawn_in_but_stay_outside(build_table, rng):
    values = np.append(rng.normal(size=59), 1000.0)
    table = build_table(np.arange(60) % 2, values)

    rows = prepare_rows(table, table, seed=0)

    z = rows.context[:, 0] / 100
    plain = (values[-1] - values.mean()) / values.std(ddof=1)
    assert z[:-1].max() < z[-1] < plain


def test_a_column_that_does_not_vary_is_left_out(build_table, rng):
    table = build_table(np.arange(20) % 2, np.full(20, 3.0), rng.normal(size=20))

    assert prepare_rows(table, table, seed=0).context.shape == (20, 1)


def test_missing_numbers_are_the_mean_and_missing_categories_a_level(build_table, rng):
    values = rng.normal(size=20)
    values[0] = np.nan
    codes = np.arange(20) % 2
    codes[1] = -1
    table = build_table(np.arange(20) % 2, values, codes)

    rows = prepare_rows(table, table, seed=0)

    assert rows.context.shape == (20, 4)
    assert rows.context[0, 0] == pytest.approx(0.0, abs=1e-9)
    assert rows.context[1, 1] > 0 > rows.context[2, 1]


def test_numbers_of_any_size_are_read(build_table, rng):
    values = rng.normal(size=20)
    plain, huge, tiny = (
        build_table(np.arange(20) % 2, values * size) for size in (1.0, 1e300, 1e-300)
    )

    rows = [prepare_rows(table, table, seed=0) for table in (plain, huge, tiny)]

    assert np.allclose(rows[0].context, rows[1].context, rtol=1e-4)
    assert np.allclose(rows[0].context, rows[2].context, rtol=1e-4)


def test_a_level_that_the_context_lacks_is_no_level(build_table):
    table = build_table([0, 1, 0, 1], np.array([0, 1, 2, 0]))
    context = table.take(np.array([0, 1]))

    rows = prepare_rows(context, table, seed=0)

    assert rows.queries.shape == (4, 2)
    assert (rows.queries[2] < 0).all()


def test_labels_are_counted_without_gaps(build_table, rng):
    table = build_table([4, 1, 4, 1], rng.normal(size=4))

    rows = prepare_rows(table, table, seed=0)

    assert rows.labels.tolist() == [1, 0, 1, 0]
    assert rows.classes.tolist() == [1, 4]


def test_one_row_is_a_context(build_table):
    table = build_table([0], np.array([2.0]))

    assert prepare_rows(table, table, seed=0).context.shape == (1, 0)


def test_no_queries_are_no_rows(build_table, rng):
    table = build_table([0, 1, 0], rng.normal(size=3))

    assert prepare_rows(table, table.empty(), seed=0).queries.shape == (0, 1)


def test_a_large_context_is_cut_by_class_shares_and_keeps_rare_classes(
    build_table, rng
):
    labels = np.repeat([0, 1, 2, 3, 4], [1400, 597, 1, 1, 1])
    table = build_table(labels, rng.normal(size=2000))

    rows = prepare_rows(table, table.take(np.arange(3)), seed=0)

    assert rows.is_cut
    assert np.bincount(rows.labels)[2:].tolist() == [1, 1, 1]
    assert np.abs(np.bincount(rows.labels)[:2] - [700, 298.5]).max() < 2
    assert np.bincount(rows.labels).sum() == 1000


def test_a_context_of_exactly_1000_rows_is_kept_whole(build_table, rng):
    table = build_table(np.arange(1000) % 2, rng.normal(size=1000))

    rows = prepare_rows(table, table.empty(), seed=0)

    assert (rows.is_cut, len(rows.context)) == (False, 1000)


def test_of_too_many_columns_the_telling_ones_are_kept_in_their_order(build_table, rng):
    labels = np.arange(60) % 2
    telling = [labels * 3.0 + rng.normal(size=60) for _ in range(5)]
    noise = [rng.normal(size=60) for _ in range(120)]
    table = build_table(labels, *noise, *telling)

    rows = prepare_rows(table, table, seed=0)

    assert rows.is_narrowed
    assert rows.context.shape == (60, 100)
    apart = rows.context[labels == 1].mean(axis=0) - rows.context[labels == 0].mean(
        axis=0
    )
    assert (apart[-5:] > 1.0).all()


def test_mutual_information_knows_copies_halves_and_noise(rng):
    labels = np.arange(400) % 2
    half = np.where(rng.random(400) < 0.5, labels, rng.integers(0, 2, 400))
    columns = np.column_stack([labels, half, rng.normal(size=400), np.zeros(400)])

    told = mutual_information(columns.astype(float), labels)

    assert told[0] == pytest.approx(np.log(2), abs=0.01)
    assert told[0] > told[1] > 0.05 > abs(told[2])
    assert told[3] == 0.0


def test_noise_says_nothing_on_average_however_many_values_it_has(rng):
    labels = np.arange(400) % 2
    many = rng.normal(size=(400, 200))
    two = (many > 0).astype(float)

    told = [mutual_information(columns, labels).mean() for columns in (many, two)]

    assert np.abs(told).max() < 0.002  # 0.009 and 0.001 if chance were not taken off
