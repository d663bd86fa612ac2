"""What a result says: which case it is, which check decided, and in what unit.

Everything on the page that depends on the outcome asks here, so that no two sections
tell two stories.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from itertools import pairwise
from typing import Any

import numpy as np

from tabtap import wording as say
from tabtap.domain import Certificate
from tabtap.report.words import short_name
from tabtap.result import AugmentResult, why
from tabtap.result.frames import condition_names


class Case(Enum):
    """What the page has to say."""

    SHOWN = "rows were added, and shown to help"
    PAPER = "rows were added by the paper's rule"
    UNPROVEN = "there are rows, and no record of a check"
    REFUSED = "pools were checked, and none was shown to help"
    BARREN = "no candidate was left to be checked"
    UNCHECKED = "the run ended before its first check"
    UNASKED = "no rows were asked for"
    REMOVED = "all rows that were added have been removed since"


_LEARNERS = {
    "linear": "Linear model",
    "neighbors": "Nearest neighbours",
    "forest": "Random forest",
    "boosting": "Boosted trees",
}

PANEL = "panel"
"""What the default referee is called."""


def case_of(result: AugmentResult) -> Case:
    """Return which case a result is."""
    accepted = [c for c in result.certificates if c.committed]
    if len(result.delivered):
        if not accepted:
            return Case.UNPROVEN
        return Case.PAPER if accepted[-1].over_real is None else Case.SHOWN
    if accepted:
        return Case.REMOVED
    if result.about.budget == 0:
        return Case.UNASKED
    if not result.certificates:
        return Case.UNCHECKED
    return Case.REFUSED if deciding(result) is not None else Case.BARREN


def deciding(result: AugmentResult) -> Certificate | None:
    """Return the check that the verdict rests on.

    The last that was passed, which is about all rows delivered; if none was, the one
    that came nearest.  None if no pool had a row to deliver.
    """
    for certificate in reversed(result.certificates):
        if certificate.committed:
            return certificate
    useful = [c for c in result.certificates if c.n_rows]
    return max(useful, key=_promise) if useful else None


def n_given(result: AugmentResult) -> int:
    """Return how many real rows the run had, before any was forgotten."""
    return len(result.real) + len(result.forgotten)


def n_added(result: AugmentResult) -> int:
    """Return how many rows the run added, before any was forgotten."""
    return len(result.delivered) + result.n_removed


def metric_name(result: AugmentResult) -> str:
    """Return what rows were scored by: ``score``, unless the user named something."""
    return why.metric_name(result.certificates, result.about.referee)


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


def _promise(certificate: Certificate) -> float:
    lower = (certificate.over_real or certificate.over_incumbent).lower
    return -np.inf if np.isnan(lower) else lower
