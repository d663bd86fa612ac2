"""The evaluators that can be asked for by name: what each needs, and why it is chosen.

Those that need torch or an optional package are imported when they are chosen or their
turn comes to be looked for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from tabtap.evaluate.ensemble import EnsembleEvaluator
from tabtap.evaluate.holdout import HoldoutEvaluator
from tabtap.evaluate.panel import PanelEvaluator
from tabtap.stages import Evaluator
from tabtap.table.schema import Task

if TYPE_CHECKING:
    from tabtap.evaluate.tabpfn_package import Version

BOTH: tuple[Task, ...] = ("classification", "regression")


@dataclass(frozen=True, slots=True)
class Candidate:
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
    from tabtap.evaluate.tabpfn_package import TabPFNPackage

    return TabPFNPackage(version)


def _tabpfn_absent(version: Version, task: Task) -> str | None:
    from tabtap.evaluate.tabpfn_package import missing_part

    return missing_part(version, task)


def _tabicl(n_jobs: int) -> Evaluator:  # noqa: ARG001
    from tabtap.evaluate.tabicl import TabICL

    return TabICL()


def _tabicl_absent(task: Task) -> str | None:
    from tabtap.evaluate.tabicl import TabICL

    return TabICL().missing_part(task)


def _closed(version: Version) -> Candidate:
    return Candidate(
        f"tabpfn-{version}",
        partial(_tabpfn, version),
        "an in-context model whose weights are not free for every use",
        is_open=False,
        absent=partial(_tabpfn_absent, version),
        # The newest stands for all of them.
        automatic=BOTH if version == "v3.5" else (),
    )


CANDIDATES: tuple[Candidate, ...] = (
    _closed("v3.5"),
    Candidate(
        "tabpfn-v1",
        _tabpfn_v1,
        "an in-context model that is strong on few rows and fits nothing",
        tasks=("classification",),
        absent=_tabpfn_v1_absent,
    ),
    Candidate(
        "tabpfn-v2",
        partial(_tabpfn, "v2"),
        "an in-context model that is strong on few rows (Built with PriorLabs-TabPFN)",
        absent=partial(_tabpfn_absent, "v2"),
        # For labels v1 answers all folds at once, at a fraction of the cost.
        automatic=("regression",),
    ),
    Candidate(
        "ensemble",
        lambda n_jobs: EnsembleEvaluator(n_jobs),
        "a forest, a linear model and a network, which need no weights",
    ),
    Candidate(
        "panel",
        lambda n_jobs: PanelEvaluator(n_jobs),
        "learners that people train",
        automatic=(),
    ),
    Candidate(
        "holdout",
        lambda n_jobs: HoldoutEvaluator(n_jobs),
        "a linear model",
        automatic=(),
    ),
    Candidate(
        "tabicl",
        _tabicl,
        "an in-context model",
        absent=_tabicl_absent,
        automatic=(),
    ),
    _closed("v3"),
    _closed("v2.6"),
    _closed("v2.5"),
)
"""What can be asked for by name; of those that ``"auto"`` may choose the best first."""
