import sys
from dataclasses import replace

import numpy as np
import pytest
from imblearn.over_sampling import SMOTE as TheirSMOTE

from tabtap.errors import UserInputError
from tabtap.rivals.simple import (
    SMOTE,
    Copies,
    Jitter,
    Real,
    bootstrap,
    copies,
    even_rows,
    independent_columns,
    jitter,
    smote,
)
from tabtap.table.schema import Kind

# ---- Rivals of a few lines.


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


# ---- Controls.


@pytest.fixture
def uneven(build_table, rng):
    """Nine rows of class 0, two of class 2, none of class 1."""
    label = np.array([0] * 9 + [2] * 2)
    return build_table(label, rng.normal(size=11), label + rng.integers(2, size=11))


def test_classes_present_and_rows_within_them_are_used_evenly(uneven, rng):
    rows = even_rows(uneven, 41, rng)

    counts = np.bincount(rows, minlength=11)
    assert sorted([counts[:9].sum(), counts[9:].sum()]) == [20, 21]
    assert np.ptp(counts[:9]) <= 1
    assert np.ptp(counts[9:]) <= 1


def test_fewer_rows_than_classes_can_be_drawn(uneven, rng):
    assert len(even_rows(uneven, 1, rng)) == 1
    assert len(even_rows(uneven, 0, rng)) == 0


def test_target_bins_are_used_evenly_in_regression(build_table, rng):
    target = np.array([0.0] * 8 + [10.0, 11.0])
    table = build_table(target, rng.normal(size=10), edges=(5.0,))

    rows = even_rows(table, 30, rng)

    assert (target[rows] > 5).sum() == 15


def test_nothing_can_be_drawn_from_an_empty_table(uneven, rng):
    with pytest.raises(UserInputError, match="no rows to draw from"):
        even_rows(uneven.empty(), 3, rng)


def test_copies_are_real_rows_that_know_their_origin(uneven, rng):
    made = copies(uneven, 20, rng)

    assert made.cells[0].tolist() == uneven.cells[0][made.origin].tolist()
    assert made.target.tolist() == uneven.target[made.origin].tolist()


def test_jitter_moves_numbers_by_a_share_of_their_deviation(build_table, rng):
    table = build_table(np.arange(50) % 2, 100.0 * rng.normal(size=50))

    made = jitter(table, 20_000, rng, scale=0.3)

    moved = made.numeric - table.numeric[made.origin]
    assert moved.std() == pytest.approx(0.3 * table.numeric.std(), rel=0.03)


def test_jitter_leaves_categories_holes_and_targets_alone(build_table, rng):
    table = build_table([0, 1, 0], [1.0, np.nan, 3.0], np.array([0, -1, 1]))
    table = replace(table, missing=table.missing * 2)  # the column's second marker

    made = jitter(table, 30, rng)

    assert made.categorical.tolist() == table.categorical[made.origin].tolist()
    assert made.missing.tolist() == table.missing[made.origin].tolist()
    assert made.target.tolist() == table.target[made.origin].tolist()


def test_jitter_keeps_whole_numbers_whole(build_table, rng):
    table = build_table([0, 1], [0.0, 90.0])
    whole = replace(table.schema.features[0], kind=Kind.INTEGER, dtype="int64")
    table = replace(
        table,
        schema=replace(table.schema, features=(whole,)),
        cells=(table.cells[0].astype(np.int64),),
    )

    made = jitter(table, 40, rng)

    assert made.cells[0].dtype == np.int64
    assert len(set(made.cells[0].tolist())) > 2


def test_a_bootstrap_draws_whole_real_rows(uneven, rng):
    made = bootstrap(uneven, 500, rng)

    assert made.cells[0].tolist() == uneven.cells[0][made.origin].tolist()
    assert set(made.origin) == set(range(11))
    # In proportion to the real classes, unlike copies.
    assert (made.target == 0).mean() == pytest.approx(9 / 11, abs=0.08)


def test_independent_columns_keep_marginals_and_lose_relations(build_table, rng):
    code = np.arange(1000) % 2
    table = build_table(code, np.where(code == 1, np.nan, 7.0), code)

    made = independent_columns(table, 4000, rng)

    hole = made.missing[:, 0] > 0
    assert hole.mean() == pytest.approx(0.5, abs=0.05)
    assert (made.cells[0][~hole] == 7.0).all()
    assert abs(np.corrcoef(made.cells[1], made.target)[0, 1]) < 0.1
    assert abs(np.corrcoef(made.cells[1], hole)[0, 1]) < 0.1
    assert set(made.origin) == {-1}


# ---- SMOTE.


@pytest.fixture
def classes(build_table, rng):
    """Twelve rows of class 0 around 0, four of class 1 around 10."""

    def make(*kinds):
        label = np.array([0] * 12 + [1] * 4)
        columns = {
            "number": lambda: 10.0 * label + rng.normal(size=16),
            "code": lambda: 2 * label + rng.integers(2, size=16),
        }
        return build_table(label, *(columns[kind]() for kind in kinds))

    return make


