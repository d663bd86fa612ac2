import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabtap.errors import BadTableError
from tabtap.table import Kind, read_frame
from tabtap.table.kinds import names_an_identifier, read_writing

# ---- Kinds that are inferred from the values.


RNG = np.random.default_rng(0)
WORDS = [f"word{i}" for i in range(60)]
DAYS = pd.date_range("2020-01-01", periods=60)


def kind_of(cells, name="column", **settings):
    frame = pd.DataFrame({name: pd.Series(cells)})
    return read_frame(frame, floor=1, **settings).schema.features[0]


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (RNG.normal(size=60), Kind.CONTINUOUS),
        (RNG.integers(0, 1000, 60), Kind.INTEGER),
        (RNG.permutation(60).astype(float), Kind.INTEGER),
        ([0, 1] * 30, Kind.CATEGORY),
        ([0.0, 1.0] * 30, Kind.CATEGORY),
        ([17, 400], Kind.CATEGORY),
        ([0.5, 1.5] * 30, Kind.CATEGORY),
        (list(range(10)) * 3, Kind.CATEGORY),
        ([1.0, 2.0, 3.0, np.nan] * 5, Kind.CATEGORY),
        (list(range(11)) * 5, Kind.INTEGER),
        (list(range(10)) * 2, Kind.INTEGER),
        ([0.5, 1.5, 2.5] * 20, Kind.CONTINUOUS),
        ([0.0, -0.0, 1.0] * 20, Kind.CONTINUOUS),
        ([2.0**60, 2.0**61, 3.5e20] * 20, Kind.CONTINUOUS),
        ([True, False] * 30, Kind.BOOLEAN),
        (["a", "b", None] * 20, Kind.CATEGORY),
        (pd.Categorical(WORDS), Kind.CATEGORY),
        (DAYS, Kind.DATETIME),
        ([DAYS[0], DAYS[1]] * 30, Kind.CATEGORY),
        (pd.to_timedelta(range(60), unit="h"), Kind.DATETIME),
        ([7] * 60, Kind.CONSTANT),
        (["same"] * 60, Kind.CONSTANT),
        (["same", None] * 30, Kind.CATEGORY),
        (WORDS, Kind.IDENTIFIER),
        (WORDS[:59] + WORDS[:1], Kind.CATEGORY),
        (WORDS[:11], Kind.CATEGORY),
        (range(60), Kind.IDENTIFIER),
        (range(1, 61), Kind.IDENTIFIER),
        (range(1001, 1041), Kind.IDENTIFIER),
        (range(-5, 7), Kind.IDENTIFIER),
        (np.arange(2**64 - 12, 2**64, dtype="uint64"), Kind.IDENTIFIER),
        (range(1001, 1012), Kind.INTEGER),
        (range(1040, 1000, -1), Kind.INTEGER),
        ([1001, 1002, 1004, *range(1005, 1020)], Kind.INTEGER),
        ([-(2**63), *range(20), 2**63 - 1], Kind.INTEGER),
        (range(1990, 2050), Kind.INTEGER),
        (np.arange(60.0), Kind.INTEGER),
        (RNG.choice(10**6, 20, replace=False), Kind.INTEGER),
        (["1", "2", "3"] * 20, Kind.CATEGORY),
        ([f"{i:05}" for i in range(60)], Kind.IDENTIFIER),
    ],
    ids=[
        "floats",
        "many integers",
        "whole floats",
        "0/1 flags",
        "0/1 floats",
        "two integers, however rare",
        "two floats",
        "ten values, three rows each",
        "few whole floats with holes",
        "eleven values",
        "ten values, two rows each",
        "few floats that are not whole",
        "negative zero",
        "whole but too large",
        "bools",
        "strings",
        "declared category, all distinct",
        "dates",
        "two dates",
        "durations",
        "one integer",
        "one string",
        "one string and holes",
        "distinct strings",
        "nearly distinct strings",
        "distinct strings, too few rows to tell",
        "row numbers from 0",
        "row numbers from 1",
        "row numbers from anywhere",
        "row numbers from below zero",
        "row numbers at the end of all numbers",
        "too few to be row numbers",
        "numbers that go down",
        "numbers with a gap",
        "numbers as far apart as can be",
        "years",
        "float row numbers",
        "distinct measurements",
        "few numbers as text",
        "zero-padded codes",
    ],
)
def test_a_kind_is_inferred_by_the_documented_rule(cells, kind):
    assert kind_of(cells).kind is kind


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (RNG.choice(10**6, 20, replace=False), Kind.IDENTIFIER),
        (RNG.choice(10**6, 20, replace=False).astype(float), Kind.IDENTIFIER),
        ([f"{i}" for i in range(100, 120)], Kind.IDENTIFIER),
        (list(range(1000, 1020)) * 2, Kind.CATEGORY),
        (np.linspace(0, 1, 20), Kind.CONTINUOUS),
    ],
    ids=["integers", "whole floats", "digits", "groups of rows", "fractions"],
)
def test_a_name_tells_an_identifier_from_a_number(cells, kind):
    assert kind_of(cells, name="patient_id").kind is kind


