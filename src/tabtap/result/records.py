"""Certificates and steps as JSON and arrays, and back.

Reads from: domain, table.  Read by: result.result, files, loading.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabtap.domain import (
    Action,
    Bound,
    Certificate,
    Feedback,
    LearnerState,
    StepRecord,
    Template,
)

Arrays = Mapping[str, NDArray[Any]]

_BOUNDS = ("over_incumbent", "over_real")
_STATE = ("deficit", "uncertainty", "pass_rate", "available")


def certificate_to_json(certificate: Certificate) -> dict[str, Any]:
    """Return everything but the evidence, with NaN and infinity as Python has them."""
    plain = {f.name: getattr(certificate, f.name) for f in fields(Certificate)}
    del plain["evidence"]
    for name in _BOUNDS:
        bound = plain[name]
        plain[name] = bound and {
            "gain": bound.gain, "margin": bound.margin, "confidence": bound.confidence
        }  # fmt: skip
    for name in ("learners_before", "learners_after"):
        plain[name] = dict(plain[name])
    return plain


def certificate_from_json(saved: Mapping[str, Any], evidence: Arrays) -> Certificate:
    """Return the certificate that was saved, with its evidence."""
    bounds = {name: saved[name] and Bound(**saved[name]) for name in _BOUNDS}
    return Certificate(**{**saved, **bounds, "evidence": dict(evidence)})


def certificates_for_people(
    certificates: Sequence[Certificate], forgotten: Sequence[int]
) -> dict[str, Any]:
    """Return all certificates as JSON that any program reads, evidence included."""
    shown = []
    for certificate in certificates:
        plain = certificate_to_json(certificate)
        for name in _BOUNDS:
            bound = getattr(certificate, name)
            if bound is not None:
                plain[name]["lower"] = bound.lower
        plain["evidence"] = {
            name: np.asarray(scores).tolist()
            for name, scores in certificate.evidence.items()
        }
        shown.append(_finite(plain))
    said = "the table that the run was given"
    if forgotten:
        said += ", before these real rows and their descendants were removed"
    return {
        "describes": said,
        "forgotten_rows": list(forgotten),
        "certificates": shown,
    }


def steps_to_json(steps: Sequence[StepRecord]) -> list[dict[str, Any]]:
    """Return everything of the steps but their states."""
    return [
        {
            "step": record.step,
            "window": record.window,
            "target": record.action.target,
            "template": record.action.template.value,
            "exploration": record.action.exploration,
            "raw_exploration": record.action.raw_exploration,
            "n_proposed": record.n_proposed,
            # As pairs, because JSON objects are sorted and gates have an order.
            "refused": [[gate, count] for gate, count in record.refused.items()],
            "n_admitted": record.n_admitted,
            "gain": record.gain,
            "advantage": record.advantage,
            "feedback": record.feedback.value,
            "novelty": record.state.novelty,
        }
        for record in steps
    ]


def steps_to_arrays(steps: Sequence[StepRecord]) -> dict[str, NDArray[Any]]:
    """Return the states of the steps, one row per step; nothing for no steps."""
    if not steps:
        return {}
    return {
        name: np.stack([getattr(record.state, name) for record in steps])
        for name in _STATE
    }


def steps_from_saved(
    saved: Sequence[Mapping[str, Any]], arrays: Arrays
) -> tuple[StepRecord, ...]:
    """Return the steps that were saved."""
    for name in _STATE:
        if saved and len(arrays[name]) != len(saved):
            raise ValueError(f"{len(arrays[name])} states for {len(saved)} steps")
    return tuple(
        _step(part, {name: arrays[name][place] for name in _STATE})
        for place, part in enumerate(saved)
    )


def _step(saved: Mapping[str, Any], state: Arrays) -> StepRecord:
    return StepRecord(
        step=saved["step"],
        window=saved["window"],
        state=LearnerState(
            state["deficit"],
            state["uncertainty"],
            state["pass_rate"],
            saved["novelty"],
            state["available"],
        ),
        action=Action(
            saved["target"],
            Template(saved["template"]),
            saved["exploration"],
            saved["raw_exploration"],
        ),
        n_proposed=saved["n_proposed"],
        refused=dict(saved["refused"]),
        n_admitted=saved["n_admitted"],
        gain=saved["gain"],
        advantage=saved["advantage"],
        feedback=Feedback(saved["feedback"]),
    )


def _finite(value: Any) -> Any:  # noqa: ANN401 - anything JSON can hold
    if isinstance(value, dict):
        return {key: _finite(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_finite(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
