import re

import numpy as np
import pandas as pd
import pytest

from tabtap.report.wanted import low_regions
from tabtap.table import read_frame


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "amount": np.round(rng.uniform(0, 10_000, 120), 2),
            "purpose": rng.choice(["radio", "car", "house"], 120),
            "noise": rng.normal(size=120),
            "y": np.resize(["a", "b"], 120),
        }
    )


def test_a_region_is_said_in_words(frame):
    low = (frame["amount"] > 4_000) & (frame["purpose"] == "radio")
    scores = np.where(low, 0.2, 0.8) + 0.01 * frame["noise"].to_numpy()

    worst = low_regions(read_frame(frame, "y"), scores)[0]

    border = re.search(r"amount above ([\d.\u202f]+)", worst.words)[1]
    said = frame["amount"] > float(border.replace("\u202f", ""))
    # The words hold for the very rows they are about.
    assert worst.rows.tolist() == (said & (frame["purpose"] == "radio")).tolist()
    assert "purpose is radio" in worst.words
    assert worst.mean == pytest.approx(scores[worst.rows].mean())
    assert (worst.rows == low).mean() > 0.95


def test_the_lowest_region_comes_first_and_none_is_above_the_mean(frame):
    scores = frame["amount"].to_numpy() / 10_000

    found = low_regions(read_frame(frame, "y"), scores)

    assert len(found) == 2
    assert found[0].mean < found[1].mean < scores.mean()


def test_where_nothing_stands_out_nothing_is_said(frame):
    real = read_frame(frame, "y")
    rng = np.random.default_rng(1)

    silent = [not low_regions(real, rng.random(120)) for _ in range(10)]

    assert np.mean(silent) >= 0.8


def test_a_region_of_one_family_is_not_believed(frame):
    # Only one of four families scores low: who it is says nothing of other rows.
    family = np.arange(120) // 30
    odd = frame.assign(amount=family + frame["noise"] / 100)
    scores = np.where(family == 2, 0.1, 0.8)

    found = low_regions(read_frame(odd, "y"), scores, families=family)

    assert low_regions(read_frame(odd, "y"), scores)
    assert found == []


def test_a_hole_may_be_what_rows_have_in_common(frame):
    hole = np.arange(120) % 4 == 0
    holey = frame.assign(amount=frame["amount"].mask(hole))

    found = low_regions(read_frame(holey, "y"), np.where(hole, 0.1, 0.9))

    assert found[0].words == "amount is missing"
    assert found[0].rows.tolist() == hole.tolist()


def test_few_rows_have_no_regions(frame):
    real = read_frame(frame.head(19), "y")

    assert low_regions(real, np.arange(19.0)) == []


def test_dates_and_whole_numbers_are_named_as_they_are(frame):
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(120), unit="D")
    timed = frame.assign(day=days, amount=np.arange(120) * 3 % 91)

    by_day = low_regions(read_frame(timed, "y"), (np.arange(120) < 60) / 2)
    whole = timed.drop(columns="day")
    by_number = low_regions(read_frame(whole, "y"), (whole["amount"] > 45) / 2.0)

    assert by_day[0].words.startswith("day above 2020-02-29")
    assert by_number[0].words.startswith("amount up to 45")
