import pytest

from tabtap.cli.options import (
    beside,
    budget_of,
    column_named,
    mixture_of,
    nearest,
    pairs_of,
    seconds_of,
)
from tabtap.errors import UserInputError


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90), ("90s", 90), ("5m", 300), ("5min", 300), ("1h30m", 5400),
        ("1h 30m", 5400), ("0.5h", 1800), ("2H", 7200), ("1m1s", 61),
    ],
)  # fmt: skip
def test_a_time_is_read_as_people_write_it(text, seconds):
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["", "0", "0s", "soon", "-5", "5m1h", "1d", "m"])
def test_what_is_no_time_is_refused(text):
    with pytest.raises(UserInputError, match="Write 90s, 5m or 1h30m"):
        seconds_of(text)


@pytest.mark.parametrize(("text", "budget"), [("0", 0), ("500", 500), ("AUTO", "auto")])
def test_a_budget_is_a_number_or_auto(text, budget):
    assert budget_of(text) == budget


@pytest.mark.parametrize("text", ["-1", "1.5", "all", ""])
def test_any_other_budget_is_refused(text):
    with pytest.raises(UserInputError, match="--budget"):
        budget_of(text)


def test_a_name_may_hold_an_equal_sign():
    assert pairs_of("--kind", ["a=b=integer"]) == {"a=b": "integer"}


@pytest.mark.parametrize("text", ["a", "=b", "a=", "="])
def test_half_a_pair_is_refused(text):
    with pytest.raises(UserInputError, match="--kind"):
        pairs_of("--kind", [text])


def test_shares_are_given_by_the_labels_of_the_table():
    assert mixture_of("1=0.7,2=0.3", [1, 2]) == {1: 0.7, 2: 0.3}
    assert mixture_of("balanced", [1, 2]) == "balanced"


@pytest.mark.parametrize(
    ("text", "levels", "said"),
    [
        ("yas=1", ["yes", "no"], "Did you mean 'yes'?"),
        ("yes=much", ["yes", "no"], "shares are numbers"),
        ("fair", ["yes", "no"], "real or balanced"),
        ("a=1", [], "real or balanced"),
    ],
)
def test_a_mixture_that_cannot_be_read_is_refused(text, levels, said):
    with pytest.raises(UserInputError, match=said.replace("?", r"\?")):
        mixture_of(text, levels)


def test_a_column_is_found_by_its_text():
    assert column_named("--target", "2020", ["a", 2020]) == 2020
    assert column_named("--target", None, ["a"]) is None


def test_the_nearest_name_is_found_whatever_its_case():
    assert nearest("OUTCOM", ["age", "Outcome"]).startswith("Did you mean 'Outcome'?")
    assert nearest("zzz", ["age"]) == "There are: age."


@pytest.mark.parametrize(
    ("train", "out"),
    [
        ("a.csv", "a.augmented.csv"),
        ("a.csv.gz", "a.augmented.csv.gz"),
        ("v1.2.parquet", "v1.2.augmented.parquet"),
        ("table", "table.augmented"),
        (".csv", ".csv.augmented"),
    ],
)
def test_a_file_beside_another_keeps_its_ending(train, out):
    assert beside(train, "augmented") == out