@pytest.fixture
def line(build_table, rng):
    def make(n_rows, *codes):
        x = np.linspace(-1.0, 1.0, n_rows)
        return build_table(3.0 * x, x, rng.normal(size=n_rows), *codes, edges=(0.0,))

    return make


KINDS = [("number", "number"), ("number", "code"), ("code", "code")]


@pytest.mark.parametrize("kinds", KINDS, ids=["numbers", "mixed", "codes"])
def test_every_kind_of_table_gets_even_classes(classes, rng, kinds):
    made = smote(classes(*kinds), 31, rng)

    assert sorted(np.bincount(made.target)) == [15, 16]
    assert set(made.origin) == {-1}


@pytest.mark.parametrize("kinds", KINDS, ids=["numbers", "mixed", "codes"])
def test_rows_lie_within_their_own_class(classes, rng, kinds):
    table = classes(*kinds)

    made = smote(table, 40, rng)

    for label in (0, 1):
        real, new = (t.take(t.target == label) for t in (table, made))
        for view in ("numeric", "categorical"):
            low = getattr(real, view).min(axis=0)
            high = getattr(real, view).max(axis=0)
            values = getattr(new, view)
            assert ((values >= low - 1e-9) & (values <= high + 1e-9)).all()


def test_numbers_are_interpolated_and_no_copies(classes, rng):
    table = classes("number")

    made = smote(table, 40, rng)

    assert not np.isin(made.numeric, table.numeric).all()


def test_a_class_of_one_row_is_repeated_and_spares_the_others(build_table, rng):
    table = build_table(np.array([0] * 6 + [1]), np.append(np.arange(6.0), 50.0))

    made = smote(table, 20, rng)

    assert made.numeric[made.target == 1].ravel().tolist() == [50.0] * 10
    assert not np.isin(made.numeric[made.target == 0], table.numeric).all()


def test_without_two_rows_of_a_class_all_rows_are_repeated(build_table, rng):
    table = build_table([0, 1], [3.0, 4.0])

    made = smote(table, 10, rng)

    assert sorted(made.numeric.ravel()) == [3.0] * 5 + [4.0] * 5


def test_two_rows_per_class_are_enough(build_table, rng):
    table = build_table([0, 0, 1, 1], [0.0, 1.0, 10.0, 11.0])

    made = smote(table, 20, rng)

    inside = np.where(made.target == 0, made.numeric[:, 0], made.numeric[:, 0] - 10)
    assert ((inside >= 0) & (inside <= 1)).all()
    assert len(set(inside.tolist())) > 4


def test_a_table_of_one_class_is_interpolated_too(build_table, rng):
    table = build_table(np.zeros(8, dtype=int), np.arange(8.0))

    made = smote(table, 25, rng)

    assert len(made) == 25
    assert not np.isin(made.numeric, table.numeric).all()


def test_flags_are_all_taken_from_one_parent(build_table, rng):
    # Two flags of which exactly one is set, in every row of either class.
    which = np.arange(24) % 2
    table = build_table(np.arange(24) // 12, rng.normal(size=24), which, 1 - which)
    flags = tuple(
        replace(column, dtype="int64", levels=(0, 1))
        for column in table.schema.features[1:]
    )
    features = (table.schema.features[0], *flags)
    table = replace(table, schema=replace(table.schema, features=features))

    made = smote(table, 60, rng)

    assert (made.categorical.sum(axis=1) == 1).all()
    assert set(made.categorical[:, 0]) == {0, 1}


def test_holes_do_not_stop_it(build_table, rng):
    label = np.arange(12) % 2
    number = np.where(np.arange(12) < 3, np.nan, np.arange(12.0))
    table = build_table(label, number, np.where(np.arange(12) == 5, -1, label))

    made = smote(table, 30, rng)

    assert len(made) == 30
    assert np.isfinite(made.numeric).all()


@pytest.mark.parametrize("codes", [(), (np.arange(40) // 20,)], ids=["num", "mixed"])
def test_a_regression_target_is_interpolated_with_its_row(line, rng, codes):
    table = line(40, *codes)

    made = smote(table, 60, rng)

    assert len(made) == 60
    assert np.bincount(made.condition).tolist() == [30, 30]
    assert np.abs(made.target - 3.0 * made.numeric[:, 0]).max() < 1e-9
    assert not np.isin(made.target, table.target).all()


@pytest.mark.parametrize("n_rows", [1, 2, 3])
def test_regression_works_with_a_handful_of_rows(line, rng, n_rows):
    made = smote(line(n_rows), 10, rng)

    assert len(made) == 10
    assert np.isfinite(made.target).all()


def test_the_generator_decides_the_rows(classes):
    table = classes("number", "code")

    made = [smote(table, 9, np.random.default_rng(seed)) for seed in (1, 1, 2)]

    first, again, other = (rows.numeric.tolist() for rows in made)
    assert first == again
    assert first != other


def test_a_missing_package_names_the_extra_that_installs_it(classes, rng, monkeypatch):
    monkeypatch.setitem(sys.modules, "imblearn.over_sampling", None)

    with pytest.raises(UserInputError, match=r'imblearn.*"tabtap\[bench\]"'):
        smote(classes("number"), 5, rng)
