import numpy as np
import pandas as pd
import pytest

from tabtap.errors import BadTableError
from tabtap.table import read_frame
from tabtap.table.suspects import target_copies

CODES = [0, 1, 2, 1] * 5
WORDS = ["no", "yes", "maybe", "yes"] * 5
NUMBERS = (np.arange(20) ** 1.5).tolist()


def copies_of(target, feature, **settings):
    frame = pd.DataFrame({"dose": np.linspace(0, 1, 20), "told": feature})
    return target_copies(read_frame(frame, y=pd.Series(target, name="y"), **settings))


@pytest.mark.parametrize(
    ("target", "feature"),
    [
        (CODES, CODES),
        (CODES, [float(code) for code in CODES]),
        (WORDS, WORDS),
        (WORDS, pd.Categorical(WORDS, categories=["yes", "no", "maybe"])),
        ([code == 1 for code in CODES], [int(code == 1) for code in CODES]),
        (NUMBERS, NUMBERS),
        (list(range(40, 80, 2)), np.arange(40.0, 80, 2)),
    ],
    ids=["codes", "as floats", "words", "categories", "flags", "numbers", "integers"],
)
def test_a_feature_that_equals_the_target_is_found_however_it_is_stored(
    target, feature
):
    assert copies_of(target, feature) == ["told"]


@pytest.mark.parametrize(
    ("target", "feature"),
    [
        (CODES, [*CODES[:-1], 0]),
        (CODES, [code + 1 for code in CODES]),
        (CODES, [*CODES[:-1], None]),
        (WORDS, CODES),
        (WORDS, [word.upper() for word in WORDS]),
        (NUMBERS, [number * 2 for number in NUMBERS]),
        (CODES, pd.to_datetime(CODES)),
        (list(range(20)), list(range(20))),
    ],
    ids=[
        "but for one row",
        "other codes",
        "a hole",
        "codes of words",
        "other words",
        "another unit",
        "times",
        "row numbers, which are not learned",
    ],
)
def test_a_feature_that_only_tells_the_target_is_not_a_copy(target, feature):
    assert copies_of(target, feature) == []


def test_a_table_without_a_target_has_no_copies():
    assert target_copies(read_frame(pd.DataFrame({"a": NUMBERS}))) == []


def test_the_target_left_among_the_features_is_a_problem():
    frame = pd.DataFrame({"dose": np.linspace(0, 1, 20), "sick": WORDS})

    with pytest.raises(BadTableError, match="equals y in every row") as raised:
        read_frame(frame, y=frame["sick"])

    (problem,) = raised.value.problems
    assert problem.column == "sick"
    assert problem.fix == "Drop it: frame.drop(columns=['sick'])"


def test_another_column_of_the_same_name_is_no_problem():
    frame = pd.DataFrame({"dose": np.linspace(0, 1, 20), "sick": CODES})

    table = read_frame(frame, y=pd.Series(WORDS, name="sick"))

    assert [column.name for column in table.schema.features] == ["dose", "sick"]
