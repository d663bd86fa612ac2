"""Whether an estimated gain is what comes of it: Table 6, and our own promises.

In the paper's terms: at every commitment check the pooled plug-in gain is compared with
what predictors gain by training again (equation 48), and the error with the bar of
equation 49.  In ours: how often the lower bound that a check states is not above what
the rows turn out to be worth on untouched test rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tabtap.compare.predictors import mean_losses
from tabtap.compare.printing import TextTable, as_markdown
from tabtap.compare.store import Cell, Record, Store
from tabtap.domain import CommitRequest, Decision, Lineages
from tabtap.evaluate.evaluators import PanelEvaluator
from tabtap.evaluate.metric import metric_of
from tabtap.loop import Progress, RunContext
from tabtap.stages import Commitment
from tabtap.study.protocol import Repetition
from tabtap.study.runs import plan_cells, prepare, run_tap
from tabtap.study.sources import SOURCES
from tabtap.study.studies import Study, StudyOptions
from tabtap.study.tables import mean_interval, show_interval
from tabtap.table.table import Table, concat

PRINTED: Mapping[str, tuple[float, float, float]] = {
    "MiceProtein": (92.3, 0.018, 0.025),
    "credit-g": (88.7, 0.021, 0.028),
    "electricity": (94.1, 0.015, 0.022),
    "mfeat-fourier": (90.5, 0.019, 0.024),
    "steel-plates-fault": (93.2, 0.016, 0.021),
    "ailerons": (90.6, 0.034, 0.041),
    "insurance": (84.1, 0.054, 0.068),
}
"""Table 6 of the paper: coverage in percent, mean absolute error, mean bar."""


def plan(options: StudyOptions) -> Iterator[Cell]:
    """Yield runs of the paper's loop and of ours, on every table."""
    for under, name in (
        (replace(options, protocol="paper"), "the paper's loop"),
        (replace(options, protocol="ours"), "ours"),
    ):
        yield from plan_cells("calibration", under, {name: {}}, splits=3)


# ---- What was asked at every check, and what came of it.


@dataclass(frozen=True, slots=True, eq=False)
class WatchedCommitment:
    """Decides as the commitment it wraps, and keeps what was decided about what."""

    inner: Commitment
    seen: list[tuple[CommitRequest, Decision]] = field(default_factory=list)

    def check(self, request: CommitRequest) -> Decision:
        """Let the commitment decide, and remember."""
        decision = self.inner.check(request)
        self.seen.append((request, decision))
        return decision


@dataclass(frozen=True, slots=True)
class Watch:
    """A change of a run that keeps its checks."""

    seen: list[tuple[CommitRequest, Decision]] = field(default_factory=list)

    def __call__(
        self, context: RunContext, progress: Progress
    ) -> tuple[RunContext, Progress]:
        """Put the watched commitment in the place of the run's own."""
        watched = WatchedCommitment(context.stages.commitment, self.seen)
        stages = replace(context.stages, commitment=watched)
        return replace(context, stages=stages), progress


def tables_of(request: CommitRequest, decision: Decision) -> tuple[Table, Table]:
    """Return what would be delivered before a pool is let in, and after."""
    pool = request.pool.take(decision.kept)
    both = concat([request.committed, pool])
    return _delivered(request.lineages, request.committed), _delivered(
        request.lineages, both
    )


def _delivered(lineages: Lineages, rows: Table) -> Table:
    return rows.take(lineages.delivered(rows))


def realised_utility(
    part: Repetition,
    before: Table,
    after: Table,
    queries: Table,
    names: Sequence[str] | None = None,
) -> float:
    """Return by how much rows lower the loss of predictors (equation 48)."""
    losses = []
    for rows in (before, after):
        train = part.training(rows if len(rows) else None)
        (found,) = mean_losses(train, [queries], names, reference=part.real)
        losses.append(np.array(list(found.values())))
    return float(np.mean(losses[0] - losses[1]))


def true_score(part: Repetition, rows: Table) -> float:
    """Return the mean score of the panel on the test rows, trained with some rows."""
    train = part.training(rows if len(rows) else None)
    answer = PanelEvaluator().predict([train], [part.test])[0].in_unit_of(part.real)
    return float(np.mean(metric_of("score").score(answer, part.test)))


