"""What a run costs, stage by stage, and what is asked of evaluators (Table 7)."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from tabtap.compare.printing import TextTable, as_markdown
from tabtap.compare.store import Cell, Record, Store
from tabtap.domain import Prediction
from tabtap.evaluate.choose import ChosenEvaluator
from tabtap.rivals.ladder import draw_hard_inpainting, draw_one_shot
from tabtap.stages import Evaluator
from tabtap.study.ladder import hard_request
from tabtap.study.runs import plan_cells, prepare, run_tap
from tabtap.study.studies import Study, StudyOptions
from tabtap.study.tables import MISSING, in_paper_order
from tabtap.table.table import Table

STAGES = ("backbone", "global", "hard", "TAP")

PUBLISHED: Mapping[str, tuple[float, float, float, float]] = {
    "MiceProtein": (227.6, 2.1, 436.4, 417.4),
    "credit-g": (380.0, 12.8, 732.8, 562.0),
    "electricity": (214.6, 1.3, 212.4, 202.1),
    "mfeat-fourier": (209.0, 1.8, 603.9, 662.7),
    "steel-plates-fault": (212.5, 1.3, 130.6, 131.1),
    "ailerons": (312.6, 6.3, 1196.5, 756.1),
    "insurance": (264.6, 2.6, 384.9, 405.4),
}
"""Table 7: seconds on an A100 for the backbone and, beside it, for 500 rows."""

SAME_ORDER = 10.0
"""A ratio within it, either way, is the same order of magnitude."""


def plan(options: StudyOptions) -> Iterator[Cell]:
    """Yield a cell for each table and split, at 50 real rows."""
    return plan_cells("cost", options, {"cost": {}})


def measure(cell: Cell, store: Store | None) -> Record:  # noqa: ARG001  no other rows
    """Time the four stages, and count what evaluator and referee are asked."""
    ground = prepare(cell)
    request, n = ground.request, cell.terms.budget
    asked = Counting(request.evaluator.evaluator)
    trained = Counting(request.referee.evaluator)
    counted = replace(
        ground,
        request=replace(
            request,
            evaluator=ChosenEvaluator(asked, request.evaluator.why),
            referee=ChosenEvaluator(trained, request.referee.why),
        ),
    )
    real, whole = ground.part.real, ground.whole
    hard = hard_request(ground)
    seconds = {
        "backbone": ground.seconds,
        "global": _timed(lambda: draw_one_shot(whole, real, n, ground.rng("global"))),
        "hard": _timed(
            lambda: draw_hard_inpainting(whole, hard, n, ground.rng("hard"))
        ),
    }
    run = run_tap(counted)
    config = request.config
    return {
        "stages": {**seconds, "TAP": run.seconds},
        "within": dict(run.stages),
        "run": run.about,
        "forwards": asked.n_contexts,
        "referee_fits": trained.n_contexts,
        "bound": forward_bound(
            ground.lineages.n_folds, run.about["n_steps"], config.commit.window_length
        ),
        "n_folds": ground.lineages.n_folds,
        "evaluator": request.evaluator.evaluator.name,
    }


def forward_bound(n_folds: int, n_steps: int, window_length: int) -> int:
    """Return M (T + ceil(T / K)): forwards as appendix E.4 counts them.

    Examples
    --------
    >>> forward_bound(5, 200, 20)
    1050
    """
    return n_folds * (n_steps + math.ceil(n_steps / window_length))


def _timed(work: Callable[[], Any]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


@dataclass(frozen=True, slots=True, eq=False)
class Counting:
    """An evaluator that is asked as before, and counted."""

    inner: Evaluator
    asked: list[int] = field(default_factory=list)

    @property
    def name(self) -> str:
        """As it was."""
        return self.inner.name

    @property
    def n_contexts(self) -> int:
        """Contexts that were answered from: forward passes, or fits."""
        return sum(self.asked)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  whatever a referee has
        return getattr(self.inner, name)

    def predict(
        self, contexts: Sequence[Table], queries: Sequence[Table]
    ) -> list[Prediction]:
        """Answer, and count the contexts."""
        self.asked.append(len(contexts))
        return self.inner.predict(contexts, queries)


# ---- The page.


def page(records: Sequence[Record]) -> str:
    """Return Table 7, the paper's figures below ours, and forwards by the bound."""
    frame = cost_frame(records)
    ratio = frame["TAP"] / frame["hard"]
    forwards = frame["forwards"] / frame["bound"]
    typical = float(np.exp(np.log(ratio).mean()))
    within = 1 / SAME_ORDER <= typical <= SAME_ORDER
    theirs = [tap / hard for _, _, hard, tap in PUBLISHED.values()]
    said = [
        f"{_verdict(within)} TAP takes as long as hard inpainting to within an order "
        f"of magnitude: {typical:.1f} times as long (geometric mean of {len(ratio)} "
        f"cells, {ratio.min():.1f} to {ratio.max():.1f}); in the paper "
        f"{np.exp(np.mean(np.log(theirs))):.1f} times.",
        f"{_verdict(bool(forwards.max() <= 2.0))} Forwards of the evaluator scale as M "
        f"(T + T / K): there are {forwards.mean():.2f} times as many "
        f"({forwards.min():.2f} to {forwards.max():.2f}); gates and the baseline of "
        "each window ask too.",
    ]
    return "\n\n".join(
        [
            f"Seconds for {_several(frame, 'budget')} rows at "
            f"{_several(frame, 'n_real')} real ones: CPU seconds of one thread here, "
            "which are wall seconds on an idle machine; on an A100 in the paper, for "
            "500 rows at 50. Backbones of our protocol are one for each fold of each "
            "partition and one of all rows, fitted in one batch; the paper's is one.",
            "\n".join(f"- {sentence}" for sentence in said),
            as_markdown(_seconds(frame)),
            as_markdown(_asked(frame)),
        ]
    )


