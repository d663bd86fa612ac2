"""Which evaluators there are by name, and the best at hand and licensed, and why.

Nothing is fetched here.  What is absent is said, with the way to get it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from tabtap.errors import EvaluatorFallbackWarning, UserInputError, bad_setting
from tabtap.evaluate.evaluators import (
    EnsembleEvaluator,
    EstimatorEvaluator,
    HoldoutEvaluator,
    PanelEvaluator,
)
from tabtap.stages import Evaluator
from tabtap.table.schema import Task

if TYPE_CHECKING:
    from tabtap.evaluate.in_context import Version


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
        candidate = _find_by_name(CANDIDATES, choice, task, role)
        why = f"{candidate.name}: asked for by name."
        return ChosenEvaluator(candidate.make(n_jobs), why)
    return pick(CANDIDATES, task=task, license_policy=license_policy, n_jobs=n_jobs)


def pick(
    candidates: Sequence[KnownEvaluator],
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


def _find_by_name(
    candidates: Sequence[KnownEvaluator], name: object, task: Task, role: str
) -> KnownEvaluator:
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


# ---- The evaluators that can be asked for by name: what each needs, and why it is
# chosen.
#
# Those that need torch or an optional package are imported when they are chosen or
# their turn comes to be looked for.


BOTH: tuple[Task, ...] = ("classification", "regression")


@dataclass(frozen=True, slots=True)
class KnownEvaluator:
    """One evaluator that can be asked for by name."""

    name: str

    make: Callable[[int], Evaluator]
    """Makes it, given the number of fits at a time."""

    reason: str
    """Why it is chosen, as the end of a sentence."""

    tasks: tuple[Task, ...] = BOTH

    is_open: bool = True
    """Whether its weights, if any, may be used for every purpose."""

    absent: Callable[[Task], str | None] = lambda _: None
    """Says what is missing and the way to get it; None if it can be used."""

    automatic: tuple[Task, ...] = BOTH
    """Tasks for which ``"auto"`` may choose it."""


def _tabpfn_v1(n_jobs: int) -> Evaluator:  # noqa: ARG001  it fits nothing
    from tabtap.evaluate.tabpfn_v1 import TabPFNv1

    return TabPFNv1()


def _tabpfn_v1_absent(task: Task) -> str | None:  # noqa: ARG001  it does only one
    from tabtap.evaluate.weights import weights_path

    if weights_path("tabpfn-v1") is not None:
        return None
    return (
        "its weights are not on this machine. Fetch them once (98 MB): "
        "tabtap.evaluate.weights.fetch_weights('tabpfn-v1')."
    )


def _tabpfn(version: Version, n_jobs: int) -> Evaluator:  # noqa: ARG001
    from tabtap.evaluate.in_context import TabPFNPackage

    return TabPFNPackage(version)


def _tabpfn_absent(version: Version, task: Task) -> str | None:
    from tabtap.evaluate.in_context import missing_part

    return missing_part(version, task)


def _tabicl(n_jobs: int) -> Evaluator:  # noqa: ARG001
    from tabtap.evaluate.in_context import TabICL

    return TabICL()


def _tabicl_absent(task: Task) -> str | None:
    from tabtap.evaluate.in_context import TabICL

    return TabICL().missing_part(task)


def _closed_tabpfn(version: Version) -> KnownEvaluator:
    return KnownEvaluator(
        f"tabpfn-{version}",
        partial(_tabpfn, version),
        "an in-context model whose weights are not free for every use",
        is_open=False,
        absent=partial(_tabpfn_absent, version),
        # The newest stands for all of them.
        automatic=BOTH if version == "v3.5" else (),
    )


CANDIDATES: tuple[KnownEvaluator, ...] = (
    _closed_tabpfn("v3.5"),
    KnownEvaluator(
        "tabpfn-v1",
        _tabpfn_v1,
        "an in-context model that is strong on few rows and fits nothing",
        tasks=("classification",),
        absent=_tabpfn_v1_absent,
    ),
    KnownEvaluator(
        "tabpfn-v2",
        partial(_tabpfn, "v2"),
        "an in-context model that is strong on few rows (Built with PriorLabs-TabPFN)",
        absent=partial(_tabpfn_absent, "v2"),
        # For labels v1 answers all folds at once, at a fraction of the cost.
        automatic=("regression",),
    ),
    KnownEvaluator(
        "ensemble",
        lambda n_jobs: EnsembleEvaluator(n_jobs),
        "a forest, a linear model and a network, which need no weights",
    ),
    KnownEvaluator(
        "panel",
        lambda n_jobs: PanelEvaluator(n_jobs),
        "learners that people train",
        automatic=(),
    ),
    KnownEvaluator(
        "holdout",
        lambda n_jobs: HoldoutEvaluator(n_jobs),
        "a linear model",
        automatic=(),
    ),
    KnownEvaluator(
        "tabicl",
        _tabicl,
        "an in-context model",
        absent=_tabicl_absent,
        automatic=(),
    ),
    _closed_tabpfn("v3"),
    _closed_tabpfn("v2.6"),
    _closed_tabpfn("v2.5"),
)
"""What can be asked for by name; of those that ``"auto"`` may choose the best first."""
