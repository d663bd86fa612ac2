"""Certificates as JSON that any program reads."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tabtap.domain import Certificate
from tabtap.domain.written import certificate_to_json


def certificates_for_people(
    certificates: Sequence[Certificate], forgotten: Sequence[int]
) -> dict[str, Any]:
    """Return all certificates with their evidence; null where a number is not one."""
    said = "the table that the run was given"
    if forgotten:
        said += ", before these real rows and their descendants were removed"
    return {
        "describes": said,
        "forgotten_rows": list(forgotten),
        "certificates": [_finite(_shown(c)) for c in certificates],
    }


def _shown(certificate: Certificate) -> dict[str, Any]:
    plain = certificate_to_json(certificate)
    for name in ("over_incumbent", "over_real"):
        bound = getattr(certificate, name)
        if bound is not None:
            plain[name]["lower"] = bound.lower
    for name in ("learners_before", "learners_after"):
        plain[name] = dict(getattr(certificate, name))
    plain["evidence"] = {
        name: np.asarray(scores).tolist()
        for name, scores in certificate.evidence.items()
    }
    return plain


def _finite(value: Any) -> Any:  # noqa: ANN401 - anything JSON can hold
    if isinstance(value, dict):
        return {key: _finite(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_finite(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
