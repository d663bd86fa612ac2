import sys
from dataclasses import replace

import numpy as np
import pytest

from tabtap.errors import UserInputError
from tabtap.rivals.simple import smote


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