@pytest.mark.parametrize(
    ("name", "claim"),
    [
        ("id", True),
        ("ID", True),
        ("customerId", True),
        ("row index", True),
        ("uuid4", True),
        ("Unnamed: 0", True),
        ("covid", False),
        ("width", False),
        ("idle", False),
        (0, False),
    ],
)
def test_names_of_identifiers_are_words_not_letters(name, claim):
    assert names_an_identifier(name) is claim


@pytest.mark.parametrize(
    ("cells", "wanted", "kind", "ordered"),
    [
        ([1, 2, 3] * 20, "integer", Kind.INTEGER, False),
        ([1, 2, 3] * 20, Kind.IDENTIFIER, Kind.IDENTIFIER, False),
        ([0, 1] * 30, "boolean", Kind.BOOLEAN, False),
        (range(60), "integer", Kind.INTEGER, False),
        (["lo", "hi"] * 30, "ordered category", Kind.CATEGORY, True),
        (np.linspace(0, 1, 60), "category", Kind.CATEGORY, True),
        ([1.0, 2.0] * 30, "continuous", Kind.CONTINUOUS, False),
    ],
)
def test_the_user_has_the_last_word(cells, wanted, kind, ordered):
    column = kind_of(cells, kinds={"column": wanted})

    assert (column.kind, column.ordered) == (kind, ordered)


@pytest.mark.parametrize(
    ("cells", "ordered"),
    [
        ([1, 2, 3] * 20, True),
        ([0, 1] * 30, False),
        (["a", "b", "c"] * 20, False),
        (pd.Categorical(["a", "b"] * 30, ordered=True), True),
    ],
    ids=["numbers", "flag", "strings", "declared"],
)
def test_numbers_and_declared_categories_have_an_order(cells, ordered):
    assert kind_of(cells).ordered is ordered


def test_levels_are_sorted_whatever_the_rows():
    assert kind_of(["b", "c", "a"] * 20).levels == ("a", "b", "c")
    assert kind_of([30, 10, 20] * 20).levels == (10, 20, 30)


def test_levels_of_a_category_are_those_seen_and_the_others_are_remembered():
    cells = pd.Categorical(["b", "a"] * 6, categories=["z", "b", "a"])

    column = kind_of(cells)

    assert column.levels == ("b", "a")
    assert column.categories == ("z", "b", "a")


def test_prose_may_be_kept_as_an_identifier():
    prose = [f"a sentence of several words, number {i}" for i in range(20)]

    assert kind_of(prose, kinds={"column": "identifier"}).kind is Kind.IDENTIFIER


WORD = st.text("abcdefghij", min_size=2, max_size=9)
SENTENCE = st.lists(WORD, min_size=4, max_size=9).map(" ".join)
REMARK = st.one_of(WORD, st.lists(WORD, min_size=2, max_size=3).map(" ".join))


