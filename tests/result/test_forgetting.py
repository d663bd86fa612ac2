import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from tabtap.domain import Candidates
from tabtap.errors import UserInputError
from tabtap.loop import Stop
from tabtap.result import AugmentResult, RunAbout
from tabtap.table import read_frame, write_frame


def test_a_row_goes_with_all_that_descends_from_it_and_nothing_else(result, frame):
    parent = int(result.parent_indices[0])

    less = result.forget(parent)

    assert write_frame(less.real, index=less.index).equals(
        frame.drop(index=frame.index[parent])
    )
    kept = result.parent_indices != parent
    assert less.provenance["anchor_row"].tolist() == (
        result.parent_indices[kept].tolist()
    )
    assert less.delivered.step.tolist() == result.delivered.step[kept].tolist()
    assert len(result.real) == 12  # the old result is what it was


def test_parents_and_groups_still_fit_the_rows_that_stay(make_result, classes):
    mice = np.array(["ann", "bob", "cat"] * 4)
    result = make_result(classes, groups=mice, gain=0.03)

    less = result.forget([0, 1])

    assert less.groups[:10].tolist() == mice[2:].tolist()
    own = less.real.origin[less.parent_indices]
    assert own.tolist() == less.delivered.rows.origin.tolist()
    assert less.groups[10:].tolist() == mice[own].tolist()
    assert len(less.augmented()[0]) == len(less.groups) == len(less.synthetic_mask)


def test_numbers_stay_those_of_the_table_that_was_given(result):
    once = result.forget(0)
    twice = once.forget(np.array([5, 11]))

    assert once.real.origin[0] == 1
    assert twice.forgotten == (0, 5, 11)
    assert twice.real.origin.tolist() == [1, 2, 3, 4, 6, 7, 8, 9, 10]
    assert twice.n_removed == len(result.delivered) - len(twice.delivered)


def test_certificates_stay_and_say_what_they_describe(result):
    less = result.forget(3)

    shown = json.loads(less.certificates_json())

    assert shown["forgotten_rows"] == [3]
    assert shown["describes"].endswith("and their descendants were removed")
    assert less.certificates == result.certificates
    assert less.about.notes[:-1] == result.about.notes
    assert less.about.notes[-1].startswith("Real row 3 and ")
    assert "may have learned from what was removed" in less.about.notes[-1]


def test_forgetting_every_ancestor_leaves_nothing_to_add(result):
    less = result.forget(sorted(set(result.parent_indices.tolist())))

    assert less.verdict == "no_gain"
    assert "9 synthetic rows were added" in less.why
    assert len(less.synthetic) == 0


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (12, r"no real row 12: the table had 12 rows\. Pass a place from 0 to 11"),
        (-1, "no real row -1"),
        ([0, 40], "no real row 40"),
        ("row 3", "row='row 3' is not usable"),
        (1.5, r"row=1\.5 is not usable"),
        (True, "row=True is not usable"),
        ([], "No row was given"),
        (range(12), "all of the real rows"),
    ],
)
def test_what_is_no_row_is_refused_with_the_way_out(result, row, said):
    with pytest.raises(UserInputError, match=said):
        result.forget(row)


def test_a_row_is_forgotten_only_once(result):
    with pytest.raises(UserInputError, match="row 4 was forgotten already"):
        result.forget(4).forget([3, 4])


def test_a_target_asked_for_that_nobody_has_any_more_becomes_the_rows_own():
    frame = pd.DataFrame({"x": np.arange(12.0), "y": list("aaaaaabbbbbc")})
    real = read_frame(frame, "y")
    rows = real.take(np.array([0, 6]))
    taught = Candidates(rows, rows.missing < 0, np.zeros(2, np.int64))
    taught = replace(taught, asked=np.array([2, 0], rows.target.dtype))  # c, a
    result = AugmentResult(
        real=real,
        delivered=taught,
        stop=Stop.BUDGET,
        about=RunAbout(seed=0, budget=2, settings={}, teacher="stack"),
    )

    left = result.forget(11)  # the only c

    assert left.provenance["target"].tolist() == ["a", "b"]
    assert left.provenance["asked_target"].tolist() == ["a", "a"]