def measure(cell: Cell, store: Store | None) -> Record:  # noqa: ARG001  a run of its own
    """Run the loop, and train predictors on both sides of every check."""
    ground = prepare(cell)
    watch = Watch()
    run = run_tap(ground, watch)
    part, names = ground.part, ground.names
    checks = []
    for request, decision in watch.seen:
        if not len(request.pool):
            continue
        before, after = tables_of(request, decision)
        checks.append(
            {
                **_stated(decision),
                "validation": realised_utility(
                    part, before, after, part.validation, names
                ),
                "test": realised_utility(part, before, after, part.test, names),
                **_promised(decision, part, after),
            }
        )
    return {
        "protocol": cell.settings["protocol"],
        "evaluator": ground.request.evaluator.evaluator.name,
        **run.about,
        "checks": checks,
    }


def _stated(decision: Decision) -> dict[str, Any]:
    bound = decision.certificate.over_incumbent
    return {
        "gain": _finite(bound.gain),
        "margin": _finite(bound.margin),
        "committed": decision.certificate.committed,
    }


def _promised(decision: Decision, part: Repetition, after: Table) -> dict[str, Any]:
    """Return the bound over real rows alone and the truth; empty if none was stated."""
    bound = decision.certificate.over_real
    if bound is None:
        return {}
    return {
        "lower": _finite(bound.lower),
        "confidence": bound.confidence,
        "truth": true_score(part, after) - true_score(part, after.empty()),
    }


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


# ---- The page.


def check_frame(records: Sequence[Record]) -> pd.DataFrame:
    """Return one line per check."""
    lines = [
        {
            "dataset": record["cell"]["dataset"],
            "n_real": record["cell"]["n_real"],
            "split": record["cell"]["split"],
            "protocol": record["protocol"],
            **check,
        }
        for record in records
        for check in record["checks"]
        if check["gain"] is not None and check["margin"] is not None
    ]
    columns = ["dataset", "n_real", "split", "protocol", "gain", "margin", "committed"]
    columns += ["validation", "test", "lower", "confidence", "truth"]
    frame = pd.DataFrame(lines, columns=columns)
    order = {name: place for place, name in enumerate(SOURCES)}
    return frame.sort_values("dataset", key=lambda c: c.map(order), kind="stable")


def page(records: Sequence[Record]) -> str:
    """Return Table 6 with our figures, and how often our own bounds hold."""
    frame = check_frame(records)
    theirs = frame[frame["protocol"] == "paper"]
    ours = frame[frame["protocol"] == "ours"].dropna(subset=["lower", "truth"])
    judges = sorted({r["evaluator"] for r in records if r["protocol"] == "paper"})
    parts = []
    if not theirs.empty:
        parts += [
            "## The paper's rule in the paper's terms",
            f"The paper's loop on our backbones, evaluator: {', '.join(judges)}. "
            "*Held*: the estimate is within its bar of what predictors gain by "
            "training again, on the validation rows as in the paper, and on the test "
            "rows, of which there are many more. The paper wants 95 %.",
            "\n".join(f"- {said}" for said in paper_findings(theirs)),
            as_markdown(_paper_table(theirs)),
        ]
    if not ours.empty:
        parts += [
            "## Our rule, held to its own promise",
            "A check states a lower bound of the gain over real rows alone, and how "
            "sure it is. The truth is what the same panel gains on the test rows.",
            "\n".join(f"- {said}" for said in our_findings(ours)),
            as_markdown(_our_table(ours)),
        ]
    parts.append("![Estimates against what came of them](calibration-study.svg)")
    return "\n\n".join(parts)


def paper_findings(frame: pd.DataFrame) -> list[str]:
    """Return the paper's sentences about Table 6, found or not."""
    held = _held(frame, "validation")
    said = []
    for task, printed in (("classification", 91.8), ("regression", 87.4)):
        of_task = frame["dataset"].map(lambda name: SOURCES[name].task) == task
        if not of_task.any():
            continue
        rate = 100.0 * held[of_task].mean()
        word = "Found" if rate >= printed - _NEAR else "Not found"
        said.append(
            f"**{word}.** In {task} the bar holds in {rate:.0f} % of "
            f"{int(of_task.sum())} checks; the paper prints {printed} %."
        )
    error = (frame["gain"] - frame["validation"]).abs()
    word = "Found" if error.mean() < frame["margin"].mean() else "Not found"
    said.append(
        f"**{word}.** The mean error is well below the mean bar: "
        f"{error.mean():.3f} against {frame['margin'].mean():.3f}."
    )
    chosen = frame[frame["committed"]]
    if len(chosen):
        kept = 100.0 * (chosen["test"] >= 0).mean()
        said.append(
            f"Of {len(chosen)} pools that were let in, {kept:.0f} % lower the loss of "
            "predictors on the test rows; theorem 3.1 would have it be 97.5 % or more "
            "if the bars were calibrated."
        )
    return said


