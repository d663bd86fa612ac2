"""Equation 47: the worst drop of accuracy from the default, over a grid of values."""

import pandas as pd
import pytest

from tabtap.study.sensitivity import worst_drop, worst_drops


def test_the_worst_drop_is_the_largest_over_the_grid():
    assert worst_drop(0.80, [0.79, 0.75, 0.81]) == pytest.approx(0.05)


def test_a_default_that_is_never_best_has_a_negative_worst_drop():
    assert worst_drop(0.80, [0.82, 0.81]) == pytest.approx(-0.01)


def test_it_is_taken_of_means_over_splits_for_each_table_and_setting():
    lines = [
        ("credit-g", 50, split, name, score)
        for name, scores in {
            "default": (0.7, 0.9),
            "K=1": (0.9, 0.5),  # 0.1 below on average, though 0.2 above in one split
            "K=50": (0.8, 0.8),
            "tau=0.2": (0.1, 0.1),
        }.items()
        for split, score in enumerate(scores)
    ]
    columns = ["dataset", "n_real", "split", "method", "score"]
    frame = pd.DataFrame(lines, columns=columns)

    drops = worst_drops(frame, "K")

    assert drops.to_list() == pytest.approx([0.1])
    assert worst_drops(frame, "tau").to_list() == pytest.approx([0.7])
