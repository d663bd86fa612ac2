"""Who judged, by what rule, and what learners and targets are called on the page."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from tabtap import wording as say
from tabtap.domain import Alternative, Certificate
from tabtap.domain.judgement import PANEL_MEAN
from tabtap.evaluate.evaluators import BOOSTERS, PANEL
from tabtap.report.words import short_name
from tabtap.result import AugmentResult
from tabtap.result.frames import condition_names
from tabtap.result.why import OWN, metric_name, task_name

_LEARNERS = {
    "linear": "Linear model",
    "neighbors": "Nearest neighbours",
    "forest": "Random forest",
    "boosting": "Boosted trees",
    "small_leaves": "Boosted trees, small leaves",
    "network": "Small neural network",
    "lightgbm": "LightGBM",
    "xgboost": "XGBoost",
    "panel": "Mean of the learners",
}
_LINEAR = {"classification": "Logistic regression", "regression": "Ridge regression"}

BEST = "best"
"""What the default referee is called: whichever learner does best."""

WITH_ROWS = " with new rows"
"""How the name of an alternative ends that trains on the bigger table."""

KNOWN = (*PANEL, *BOOSTERS)
"""Learners that can be asked for by name."""


def who_judged(result: AugmentResult, certificate: Certificate) -> str:
    """Return whom the promise is about, in words that fit into a sentence."""
    if certificate.protocol == "paper":
        return certificate.scorer
    if certificate.learner:
        return say.learner_words(certificate.learner, task_name(result))
    # An older result, of the mean of a panel or of one learner.
    referee = result.about.referee or certificate.scorer
    return say.learner_words(referee, task_name(result))


def is_mean(result: AugmentResult) -> bool:
    """Tell whether the promise is about the mean of the learners."""
    return result.about.referee == PANEL_MEAN


def is_named(result: AugmentResult) -> bool:
    """Tell whether the user named the learner that will be trained."""
    return result.about.referee not in ("", BEST, PANEL_MEAN)


def learner_name(learner: str, task: str = "") -> str:
    """Return a learner's name in full, as a title.

    Examples
    --------
    >>> learner_name("linear", "regression"), learner_name("MyForest")
    ('Ridge regression', 'MyForest')
    """
    if learner == "linear" and task in _LINEAR:
        return _LINEAR[task]
    return _LEARNERS.get(learner, learner)


def first_enough(result: AugmentResult) -> Alternative | None:
    """Return the cheapest thing to do that nothing is shown to beat, if any."""
    return next((a for a in result.advice if a.is_enough and a.value), None)


def with_rows_option(result: AugmentResult) -> Alternative | None:
    """Return training on the bigger table as one of the ways to go, if it is one."""
    return next((a for a in result.advice if a.name.endswith(WITH_ROWS)), None)


def cheaper_ways(result: AugmentResult) -> list[Alternative]:
    """Return what is enough and needs no new rows, if anything comes before those."""
    first = first_enough(result)
    if first is None or first.name.endswith(WITH_ROWS):
        return []
    is_setting = [
        a for a in result.advice if a.is_enough and a.value and _is_setting(a)
    ]
    return [first, *(option for option in is_setting if option is not first)]


def _is_setting(option: Alternative) -> bool:
    """Tell a setting of the user's own learner from another learner."""
    return "=" in option.name or option.name == "small_leaves alone"


def unnamed_words() -> str:
    """Say that no learner was named, and which names there are."""
    return (
        "No learner was named, so the answer is about the best of a fixed panel. Who "
        "knows what will be trained should name it (learner=, or --learner). Known "
        f"names: {', '.join(KNOWN)}; or pass a learner of your own."
    )


def worth_words(result: AugmentResult, least: float) -> str:
    """Say from what size on a gain is worth having, as the end of a condition."""
    figures = [figure for c in result.certificates for figure in c.figures]
    if metric_name(result) != OWN or not figures:
        return f"the estimated gain is at least {least:g}"
    target = result.real.schema.target
    if target is not None and target.task == "regression":
        return f"the RMSE is estimated to fall by {100 * least:g}{say.THIN}% or more"
    points = "point" if least == 0.01 else "points"
    return f"accuracy is estimated to gain {100 * least:g} {points} or more"


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