_NEAR = 5.0
"""Points that a rate may be below the printed one and still count as found."""


def our_findings(frame: pd.DataFrame) -> list[str]:
    """Return how often our bounds hold, beside how often they say they do."""
    held = (frame["truth"] >= frame["lower"]).astype(float) * 100.0
    interval = mean_interval(held.to_list(), frame["dataset"].to_list())
    nominal = 100.0 * frame["confidence"].mean()
    said = f"Bounds hold in {held.mean():.0f} % of {len(frame)} checks"
    if interval.unit == "tables":
        said += f" (by tables: {show_interval(interval)})"
    word = "Not found" if interval.high < nominal else "Found"
    found = [f"**{word}.** {said}; they say {nominal:.0f} %."]
    chosen = frame[frame["committed"]]
    if len(chosen):
        rate = 100.0 * (chosen["truth"] >= chosen["lower"]).mean()
        harmful = 100.0 * (chosen["truth"] < 0).mean()
        found.append(
            f"Of {len(chosen)} pools that were let in the bound holds in {rate:.0f} %; "
            f"{harmful:.0f} % gain nothing or harm."
        )
    return found


def _held(frame: pd.DataFrame, where: str) -> pd.Series:
    return (frame["gain"] - frame[where]).abs() <= frame["margin"]


def _paper_table(frame: pd.DataFrame) -> TextTable:
    rows = []
    for name, part in frame.groupby("dataset", sort=False):
        printed = PRINTED[str(name)]
        rows.append(
            (
                str(name),
                str(len(part)),
                f"{100 * _held(part, 'validation').mean():.0f}",
                f"{printed[0]:.1f}",
                f"{100 * _held(part, 'test').mean():.0f}",
                f"{(part['gain'] - part['validation']).abs().mean():.3f}",
                f"{printed[1]:.3f}",
                f"{part['margin'].mean():.3f}",
                f"{printed[2]:.3f}",
                f"{part['gain'].mean():+.3f}",
                f"{part['test'].mean():+.3f}",
            )
        )
    left = ("table", "checks", "held %", "paper", "held %, test", "mean error")
    right = ("paper", "mean bar", "paper", "mean estimate", "mean truth, test")
    header = (*left, *right)
    return TextTable("Calibration of the plug-in utility", header, tuple(rows))


def _our_table(frame: pd.DataFrame) -> TextTable:
    rows = []
    for name, part in frame.groupby("dataset", sort=False):
        held = part["truth"] >= part["lower"]
        rows.append(
            (
                str(name),
                str(len(part)),
                f"{100 * held.mean():.0f}",
                f"{100 * part['confidence'].mean():.0f}",
                f"{part['lower'].mean():+.3f}",
                f"{part['truth'].mean():+.3f}",
                f"{int(part['committed'].sum())}",
            )
        )
    header = (
        "table",
        "checks",
        "held %",
        "says %",
        "mean bound",
        "mean truth",
        "let in",
    )
    return TextTable("Lower bounds of the gain over real rows", header, tuple(rows))


def figures(records: Sequence[Record]) -> Mapping[str, Figure]:
    """Draw estimates against the truth on the test rows, a panel for each rule."""
    frame = check_frame(records)
    panels = [
        ("the paper's rule", frame[frame["protocol"] == "paper"], "gain", "test"),
        ("ours", frame[frame["protocol"] == "ours"], "lower", "truth"),
    ]
    figure = Figure(figsize=(10, 4.6), layout="constrained")
    for axis, (title, part, stated, truth) in zip(
        figure.subplots(1, 2), panels, strict=True
    ):
        for let_in, colour in ((False, "#999999"), (True, "#1b7837")):
            chosen = part[part["committed"] == let_in].dropna(subset=[stated, truth])
            label = "let in" if let_in else "refused"
            axis.scatter(chosen[truth], chosen[stated], s=14, c=colour, label=label)
        ends = part[[stated, truth]].to_numpy(dtype=float)
        if np.isfinite(ends).any():
            low, high = np.nanmin(ends), np.nanmax(ends)
            axis.plot([low, high], [low, high], color="grey", linestyle="--")
        axis.set_title(title)
        axis.set_xlabel("what came of it, on test rows")
        axis.set_ylabel("estimated gain" if stated == "gain" else "lower bound")
        axis.legend(fontsize=8, frameon=False)
    return {"calibration-study.svg": figure}


STUDY = Study(
    name="calibration",
    title="Calibration of estimated gains",
    question="Is an estimated gain what comes of it, to within its error bar?",
    paper="Table 6",
    plan=plan,
    measure=measure,
    page=page,
    figures=figures,
)
