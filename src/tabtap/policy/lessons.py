"""Labelled actions that a policy learns from, as arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tabtap.domain import TEMPLATES, Action, Experience, Feedback, LearnerState

Arrays = Mapping[str, NDArray[Any]]


def labelled(experience: Sequence[Experience]) -> tuple[Experience, ...]:
    """Return what has feedback; the rest is too small to learn from."""
    return tuple(e for e in experience if e.feedback is not Feedback.NONE)


def state_matrix(states: Sequence[LearnerState]) -> Tensor:
    """Return what a network reads of some states, one in each row."""
    return torch.from_numpy(np.stack([state.vector() for state in states]))


def experience_arrays(experience: Sequence[Experience]) -> dict[str, NDArray[Any]]:
    """Return arrays from which ``experience_of`` makes the same experiences."""
    if not experience:
        return {}
    states = [e.state for e in experience]
    actions = [e.action for e in experience]
    numbers = [[a.exploration, a.raw_exploration] for a in actions]
    codes = [[a.target, TEMPLATES.index(a.template)] for a in actions]
    return {
        "deficit": np.stack([state.deficit for state in states]),
        "uncertainty": np.stack([state.uncertainty for state in states]),
        "pass_rate": np.stack([state.pass_rate for state in states]),
        "novelty": np.array([state.novelty for state in states]),
        "available": np.stack([state.available for state in states]),
        "exploration": np.array(numbers),
        "action": np.array(codes, dtype=np.int64),
        "feedback": np.array([int(e.feedback) for e in experience], dtype=np.int64),
    }


def experience_of(arrays: Arrays) -> tuple[Experience, ...]:
    """Return the experiences that ``experience_arrays`` wrote down."""
    return tuple(_one(arrays, row) for row in range(len(arrays.get("feedback", ()))))


def _one(arrays: Arrays, row: int) -> Experience:
    state = LearnerState(
        deficit=arrays["deficit"][row],
        uncertainty=arrays["uncertainty"][row],
        pass_rate=arrays["pass_rate"][row],
        novelty=float(arrays["novelty"][row]),
        available=arrays["available"][row],
    )
    target, template = (int(code) for code in arrays["action"][row])
    clamped, raw = (float(value) for value in arrays["exploration"][row])
    action = Action(target, TEMPLATES[template], clamped, raw)
    return Experience(state, action, Feedback(int(arrays["feedback"][row])))
