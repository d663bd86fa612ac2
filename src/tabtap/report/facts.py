"""Who judged, by what rule, and what learners and targets are called on the page."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from tabtap import wording as say
from tabtap.domain import Certificate
from tabtap.report.words import short_name
from tabtap.result import AugmentResult
from tabtap.result.frames import condition_names
from tabtap.result.why import n_given

_LEARNERS = {
    "linear": "Linear model",
    "neighbors": "Nearest neighbours",
    "forest": "Random forest",
    "boosting": "Boosted trees",
}

PANEL = "panel"
"""What the default referee is called."""


def is_per_row(result: AugmentResult, certificate: Certificate) -> bool:
    """Tell evidence of one score per real row from one per fold."""
    scores = certificate.evidence
    wanted = n_given(result)
    return all(len(scores.get(part, ())) == wanted for part in ("real", "after"))


def who_judged(result: AugmentResult, certificate: Certificate) -> str:
    """Return who was asked, in words that fit into a sentence."""
    if certificate.protocol == "paper":
        return certificate.scorer
    referee = result.about.referee or certificate.scorer
    return "the usual learners" if referee == PANEL else referee


def is_panel(result: AugmentResult) -> bool:
    """Tell the default referee from the user's own."""
    return result.about.referee == PANEL


def learner_name(learner: str) -> str:
    """Return a learner's name in full."""
    return _LEARNERS.get(learner, learner)


def target_names(result: AugmentResult) -> list[str]:
    """Return what each class or target range is called, in their order."""
    target = result.real.schema.target
    if target is None or target.task == "classification" or not target.edges:
        return [short_name(label) for label in condition_names(result.real.schema)]
    edges = say.marks(target.edges)
    inner = [f"{low} to {high}" for low, high in pairwise(edges)]
    return [f"up to {edges[0]}", *inner, f"above {edges[-1]}"]


def target_titles(result: AugmentResult) -> list[str]:
    """Return the same for a title: whose rows they are."""
    target = result.real.schema.target
    if target is None:
        return ["rows of any kind"]
    column = short_name(target.column.name)
    return [f"rows whose {column} is {name}" for name in target_names(result)]


def is_paper(result: AugmentResult) -> bool:
    """Tell whether pools were judged by the paper's rule."""
    said = setting(result, "augment", "commit", "protocol")
    return said == "paper" or any(c.protocol == "paper" for c in result.certificates)


def setting(result: AugmentResult, *path: str) -> Any:  # noqa: ANN401  any setting
    """Return one of the run's settings; None where the record does not hold it."""
    found: Any = result.about.settings
    for part in path:
        if not isinstance(found, Mapping) or part not in found:
            return None
        found = found[part]
    return found
