import json
from dataclasses import fields

import numpy as np
import pandas as pd
import pytest

from tabtap.archive import strip_prefix
from tabtap.domain import (
    Action,
    Bound,
    Candidates,
    Certificate,
    Feedback,
    LearnerState,
    StepRecord,
    Template,
)
from tabtap.domain.written import (
    candidates_from_arrays,
    candidates_to_arrays,
    certificate_from_json,
    certificate_to_json,
    steps_from_saved,
    steps_to_arrays,
    steps_to_json,
    table_from_arrays,
    table_to_arrays,
)
from tabtap.table import read_frame

# ---- Records: certificates and steps.


NAN, INF = float("nan"), float("inf")


def certificate(**changes):
    given = {
        "window": 3,
        "protocol": "crossfit",
        "scorer": "panel: score",
        "pool_sha256": "ab" * 32,
        "n_rows": 7,
        "n_judged": 35,
        "score_real": 0.1 + 0.2,  # not 0.3
        "score_before": NAN,
        "score_after": 0.7,
        "over_incumbent": Bound(NAN, INF, 0.95),
        "over_real": Bound(1 / 3, 0.1, 0.95),
        "shown": True,
        "look": 2,
        "committed": True,
        "reason": "it helps",
        "evidence": {"real": np.array([0.1, NAN]), "after": np.zeros(2)},
        "learners_before": {"linear": 0.5, "forest": 1 / 7},
        "learners_after": {"linear": 0.25},
    }
    return Certificate(**{**given, **changes})


@pytest.mark.parametrize("over_real", [Bound(1 / 3, 0.1, 0.95), None])
def test_a_certificate_comes_back_through_json_with_every_bit(over_real):
    before = certificate(over_real=over_real)

    text = json.dumps(certificate_to_json(before), sort_keys=True)
    after = certificate_from_json(json.loads(text), before.evidence)

    for field in fields(Certificate):
        assert repr(getattr(after, field.name)) == repr(getattr(before, field.name))


def step(number, gain):
    state = LearnerState(
        deficit=np.array([0.1, -0.1]) * number,
        uncertainty=np.array([0.2, 1 / 3]),
        pass_rate=np.array([0.5, 0.6]),
        novelty=1 / 7,
        available=np.array([True, False]),
    )
    return StepRecord(
        step=number,
        window=1,
        state=state,
        action=Action(1, Template.CONSERVATIVE, 1.0, 1.2345678901234567),
        n_proposed=10,
        refused={"types": 2, "range": 0, "diversity": 1},
        n_admitted=7,
        gain=gain,
        advantage=-gain,
        feedback=Feedback.UNDESIRABLE,
    )


def test_steps_come_back_through_json_and_arrays_with_every_bit():
    steps = [step(0, 0.1), step(1, NAN)]

    text = json.dumps(steps_to_json(steps), sort_keys=True)
    again = steps_from_saved(json.loads(text), steps_to_arrays(steps))

    for before, after in zip(steps, again, strict=True):
        for field in fields(StepRecord):
            if field.name != "state":
                assert repr(getattr(after, field.name)) == repr(
                    getattr(before, field.name)
                )
        for field in fields(LearnerState):
            assert repr(getattr(after.state, field.name)) == repr(
                getattr(before.state, field.name)
            )


def test_no_steps_need_no_arrays():
    assert steps_from_saved(steps_to_json([]), steps_to_arrays([])) == ()


def test_states_of_another_number_of_steps_are_refused():
    steps = [step(0, 0.1), step(1, 0.2)]

    with pytest.raises(ValueError, match="2 states for 1 steps"):
        steps_from_saved(steps_to_json(steps[:1]), steps_to_arrays(steps))


# ---- Rows: tables and candidates.


@pytest.fixture(scope="module")
def table():
    """Give a column of every storage: floats, 64-bit integers, times, codes, holes."""
    n_rows = 24
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "dose": rng.normal(size=n_rows),
            "big": 2**62 + rng.integers(0, 1000, n_rows),
            "when": pd.Timestamp("2024-01-01", tz="UTC")
            + pd.to_timedelta(rng.integers(0, 10**9, n_rows), unit="us"),
            "colour": rng.choice(["red", "green"], n_rows),
            "label": np.resize(["ill", "well"], n_rows),
        }
    )
    frame.loc[3, "colour"] = None
    frame.loc[5, "dose"] = np.nan
    return read_frame(frame, "label")


def content(table):
    rest = table.missing, table.target, table.origin, table.unseen_fold
    return [(a.dtype.str, a.shape, a.tobytes()) for a in (*table.cells, *rest)]


@pytest.mark.parametrize("n_rows", [24, 1, 0])
def test_a_table_comes_back_bit_for_bit(table, n_rows):
    rows = table.take(np.arange(n_rows)).with_origin(unseen_fold=2)

    again = table_from_arrays(table.schema, table_to_arrays(rows))

    assert content(again) == content(rows)


def test_candidates_come_back_with_masks_steps_and_scores(table):
    mask = np.random.default_rng(1).random(table.missing.shape) < 0.5
    scores = {"near": np.arange(24.0), "far": np.full(24, np.nan)}
    rows = Candidates(table, mask, np.arange(24), scores)

    again = candidates_from_arrays(table.schema, candidates_to_arrays(rows))

    assert content(again.rows) == content(table)
    assert again.regenerate.tolist() == mask.tolist()
    assert again.step.tolist() == list(range(24))
    assert list(again.scores) == ["far", "near"]  # as ``Candidates.joined`` has them
    assert again.scores["near"].tolist() == scores["near"].tolist()


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("missing", lambda a: a[:, :2]),
        ("origin", lambda a: a[:-1]),
        ("cell0", lambda a: a[:-1]),
        ("cell3", lambda a: a + 7),
        ("target", lambda a: a - 1),
        ("step", lambda a: a[:-1]),
        ("regenerate", lambda a: a[:, :1]),
    ],
)
def test_arrays_that_are_no_rows_are_refused(table, name, change):
    rows = Candidates(table, np.zeros(table.missing.shape, bool), np.zeros(24, int))
    arrays = candidates_to_arrays(rows)

    with pytest.raises(ValueError, match=r"fit|holes|marks|codes"):
        candidates_from_arrays(table.schema, {**arrays, name: change(arrays[name])})


def test_arrays_under_a_prefix_lose_it_and_nothing_else_is_taken():
    arrays = {"b.y": np.ones(1), "b.x": np.zeros(1), "bb.x": np.ones(2), "b": None}

    assert list(strip_prefix("b", arrays)) == ["x", "y"]
