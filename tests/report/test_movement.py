"""What the policy asked for over time, against the trace."""

from dataclasses import replace

import pandas as pd
import pytest

from tabtap.report.blocks import Figure
from tabtap.report.course import movement_section, window_means, window_shares

THIN = "\u202f"


def titles(section):
    return [b.title for b in section.blocks if isinstance(b, Figure)]


def test_shares_and_means_are_those_of_the_trace(good):
    trace = good.trace
    shares = pd.crosstab(trace["window"], trace["target"], normalize="index")
    means = trace.groupby("window")["exploration"].mean()

    assert window_shares(good.steps, 2).tolist() == shares.to_numpy().tolist()
    assert window_means(good.steps).tolist() == pytest.approx(means.to_list())


def test_titles_say_what_moved(good):
    found = [title.replace(THIN, " ") for title in titles(movement_section(good))]

    assert found == [
        "Steps for rows whose state is healthy fell from 75 % in the first window "
        "to 0 % in the last",
        "Later steps redrew more columns: 90 % of the free ones, after 40 %",
    ]


@pytest.mark.parametrize(
    ("updates", "said"),
    [(0, "learns nothing on the way"), (8, "learns from what each step")],
)
def test_it_says_whether_anything_was_learned(good, updates, said):
    settings = {"augment": {"policy": {"updates_per_step": updates}}}
    result = replace(good, about=replace(good.about, settings=settings))

    assert said in movement_section(result).lead


def test_a_target_that_nobody_has_any_more_is_not_drawn(good):
    ill = list(range(16, 24))

    section = movement_section(good.forget(ill))

    assert ">ill<" not in section.blocks[0].svg
    assert ">healthy<" in section.blocks[0].svg