@given(
    sentences=st.lists(SENTENCE, min_size=11, max_size=40, unique=True),
    remarks=st.lists(REMARK, min_size=10, max_size=24, unique=True),
    n_again=st.integers(0, 12),
    data=st.data(),
)
def test_comments_short_and_long_are_free_text_though_some_come_back(
    sentences, remarks, n_again, data
):
    # At most four remarks to a sentence, and on average a comment is met twice at most.
    kept = remarks[: 4 * len(sentences)]
    often = [kept[0]] * min(n_again, len(sentences) + len(kept))
    cells = data.draw(st.permutations([*sentences, *kept, *often]))

    with pytest.raises(BadTableError, match=r"looks like free text.*'identifier'"):
        kind_of(cells)

    assert kind_of(cells, kinds={"column": "category"}).kind is Kind.CATEGORY


@given(labels=st.lists(REMARK, min_size=2, max_size=40, unique=True), data=st.data())
def test_labels_of_up_to_three_words_are_never_free_text(labels, data):
    more = data.draw(st.lists(st.sampled_from(labels), min_size=10, max_size=60))

    assert kind_of([*labels, *more]).kind in (Kind.CATEGORY, Kind.IDENTIFIER)


@given(answers=st.lists(SENTENCE, min_size=2, max_size=30, unique=True))
def test_answers_that_come_back_are_a_category_however_long(answers):
    assert kind_of(answers * 4).kind is Kind.CATEGORY


def test_the_example_of_free_text_is_a_sentence():
    cells = ["ok", *(f"much too small for number {i}" for i in range(11))]

    with pytest.raises(BadTableError, match=r"'much too small for number 0' .row 1."):
        kind_of(cells)


def test_the_most_frequent_form_of_a_hole_comes_first():
    cells = pd.Series(["a", None, float("nan"), float("nan")] * 3, dtype=object)

    assert kind_of(cells).markers == ("nan", "none")


# ---- A kind that a column cannot have is refused with the way to make it so.


@pytest.mark.parametrize("kind", ["continuous", "integer"])
def test_percentages_are_told_how_to_become_numbers(kind):
    rates = [f"{i}.5%" for i in range(12)]
    frame = pd.DataFrame({"rate": rates, "dose": range(0, 24, 2)})

    with pytest.raises(BadTableError) as caught:
        read_frame(frame, kinds={"rate": kind})

    said = str(caught.value)
    assert "It holds percentages as text. Convert it: frame['rate'] = " in said
    code = said.partition("frame['rate'] = ")[2].splitlines()[0].strip().rstrip(".")
    made = eval(code, {"frame": frame, "pd": pd})
    assert made.tolist()[:2] == pytest.approx([0.5, 1.5])


def test_dates_with_the_day_first_are_not_read_as_months():
    days = [f"{i + 10}.01.2021" for i in range(12)]
    frame = pd.DataFrame({"since": days, "dose": range(0, 24, 2)})

    with pytest.raises(BadTableError) as caught:
        read_frame(frame, kinds={"since": "datetime"})

    code = str(caught.value).partition("frame['since'] = ")[2].splitlines()[0]
    made = eval(code.strip().rstrip("."), {"frame": frame, "pd": pd})
    assert made.dt.month.unique().tolist() == [1]


# ---- What texts mean to a person, and that the call which is offered reads them.


EURO, NARROW_BLANK = "\u20ac", "\u202f"


def converted(levels):
    """Run the call that is offered, on the strings it is offered for."""
    code = read_writing(levels).code.partition(" (or ")[0].format("frame['c']")
    return eval(code, {"pd": pd, "frame": {"c": pd.Series(levels)}}).tolist()


