import numpy as np
import pandas as pd
import pytest

from tabtap.datasets import load_penguins
from tabtap.inspection import inspect, inspect_table
from tabtap.table import read_frame

N = 80


@pytest.fixture
def frame():
    """Two columns that tell a little of the target, and nothing to remark on."""
    rng = np.random.default_rng(0)
    sick = rng.permutation(["yes", "no"] * (N // 2))
    return pd.DataFrame(
        {
            "age": rng.integers(20, 80, N) + 5 * (sick == "yes"),
            "dose": rng.normal(size=N),
            "sick": sick,
        }
    )


def found(frame, target="sick"):
    remarks = inspect_table(read_frame(frame, target))
    return [(remark.topic, remark.column) for remark in remarks]


def test_a_sound_table_gets_no_remarks(frame):
    assert found(frame) == []


def test_the_penguins_are_sound():
    birds = load_penguins().dropna(subset=["sex"])

    assert found(birds, "sex") == []
    assert found(birds, "species") == []


@pytest.mark.parametrize(
    "leak",
    [
        lambda f: f["sick"].map({"yes": "ill", "no": "well"}),
        lambda f: f["sick"].map({"yes": 1, "no": 0}),
        lambda f: np.where(f["sick"] == "yes", 5.0, 1.0) + f["dose"] * 0.01,
        lambda f: f["dose"].where(f["sick"] == "yes"),
    ],
    ids=["other words", "numbers", "a number that tells", "holes that tell"],
)
def test_a_column_that_gives_a_class_away_is_a_leak(frame, leak):
    assert ("leak", "told") in found(frame.assign(told=leak(frame)))


@pytest.mark.parametrize(
    "leak",
    [lambda y: y * 3 - 1, lambda y: -np.exp(y), lambda y: y.round(2)],
    ids=["another unit", "another scale", "rounded"],
)
def test_a_column_that_gives_a_number_away_is_a_leak(leak):
    rng = np.random.default_rng(1)
    cost = rng.normal(size=N)
    noisy = cost + rng.normal(size=N)
    frame = pd.DataFrame({"told": leak(cost), "noisy": noisy, "cost": cost})

    assert found(frame, "cost") == [("leak", "told")]


@pytest.mark.parametrize("unit", [1e-306, 1e300])
def test_a_leak_is_found_in_the_smallest_and_the_largest_numbers(unit):
    cost = np.random.default_rng(1).normal(size=N)
    frame = pd.DataFrame({"told": cost * 3 - 1, "cost": cost * unit})

    assert found(frame, "cost") == [("leak", "told")]


def test_identifiers_constants_and_holes_are_remarked_on(frame):
    odd = frame.assign(
        row_id=[f"r{i}" for i in range(N)],
        ward="north",
        rare=frame["dose"].where(np.arange(N) % 3 == 0),
    )

    assert found(odd) == [
        ("identifier", "row_id"),
        ("constant", "ward"),
        ("missing", "rare"),
        ("computed", "rare"),
    ]


def test_numbers_that_are_lost_as_text_are_remarked_on_unless_declared(frame):
    odd = frame.assign(rate=[f"{i}.5%" for i in range(N)])

    (remark,) = inspect_table(read_frame(odd, "sick"))
    (known,) = inspect_table(read_frame(odd, "sick"), declared={"rate": "identifier"})

    assert (remark.topic, remark.column, remark.setting) == ("lost", "rate", "ignore")
    assert "holds percentages as text, such as '0.5%'" in remark.text
    assert "(--missing rate=TEXT)" in remark.text
    assert known.topic == "identifier"


def test_values_that_come_back_look_like_groups_if_they_name_someone(frame):
    odd = frame.assign(
        mouse=np.arange(N) // 4, visit=np.arange(N) % 15, mouse_weight=np.arange(N) % 20
    )

    assert found(odd) == [("groups", "mouse")]


def test_text_that_goes_with_one_target_looks_like_groups(frame):
    ordered = frame.sort_values("sick", ignore_index=True)
    streets = [f"street {i // 4}" for i in range(N)]

    assert ("groups", "street") in found(ordered.assign(street=streets))


def test_copies_and_rows_that_contradict_each_other_are_counted(frame):
    holed = frame.assign(dose=frame["dose"].where(frame.index > 0))
    copies = pd.concat([holed, holed.head(3)], ignore_index=True)
    torn = frame.assign(
        age=frame["age"].where(frame.index > 1, 30),
        dose=frame["dose"].where(frame.index > 1, 0.5),
        sick=frame["sick"].where(frame.index > 1, pd.Series(["yes", "no"])),
    )

    (copied,) = inspect_table(read_frame(copies, "sick"))
    (differing,) = inspect_table(read_frame(torn, "sick"))

    assert copied.text.startswith("3 rows repeat another row exactly (4 %)")
    assert differing.text.startswith("2 rows are alike in every feature but differ")


def test_rare_and_tiny_classes_are_told_apart(frame):
    labels = frame["sick"].to_numpy(dtype=object).copy()
    labels[:6], labels[6:9] = "maybe", "never"

    remarks = inspect_table(read_frame(frame.assign(sick=labels), "sick"))

    told = {remark.topic: remark.text for remark in remarks}
    assert told["tiny class"].startswith("class 'never' has 3 rows:")
    assert told["imbalance"].startswith("class 'maybe' has 6 rows:")


def test_few_rows_are_remarked_on(frame):
    assert found(frame.head(30)) == [("few rows", None)]


@pytest.mark.parametrize(
    ("text", "noted"),
    [
        ("=1+1", True),
        ("@SUM(A1)", True),
        ("+49 30 1234x", True),
        ("-2+cmd|' /C calc'!A0", True),
        ("\t=1+1", True),
        ("-5", False),
        ("+1,5", False),
        ("-12.5 %", False),
        ("-", False),
        ("=", False),
        ("north=south", False),
        ("-" + " " * 100_000 + "x", True),
    ],
    ids=lambda value: value[:12] if isinstance(value, str) else None,
)
def test_texts_that_a_spreadsheet_would_calculate_are_noted(frame, text, noted):
    frame["place"] = ["north", "south", text, "west"] * (N // 4)

    assert (("formula", "place") in found(frame)) == noted


def test_a_name_that_a_spreadsheet_would_calculate_is_noted(frame):
    frame["=HYPERLINK(1)"] = ["north", "south"] * (N // 2)

    assert ("formula", "=HYPERLINK(1)") in found(frame)


def test_labels_that_a_spreadsheet_would_calculate_are_noted(frame):
    frame["sick"] = frame["sick"].replace({"yes": "=yes"})

    assert ("formula", "sick") in found(frame)


def test_a_formula_among_identifiers_is_noted_and_not_shown(frame):
    frame["id"] = [f"=secret{i}" for i in range(N)]

    remarks = inspect_table(read_frame(frame, "sick"))

    (note,) = [remark.text for remark in remarks if remark.topic == "formula"]
    assert "secret" not in note


@pytest.mark.parametrize("target", ["dose", "sick"])
def test_the_largest_numbers_are_looked_at_like_others(frame, target):
    frame["dose"] = frame["dose"] / frame["dose"].abs().max() * 1.7e308
    frame["copy"] = frame["dose"] / 2

    topics = found(frame, target)

    assert (("leak", "copy") in topics) == (target == "dose")


def test_a_column_that_gives_a_rare_class_away_is_a_leak_among_many_rows(monkeypatch):
    # Of 50 rows drawn blindly from 2,000 none or one would be rare, and tell nothing.
    monkeypatch.setattr(inspect, "MAX_ROWS", 50)
    rng = np.random.default_rng(0)
    sick = np.zeros(2000, dtype=int)
    sick[:20] = 1
    frame = pd.DataFrame({"age": rng.normal(size=2000), "sick": sick})
    frame["refund"] = np.where(sick == 1, rng.normal(9, 1, 2000), rng.normal(size=2000))

    remarks = inspect.leak_remarks(read_frame(frame, "sick", task="classification"))

    assert [remark.column for remark in remarks] == ["refund"]
