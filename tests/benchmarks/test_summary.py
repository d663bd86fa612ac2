import numpy as np
import pytest
from summary import (
    column_name,
    gain_table,
    mean_and_error,
    paired_gains,
    score_table,
    summarise,
)


def cells_of(line):
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_the_error_of_a_mean_is_over_its_values():
    mean, error = mean_and_error([1.0, 3.0])

    assert mean == 2.0
    assert error == pytest.approx(1.0)  # deviation sqrt(2), two values


def test_one_value_has_no_error():
    mean, error = mean_and_error([4.0])

    assert mean == 4.0
    assert np.isnan(error)


def test_gains_pair_equal_splits_and_leave_out_what_has_no_partner(make_record):
    records = [
        make_record("all redrawn", 0.6, split=0),
        make_record("all redrawn", 0.9, split=1),
        make_record("jitter", 0.7, split=1),
        make_record("jitter", 0.5, split=2),
        make_record("jitter", 0.1, split=0, seed=1),
    ]

    gains = paired_gains(records, "all redrawn", "jitter", "accuracy")

    assert gains == pytest.approx([20.0])


def test_a_smaller_rmse_is_a_gain(make_record):
    records = [
        make_record("all redrawn", 0.8, metric="rmse"),
        make_record("jitter", 1.0, metric="rmse"),
    ]

    assert paired_gains(records, "all redrawn", "jitter", "rmse") == pytest.approx([20])


def test_settings_make_a_column_of_their_own(make_record):
    given = make_record("all redrawn", 0.5, config={"width": 8, "clip": (0.1, 0.9)})
    stored = make_record("all redrawn", 0.5, config={"clip": [0.1, 0.9], "width": 8})

    assert column_name(given) == "all redrawn clip=[0.1, 0.9] width=8"
    assert column_name(stored) == column_name(given)


def test_scores_are_averaged_over_splits_then_over_classification_tables(make_record):
    records = [
        make_record("jitter", 0.4, table="credit-g"),
        make_record("real", 0.2, table="credit-g", split=0),
        make_record("real", 0.4, table="credit-g", split=1),
        make_record("real", 0.5, table="MiceProtein"),
        make_record("real", 1.25, table="insurance", metric="rmse"),
    ]

    header, _, *lines = score_table(records).splitlines()

    assert cells_of(header) == ["", "real", "jitter"]
    assert [cells_of(line) for line in lines] == [
        ["MiceProtein", "50.0", "-"],
        ["credit-g", "30.0", "40.0"],
        ["insurance (RMSE)", "1.250", "-"],
        ["mean of accuracies", "40.0", "-"],
    ]


def test_gains_over_each_rival_carry_their_error_and_number_of_cells(make_record):
    records = [
        make_record("all redrawn", 0.6, split=0),
        make_record("all redrawn", 0.8, split=1),
        make_record("jitter", 0.5, split=0),
        make_record("jitter", 0.5, split=1),
        make_record("smote", 0.7, split=0),
    ]

    line = gain_table(records).splitlines()[-1]

    assert cells_of(line) == [
        *("all redrawn", "points", "-", "+20.0 ± 10.0", "-10.0", "2"),
    ]


def test_the_summary_has_a_part_for_each_number_of_real_rows(make_record):
    records = [make_record("real", 0.5, n_real=50), make_record("real", 0.4, n_real=20)]

    text = summarise(records)

    assert text.index("n_real = 20") < text.index("n_real = 50")