@pytest.mark.parametrize(
    ("levels", "what", "numbers"),
    [
        (["12.5%", "7 %", "-0.25%"], "percentages", [12.5, 7, -0.25]),
        (["12,5%", "7,25 %"], "percentages", [12.5, 7.25]),
        (["12,500%", "3,250%"], "percentages", [12.5, 3.25]),
        (["12.500%", "3.250%"], "percentages", [12.5, 3.25]),
        (["$1,200.50", "$80", "-$5.00"], "money", [1200.5, 80, -5]),
        (["$1,200", "$2,300"], "money", [1200, 2300]),
        ([f"1.200,50 {EURO}", f"80 {EURO}"], "money", [1200.5, 80]),
        ([f"1.200 {EURO}", f"3.400 {EURO}"], "money", [1200, 3400]),
        (["CHF 1'200.50", "CHF 80"], "money", [1200.5, 80]),
        ([f"1{NARROW_BLANK}200,50 kr", "80 kr"], "money", [1200.5, 80]),
        (["12,5", "7,25", "-3"], "numbers with decimal commas", [12.5, 7.25, -3]),
        (["0,5", "1.200,75"], "numbers with decimal commas", [0.5, 1200.75]),
        (
            ["1,200", "3,450.5"],
            "numbers with commas between thousands",
            [1200, 3450.5],
        ),
        (["1.5", "-2"], "numbers", [1.5, -2]),
    ],
)
def test_numbers_are_told_and_read_however_they_are_written(levels, what, numbers):
    assert read_writing(levels).what == what
    assert converted(levels) == numbers


@pytest.mark.parametrize(
    ("levels", "day"),
    [
        (["31/12/2020", "01/02/2020"], "2020-12-31"),
        (["12/31/2020", "1/2/2020"], "2020-12-31"),
        (["5.4.2020", "3.4.2020"], "2020-04-05"),
        (["31-12-2020", "30-12-2020"], "2020-12-31"),
        (["31/12/20", "30/12/20"], "2020-12-31"),
        (["31.12.2020 10:30", "01.02.2020 08:00"], "2020-12-31 10:30"),
        (["12/31/2020 10:30", "1/13/2020 08:00"], "2020-12-31 10:30"),
        (["2020-12-31", "2020-12-30"], "2020-12-31"),
    ],
)
def test_dates_are_told_and_read_whatever_comes_first(levels, day):
    assert read_writing(levels).what.startswith("dates")
    assert converted(levels)[0] == pd.Timestamp(day)


def test_days_that_may_be_months_are_offered_both_ways():
    doubtful, clear = ["01/02/2020", "03/04/2020"], ["01/02/2020", "13/04/2020"]

    assert read_writing(doubtful).code.endswith("'%d/%m/%Y') (or '%m/%d/%Y')")
    assert read_writing(clear).code.endswith("'%d/%m/%Y')")


@pytest.mark.parametrize(
    ("levels", "time"),
    [
        (["12:30", "9:15"], "12:30:00"),
        (["12:30:15", "09:15:00"], "12:30:15"),
        (["125:30", "9:15"], "125:30:00"),
    ],
)
def test_times_are_told_and_read_as_durations(levels, time):
    assert read_writing(levels).what == "times"
    assert converted(levels)[0] == pd.Timedelta(time)


@pytest.mark.parametrize("noon", ["1:30 PM", "1:30PM", "1:30:00 pm"])
def test_times_of_two_halves_of_a_day_are_read_as_such(noon):
    assert (converted([noon])[0].hour, converted([noon])[0].minute) == (13, 30)


def test_a_few_words_among_numbers_do_not_hide_them():
    levels = ["n/a", *(f"{i}.5%" for i in range(10))]

    found = read_writing(levels)

    assert (found.what, found.example) == ("percentages", "0.5%")
    assert read_writing(["n/a", "none", *levels]) is None


@pytest.mark.parametrize(
    "levels",
    [
        [],
        ["north", "south"],
        ["0123", "0456"],
        ["01,2", "02,5"],
        ["A-12", "B-13"],
        ["ABC 123", "DEF 456"],
        ["555 1234", "555 2345"],
        ["192.168.100.200", "192.168.100.201"],
        ["1.2.10", "1.3.11"],
        ["13/13/2020", "14/14/2020"],
        ["00/10/2020", "10/00/2020"],
        ["12:75", "9:60"],
        ["%", "$"],
    ],
    ids=str,
)
def test_words_and_codes_are_no_numbers(levels):
    assert read_writing(levels) is None
