from dataclasses import replace
from types import SimpleNamespace

import pytest


@pytest.mark.parametrize(
    ("decisions", "n_failures", "in_a_row"),
    [
        ("", 0, 0),
        ("-", 1, 1),
        ("+", 0, 0),
        ("+-", 1, 1),
        ("-+", 1, 0),
        ("-+--", 3, 2),
        ("+-+", 1, 0),
        ("+=", 0, 1),  # shown to beat the real rows, but adding nothing
        ("-.", 1, 2),  # a window without a candidate
    ],
)
def test_failures_are_counted_in_all_and_since_the_last_success(
    make_world, decisions, n_failures, in_a_row
):
    certificates = tuple(
        SimpleNamespace(
            committed=mark == "+", shown=mark in "+=", n_judged=0 if mark == "." else 5
        )
        for mark in decisions
    )

    progress = replace(make_world(1.0).start, certificates=certificates)

    assert progress.window == len(decisions)
    assert progress.n_failures == n_failures
    assert progress.failures_in_a_row == in_a_row
