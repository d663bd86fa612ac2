"""Groups that may not be harmed, in what is saved and verified."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from tabtap.domain import Bound
from tabtap.result import load_result, verify
from tabtap.table import read_frame

NO_HARM = {"sex": 0.02, "dose": 0.02}


@pytest.fixture
def people():
    n = 36
    frame = pd.DataFrame(
        {
            "dose": np.arange(n) * 0.5,
            "sex": np.where(np.arange(n) % 3 == 0, "f", "m"),
            "ill": ["no", "yes"] * (n // 2),
        }
    )
    return read_frame(frame, "ill")


@pytest.fixture
def guarded(make_result, people):
    return make_result(people, no_harm=NO_HARM, gain=0.03)


def findings(result):
    return [finding.text for finding in verify(result)]


def changed(result, **parts):
    first, *others = result.certificates
    first = replace(first, groups=tuple(replace(g, **parts) for g in first.groups))
    return replace(result, certificates=(first, *others))


def test_what_groups_gain_is_saved_and_found_to_be_true(guarded, tmp_path):
    guarded.save(tmp_path / "r.tap")

    loaded = load_result(tmp_path / "r.tap")

    assert loaded.certificates[0].groups == guarded.certificates[0].groups
    assert len(loaded.certificates[0].groups) == 4
    assert verify(guarded) == verify(loaded) == []


def test_programs_read_the_groups_of_a_certificate(guarded):
    first = json.loads(guarded.certificates_json())["certificates"][0]

    assert [(g["column"], g["value"], g["n_rows"]) for g in first["groups"]] == [
        ("sex", "f", 12),
        ("sex", "m", 24),
        ("dose", "at most 8.5", 18),
        ("dose", "above 8.5", 18),
    ]


def test_an_invented_change_of_a_group_is_found(guarded):
    forged = changed(guarded, change=Bound(0.5, 0.1, 0.95))

    assert findings(forged) == [
        "what the rows do to groups is not what the scores give"
    ]


def test_a_group_that_is_left_out_is_found(guarded):
    first, *others = guarded.certificates
    hidden = replace(first, groups=first.groups[1:])

    assert findings(replace(guarded, certificates=(hidden, *others))) == [
        "what the rows do to groups is not what the scores give"
    ]


def test_groups_that_were_never_asked_about_are_found(guarded):
    none = tuple(replace(c, groups=()) for c in guarded.certificates)

    told = findings(replace(guarded, certificates=none))

    wanted = "the groups that may not be harmed are not those of the settings"
    assert set(told) == {wanted}


def test_a_pool_that_harms_and_was_let_in_is_against_the_rule(guarded):
    settings = guarded.about.settings | {"no_harm": {"sex": 0.02, "dose": 0.02}}
    first, *others = guarded.certificates
    harmed = replace(first.groups[0], change=Bound(-0.2, 0.1, 0.95))
    forged = replace(
        guarded,
        certificates=(replace(first, groups=(harmed, *first.groups[1:])), *others),
        about=replace(guarded.about, settings=settings),
    )

    assert "the pool was committed, against the rule" in findings(forged)


def test_after_forgetting_groups_cannot_be_counted_again(guarded):
    kinds = {finding.kind for finding in verify(guarded.forget(0))}

    assert kinds == {"forgotten"}


def test_a_column_that_is_not_there_is_a_finding_and_no_mistake(guarded):
    about = replace(
        guarded.about,
        settings=guarded.about.settings | {"no_harm": {"height": 0.02}},
    )
    first = changed(guarded, column="height")

    told = findings(replace(first, about=about))

    assert "the groups that may not be harmed are not those of the table" in told
