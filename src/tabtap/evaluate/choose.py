"""Which evaluator to use: the best that is at hand and licensed, and why.

Nothing is fetched here.  What is absent is said, with the way to get it.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tabtap.errors import EvaluatorFallbackWarning, UserInputError, bad_setting
from tabtap.evaluate.candidates import CANDIDATES, Candidate
from tabtap.evaluate.estimator import EstimatorEvaluator
from tabtap.stages import Evaluator
from tabtap.table.schema import Task

LicensePolicy = Literal["open", "any"]


@dataclass(frozen=True, slots=True)
class ChosenEvaluator:
    """An evaluator and the sentence that says why it is this one."""

    evaluator: Evaluator
    why: str


def choose_evaluator(
    choice: str | Any = "auto",  # noqa: ANN401  an estimator or evaluator of any class
    *,
    task: Task,
    license_policy: LicensePolicy = "open",
    n_jobs: int = 1,
    role: str = "evaluator",
) -> ChosenEvaluator:
    """Return the evaluator asked for, or the best one at hand.

    Parameters
    ----------
    choice : str, estimator or Evaluator, default="auto"
        ``"auto"``, a name, a scikit-learn estimator, or an evaluator of one's own.
    task : {"classification", "regression"}
        What the table asks for.
    license_policy : {"open", "any"}, default="open"
        Whether ``"auto"`` may choose weights that are not free for every use, such as
        those of TabPFN after v2.  Asked for by name, they are used under either.
    n_jobs : int, default=1
        Fits at a time, for evaluators that fit.
    role : str, default="evaluator"
        The setting that the choice was passed as, for messages.

    Returns
    -------
    ChosenEvaluator
        The evaluator, and why.

    Raises
    ------
    UserInputError
        If the name is unknown, not for this task, or needs what is not there.

    Warns
    -----
    EvaluatorFallbackWarning
        If ``"auto"`` had to pass over a better one that is not there.

    Examples
    --------
    >>> choose_evaluator("holdout", task="regression").evaluator.name
    'holdout'
    """
    if license_policy not in ("open", "any"):
        raise bad_setting(
            "license_policy", license_policy, "be 'open' or 'any'", "Try 'open'."
        )
    if hasattr(choice, "fit"):
        own = EstimatorEvaluator(choice, n_jobs=n_jobs)
        return ChosenEvaluator(own, f"{own.name}: the learner that was passed.")
    if isinstance(choice, Evaluator):
        return ChosenEvaluator(choice, f"{choice.name}: the evaluator that was passed.")
    if choice != "auto":
        candidate = _named(CANDIDATES, choice, task, role)
        why = f"{candidate.name}: asked for by name."
        return ChosenEvaluator(candidate.make(n_jobs), why)
    return pick(CANDIDATES, task=task, license_policy=license_policy, n_jobs=n_jobs)


def pick(
    candidates: Sequence[Candidate],
    *,
    task: Task,
    license_policy: LicensePolicy,
    n_jobs: int = 1,
) -> ChosenEvaluator:
    """Return the first candidate that can be used; better ones come first."""
    passed_over: list[str] = []
    unlicensed: list[str] = []
    for candidate in candidates:
        if task not in candidate.tasks or task not in candidate.automatic:
            continue
        if license_policy == "open" and not candidate.is_open:
            unlicensed.append(
                f"{candidate.name} is not free for every use; ask for it by name."
            )
            continue
        lacking = candidate.absent(task)
        if lacking is None:
            why = f"{candidate.name}: {candidate.reason}."
            _announce(why, passed_over)
            return ChosenEvaluator(
                candidate.make(n_jobs), " ".join([why, *passed_over, *unlicensed])
            )
        passed_over.append(f"{candidate.name} was passed over: {lacking}")
    raise UserInputError(
        " ".join([f"No evaluator for {task} is at hand.", *passed_over, *unlicensed])
    )


def _announce(why: str, passed_over: list[str]) -> None:
    if passed_over:
        # The caller of choose_evaluator: this function, pick and it lie between.
        warnings.warn(
            " ".join(["Falling back to", why, *passed_over]),
            EvaluatorFallbackWarning,
            stacklevel=4,
        )


def _named(
    candidates: Sequence[Candidate], name: object, task: Task, role: str
) -> Candidate:
    known = {candidate.name: candidate for candidate in candidates}
    if not isinstance(name, str) or name not in known:
        raise bad_setting(
            role,
            name,
            f"be 'auto', {', '.join(map(repr, known))}, a scikit-learn estimator or an "
            "object with a name and predict(contexts, queries)",
            "Try 'auto'.",
        )
    candidate = known[name]
    if task not in candidate.tasks:
        others = [c.name for c in candidates if task in c.tasks]
        raise UserInputError(
            f"{role}={name!r} does {' and '.join(candidate.tasks)}, but the table asks "
            f"for {task}. Choose from {', '.join(others)}."
        )
    if (lacking := candidate.absent(task)) is not None:
        raise UserInputError(f"{role}={name!r} cannot be used: {lacking}")
    return candidate
