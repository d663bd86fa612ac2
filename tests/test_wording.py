import numpy as np
import pytest

from tabtap.wording import date_text, number_text, tick_texts, time_words


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (0.1 + 0.2, "0.3"),
        (-1234.5, "\u22121\u202f234"),
        (99999.9, "100\u202f000"),
        (999999.0, "999\u202f999"),
        (9.999e6, "10·10⁶".replace("10·10⁶", "1·10⁷")),
        (1e-9, "1·10⁻⁹"),
        (float("nan"), "none"),
    ],
)
def test_numbers_are_written_for_people(value, text):
    assert number_text(value) == text


@pytest.mark.parametrize(
    "ticks",
    [[0.0, 0.25, 0.5], [1e15, 1e15 + 200, 1e15 + 400], [1e8, 2e8], [-0.001, 0.0]],
)
def test_ticks_are_told_apart(ticks):
    texts = tick_texts(np.array(ticks))

    assert len(set(texts)) == len(ticks)


def test_a_time_is_written_as_its_date():
    assert date_text(-1.0) == "1969-12-31"
    assert date_text(float("nan")) == "none"


@pytest.mark.parametrize(
    ("seconds", "words"), [(0, "0 s"), (59.6, "1 min 0 s"), (3600, "1 h 0 min")]
)
def test_times_are_said_as_people_say_them(seconds, words):
    assert time_words(seconds) == words