def cost_frame(records: Sequence[Record]) -> pd.DataFrame:
    """Return one row for each cell: seconds by stage, forwards, and their bound."""
    lines = [
        {
            "dataset": record["cell"]["dataset"],
            "n_real": record["cell"]["n_real"],
            "split": record["cell"]["split"],
            "budget": record["cell"]["budget"],
            **record["stages"],
            "rows": record["run"]["n_rows"],
            "steps": record["run"]["n_steps"],
            "windows": record["run"]["n_windows"],
            "forwards": record["forwards"],
            "bound": record["bound"],
            "fits": record["referee_fits"],
            "evaluator": record["evaluator"],
        }
        for record in records
    ]
    return in_paper_order(pd.DataFrame(lines))


def _several(frame: pd.DataFrame, column: str) -> str:
    return " or ".join(str(value) for value in sorted(frame[column].unique()))


def _verdict(found: bool) -> str:  # noqa: FBT001
    return "**Found.**" if found else "**Not found.**"


def _seconds(frame: pd.DataFrame) -> TextTable:
    rows = []
    for table, part in frame.groupby("dataset", sort=False):
        means = part[list(STAGES)].mean()
        rows.append((str(table), *(f"{means[name]:.1f}" for name in STAGES)))
        theirs = PUBLISHED.get(str(table))
        shown = [MISSING] * 4 if theirs is None else [f"{s:.1f}" for s in theirs]
        rows.append(("(paper)", *shown))
    header = ("table", "backbone", "global sampling", "hard inpainting", "TAP")
    return TextTable("Seconds, means over splits", header, tuple(rows))


def _asked(frame: pd.DataFrame) -> TextTable:
    rows = []
    for (table, name), part in frame.groupby(["dataset", "evaluator"], sort=False):
        means = part[["steps", "windows", "rows", "forwards", "bound", "fits"]].mean()
        shown = [f"{value:.0f}" for value in means]
        ratio = f"{means['forwards'] / means['bound']:.2f}"
        rows.append((str(table), str(name), *shown[:5], ratio, shown[5]))
    return TextTable(
        "What evaluator and referee are asked, means over splits",
        (
            *("table", "evaluator", "steps", "windows", "rows", "forwards"),
            *("M (T + T / K)", "ratio", "referee's fits"),
        ),
        tuple(rows),
        n_labels=2,
    )


STUDY = Study(
    name="cost",
    title="What it costs",
    question="Does sequential injection cost much more than drawing rows in one go?",
    paper="Table 7",
    plan=plan,
    measure=measure,
    page=page,
)
