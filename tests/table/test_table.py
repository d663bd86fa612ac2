from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tabtap.table import concat, read_frame, write_frame
from tabtap.table.table import NumberScale, ancestor_rows

# ---- Tables: columns of exact cells.


N_ROWS = 24


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "key": range(N_ROWS),
            "size": rng.normal(size=N_ROWS).round(2),
            "count": pd.array([1, None, 2**60 + 1] * 8, dtype="Int64"),
            "when": pd.date_range("2020", periods=N_ROWS, tz="Europe/Berlin"),
            "colour": ["red", None, "blue"] * 8,
            "flag": [True, False] * 12,
            "site": "A",
            "y": ["u", "v"] * 12,
        }
    )


@pytest.fixture(scope="module")
def table(frame):
    return read_frame(frame, "y", kinds={"count": "integer"})


def redrawn(table, regenerate, seed=0):
    """Redraw with made-up values: numbers on the scale of the column, any level."""
    rng = np.random.default_rng(seed)
    numbers = np.nan_to_num(table.numeric, nan=5.0)
    numbers = numbers + rng.normal(size=numbers.shape) * 0.5
    levels = rng.integers(0, 2, size=table.categorical.shape)
    return table.redrawn(regenerate, numbers, levels.astype(np.int32))


def test_views_mark_holes_and_leave_out_what_is_not_modelled(table):
    assert table.numeric.shape == (N_ROWS, 3)
    assert table.categorical.shape == (N_ROWS, 2)
    assert np.isnan(table.numeric[:, 1]).tolist() == [False, True, False] * 8
    assert table.categorical[:3, 0].tolist() == [1, -1, 0]


def test_redrawing_nothing_is_the_identity(table, frame):
    nothing = np.zeros((N_ROWS, 7), dtype=bool)

    written = write_frame(redrawn(table, nothing))

    pd.testing.assert_frame_equal(written, frame, check_exact=True)


@given(seed=st.integers(0, 10**6), share=st.floats(0, 1))
@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_kept_cells_come_back_exactly(table, frame, seed, share):
    rng = np.random.default_rng(seed)
    regenerate = rng.random((N_ROWS, 7)) < share

    written = write_frame(redrawn(table, regenerate, seed))

    for position, name in enumerate(frame.columns[:7]):
        kept = ~regenerate[:, position]
        assert (
            written[name][kept].astype(object).equals(frame[name][kept].astype(object))
        )
    assert written["y"].equals(frame["y"])


def test_redrawn_cells_have_valid_values_and_unchanged_dtypes(table, frame):
    regenerate = np.ones((N_ROWS, 7), dtype=bool)
    regenerate[:, 0] = False

    written = write_frame(redrawn(table, regenerate))

    assert written.dtypes.tolist() == frame.dtypes.tolist()
    assert set(written["colour"]) == {"red", "blue"}
    assert (written["size"].round(2) == written["size"]).all()
    assert (written["size"] != frame["size"]).any()
    assert (written["site"] == "A").all()


def test_a_regenerated_identifier_is_empty_and_a_constant_stays(table):
    regenerate = np.ones((N_ROWS, 7), dtype=bool)

    written = write_frame(redrawn(table, regenerate))

    assert written["key"].isna().all()
    assert str(written["key"].dtype) == "Int64"
    assert (written["site"] == "A").all()


def test_a_drawn_hole_takes_the_form_of_the_real_ones(table):
    regenerate = np.ones((N_ROWS, 7), dtype=bool)
    numbers = table.numeric.copy()
    numbers[:, 1] = np.nan
    levels = table.categorical.copy()
    levels[:, 0] = -1

    written = write_frame(table.redrawn(regenerate, numbers, levels))

    assert written["count"].isna().all()
    assert str(written["count"].dtype) == "Int64"
    assert written["colour"].isna().all()


def test_redrawing_leaves_the_table_alone(table, frame):
    redrawn(table, np.ones((N_ROWS, 7), dtype=bool))

    pd.testing.assert_frame_equal(write_frame(table), frame, check_exact=True)


@pytest.mark.parametrize(
    "rows", [np.array([5, 0, 5]), np.arange(N_ROWS) % 3 == 0], ids=["numbers", "mask"]
)
def test_taken_rows_are_written_as_they_were(table, frame, rows):
    wanted = frame.iloc[np.arange(N_ROWS)[rows]]

    taken = table.take(rows)

    written = write_frame(taken, index=wanted.index)
    pd.testing.assert_frame_equal(written, wanted, check_exact=True)
    assert taken.origin.tolist() == np.arange(N_ROWS)[rows].tolist()


