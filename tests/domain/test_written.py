import json
from dataclasses import fields

import numpy as np
import pytest

from tabtap.domain import (
    Action,
    Bound,
    Certificate,
    Feedback,
    LearnerState,
    StepRecord,
    Template,
)
from tabtap.domain.written import (
    certificate_from_json,
    certificate_to_json,
    steps_from_saved,
    steps_to_arrays,
    steps_to_json,
)

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
