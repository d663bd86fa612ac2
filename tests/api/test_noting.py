"""What a user hears of a table before it is learned."""

import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest

from tabtap import TabularAugmenter, augment
from tabtap.errors import ColumnLostWarning, TargetCopyWarning


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "dose": rng.normal(size=40),
            "rate": [f"{i}.5%" for i in range(40)],
            "price": [f"${i},200.50" for i in range(1, 41)],
            "sick": ["no", "yes"] * 20,
        }
    )


def test_lost_columns_are_told_once_each_with_a_cell_and_the_fix(frame):
    with pytest.warns(ColumnLostWarning) as caught:
        result = augment(frame, "sick", budget=0, random_state=0)

    (warning,) = caught
    said = str(warning.message)
    assert said.startswith("2 columns are not learned as what they are:\n  - Column")
    assert "'rate' holds percentages as text, such as '0.5%'" in said
    assert "'price' holds money as text, such as '$1,200.50'" in said
    assert "kinds={'price': 'identifier'}" in said
    assert len(result.about.notes) == 2
    assert all(note in said for note in result.about.notes)


def test_columns_whose_kind_is_named_are_not_told(frame):
    kinds = {"rate": "identifier", "price": "category"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = augment(frame, "sick", budget=0, kinds=kinds, random_state=0)

    assert result.about.notes == ()


def test_the_column_of_groups_is_not_told(frame):
    visits = frame.drop(columns="price")
    augmenter = TabularAugmenter(groups="rate", budget=0, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        augmenter.fit_table(visits, "sick")

    assert augmenter.result_.about.notes == ()


@pytest.mark.parametrize("apart", [True, False], ids=["y apart", "y in the frame"])
def test_a_feature_that_equals_the_target_is_told(frame, apart):
    table = frame[["dose", "sick"]].assign(ill=frame["sick"])
    augmenter = TabularAugmenter(budget=0, random_state=0)
    run = partial(augmenter.fit_table, table, "sick")
    if apart:
        features = table.drop(columns="sick")
        run = partial(augmenter.fit_resample, features, table["sick"])

    with pytest.warns(TargetCopyWarning, match="'ill' equals the target in every row"):
        run()

    (note,) = augmenter.result_.about.notes
    assert note.endswith("kinds={'ill': 'identifier'}.")