def test_an_empty_table_keeps_its_columns(table, frame):
    written = write_frame(table.empty())

    assert len(written) == 0
    assert written.dtypes.tolist() == frame.dtypes.tolist()


def test_parts_put_together_are_the_whole(table, frame):
    parts = [
        table.take(np.arange(0, 5)),
        table.empty(),
        table.take(np.arange(5, N_ROWS)),
    ]

    written = write_frame(concat(parts))

    pd.testing.assert_frame_equal(written, frame, check_exact=True)


def test_rows_can_be_marked_with_the_fold_their_maker_never_saw(table):
    assert set(table.with_origin(unseen_fold=3).unseen_fold.tolist()) == {3}


def test_the_condition_of_a_number_is_its_bin(make_table):
    table = make_table([1.0, 2.0, 2.5, 9.0])
    target = table.schema.target
    binned = type(target)(
        column=target.column, task="regression", position=0, edges=(2.0, 5.0)
    )
    schema = type(table.schema)(features=table.schema.features, target=binned)

    cut = type(table)(
        schema,
        table.cells,
        table.missing,
        table.target,
        table.origin,
        table.unseen_fold,
    )

    # A value on an edge belongs to the bin below it.
    assert cut.condition.tolist() == [0, 0, 1, 2]


# ---- Ancestry: which real row a row descends from.


@pytest.fixture
def real(build_table):
    table = build_table([0, 1, 0], np.arange(3.0))
    return replace(table, origin=np.array([30, 10, 20]))


def descendants(real, origins):
    rows = real.take(np.zeros(len(origins), dtype=np.int64))
    return replace(rows, origin=np.array(origins, dtype=np.int64))


def test_a_row_descends_from_the_real_row_of_its_origin(real):
    rows = descendants(real, [10, 20, 30, 10])

    assert ancestor_rows(real, rows).tolist() == [1, 2, 0, 1]


@pytest.mark.parametrize("origin", [-1, 5, 15, 99])
def test_a_row_of_no_origin_or_another_tables_has_no_ancestor(real, origin):
    assert ancestor_rows(real, descendants(real, [origin])).tolist() == [-1]


def test_rows_without_origin_do_not_descend_from_one_another(real):
    nameless = descendants(real, [-1, -1])

    assert ancestor_rows(nameless, nameless).tolist() == [-1, -1]


def test_without_real_rows_there_are_no_ancestors(real):
    rows = descendants(real, [10, -1])

    assert ancestor_rows(real.empty(), rows).tolist() == [-1, -1]


def test_no_rows_have_no_ancestors(real):
    assert ancestor_rows(real, real.empty()).shape == (0,)


# ---- Scale: numbers in deviations of the fitted rows.


def test_numbers_are_measured_in_deviations_of_the_fitted_rows():
    scale = NumberScale.of(np.array([[1.0], [3.0]]))

    assert scale.standardise(np.array([[4.0]])).tolist() == [[2.0]]
    assert scale.deviation.tolist() == [1.0]


def test_holes_stay_holes_and_do_not_count():
    numbers = np.array([[1.0], [np.nan], [3.0]])

    found = NumberScale.of(numbers).standardise(numbers)

    np.testing.assert_array_equal(found, [[-1.0], [np.nan], [1.0]])


@pytest.mark.parametrize("value", [0.1, 0.0, 1e300])
def test_a_column_without_spread_is_always_zero(value):
    # The computed mean of many 0.1 differs from 0.1 by rounding.
    scale = NumberScale.of(np.full((997, 1), value))

    assert scale.deviation.tolist() == [0.0]
    assert scale.standardise(np.array([[value], [5.0]])).tolist() == [[0.0], [0.0]]


def test_a_column_of_holes_has_no_spread():
    scale = NumberScale.of(np.full((3, 1), np.nan))

    assert scale.deviation.tolist() == [0.0]


@pytest.mark.parametrize("size", [1e-300, 1e308])
def test_numbers_of_any_size_are_standardised_alike(size):
    numbers = size * np.array([[-1.0], [1.0]])

    found = NumberScale.of(numbers).standardise(numbers)

    assert found == pytest.approx(np.array([[-1.0], [1.0]]))
