"""Whether the policy learns: desirable steps, window by window (Figure 6)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tabtap.compare.predictors import mean_losses
from tabtap.compare.printing import TextTable, as_markdown
from tabtap.compare.store import Cell, Record, Store
from tabtap.domain import Baseline, Lineages, Prediction, UtilityEstimate
from tabtap.loop import Progress, RunContext
from tabtap.policy.learned import LearnedPolicy
from tabtap.policy.steering import PolicySteering
from tabtap.stages import Utility
from tabtap.study.figures import lines_with_bands
from tabtap.study.protocol import Repetition
from tabtap.study.runs import Ground, plan_cells, prepare, run_tap
from tabtap.study.studies import Study, StudyOptions
from tabtap.study.tables import finding, mean_interval, show_interval
from tabtap.table.table import Table, concat

TAP, NO_LEARN = "TAP", "No-Learn"
N_WINDOWS = 10
LATE = (5, 6, 7, 8)
"""Windows in which the paper sees the gap."""

PUBLISHED: Mapping[str, str] = {TAP: "0.50 to 0.60", NO_LEARN: "0.20 to 0.45"}
"""Figure 6 and its text: share of desirable steps in the late windows."""

JUDGES: Mapping[str, tuple[str, ...]] = {
    "classification": ("LR", "RF"),
    "regression": ("KNN", "RF"),
}
"""Who is trained at every step; all predictors would take hours."""


def plan(options: StudyOptions) -> Iterator[Cell]:
    """Yield a cell for each table and split; no refusal ends a run early."""
    n_windows = 4 if options.quick else N_WINDOWS
    length = {"ours": 16, "paper": 10} if options.quick else {"ours": 32, "paper": 20}
    every = {
        "n_steps": n_windows * length[options.protocol],
        "commit": {"window_length": length[options.protocol], "patience": n_windows},
    }
    return plan_cells("dynamics", options, {"dynamics": {"augment": every}})


def measure(cell: Cell, store: Store | None) -> Record:  # noqa: ARG001  no other rows
    """Run TAP and the same with a frozen policy, and reward every step."""
    ground = prepare(cell)
    judges = cell.terms.predictors[:1] or judges_of(ground.part.real)
    return {
        "rewards": {n: _rewards(ground, n, judges) for n in (TAP, NO_LEARN)},
        "judges": list(judges),
    }


def _rewards(ground: Ground, name: str, judges: tuple[str, ...]) -> list[list[float]]:
    """Return the proxy rewards of all steps, window by window."""
    watched: list[ProxyUtility] = []

    def change(context: RunContext, progress: Progress) -> tuple[RunContext, Progress]:
        if name == NO_LEARN:
            progress = freeze(progress)
        proxy = ProxyUtility(
            context.stages.utility, ground.part, ground.lineages, judges
        )
        watched.append(proxy)
        stages = replace(context.stages, utility=proxy)
        return replace(context, stages=stages), progress

    # So large a budget that the loop comes to the late windows.
    run = run_tap(ground, change, budget=4 * ground.cell.terms.budget)
    windows = [step.window for step in run.outcome.progress.steps]
    rewards: list[list[float]] = [[] for _ in range(max(windows, default=-1) + 1)]
    for window, reward in zip(windows, watched[0].rewards, strict=True):
        rewards[window].append(reward)
    return rewards


def freeze(progress: Progress) -> Progress:
    """Return the start of a run whose policy stays at the reference.

    All else is as it was: steps are judged, and nothing is learned of it.
    """
    steering = progress.steering
    if isinstance(steering, PolicySteering) and isinstance(
        steering.policy, LearnedPolicy
    ):
        steering = replace(steering, policy=steering.policy.reference)
    return replace(progress, steering=steering)


# ---- Equation 46: what a step is worth on rows that nobody else asks about.


@dataclass(frozen=True, slots=True, eq=False)
class ProxyUtility:
    """The utility of a run, which also rewards every step on rows kept apart."""

    inner: Utility
    part: Repetition
    lineages: Lineages
    judges: tuple[str, ...]
    """Who is trained at every step."""

    rewards: list[float] = field(default_factory=list)
    """One for each step so far; 0 where nothing was admitted."""

    before: list[tuple[Table, float]] = field(default_factory=list)
    """Of the window in hand: D_t and its loss."""

    def baseline(self, committed: Table) -> Baseline:
        """Answer as the utility does; a new window begins."""
        rows = committed.take(self.lineages.delivered(committed))
        training = concat([self.part.real, rows])
        self.before[:] = [(training, proxy_loss(self.part, training, self.judges))]
        return self.inner.baseline(committed)

    def gains(
        self, baseline: Baseline, added: Sequence[Table]
    ) -> list[UtilityEstimate]:
        """Estimate as the utility does, and reward each step."""
        training, loss = self.before[0]
        for rows in added:
            step = rows.take(self.lineages.delivered(rows))
            reward = 0.0
            if len(step):
                after = concat([training, step])
                reward = proxy_reward(loss, proxy_loss(self.part, after, self.judges))
            self.rewards.append(reward)
        return self.inner.gains(baseline, added)

    def foresee(self, rows: Table) -> Prediction | None:
        """Predict as the utility does."""
        return self.inner.foresee(rows)


def proxy_loss(part: Repetition, training: Table, judges: tuple[str, ...]) -> float:
    """Return L(theta(D), Q_proxy): the mean loss of the judges on the test rows."""
    (losses,) = mean_losses(training, [part.test], judges, reference=part.real)
    return float(np.mean(list(losses.values())))


def proxy_reward(loss_before: float, loss_after: float) -> float:
    """Return what a step's rows take off the proxy loss (equation 46).

    The step is desirable if it is above 0.
    """
    return loss_before - loss_after


def judges_of(table: Table) -> tuple[str, ...]:
    """Return the predictors that are trained at every step of a run on a table."""
    target = table.schema.target
    return JUDGES["classification" if target is None else target.task]


# ---- The page.


def page(records: Sequence[Record]) -> str:
    """Return the share of desirable steps by window, beside the frozen policy's."""
    frame = desirable_frame(records)
    late = frame[frame["window"].isin(_late(frame))]
    part = _differences(late)
    gap = mean_interval(part.to_list(), _tables(part))
    everywhere = _differences(frame)
    early = mean_interval(everywhere.to_list(), _tables(everywhere))
    numbers = ", ".join(map(str, _late(frame)))
    said = [
        finding(f"TAP has more desirable steps in windows {numbers}", gap, 3),
        finding("The same in all windows", early, 3),
    ]
    trained = "; or ".join(sorted({", ".join(r["judges"]) for r in records}))
    theirs = ", ".join(f"{name} {share}" for name, share in PUBLISHED.items())
    return "\n\n".join(
        [
            "A step is desirable if its rows take something off the loss of learners "
            f"that are trained again ({trained}), on test rows that no run asks about "
            "(equation 46). No-Learn is the same run with its policy frozen at the "
            f"reference. The paper, in windows 5 to 8: {theirs}.",
            "\n".join(f"- {sentence}" for sentence in said),
            "![Desirable steps by window](dynamics.svg)",
            as_markdown(_table(frame)),
        ]
    )


def figures(records: Sequence[Record]) -> Mapping[str, Figure]:
    """Draw the share of desirable steps against the window."""
    frame = desirable_frame(records)
    lines = []
    for (name, window), part in frame.groupby(["method", "window"], sort=False):
        mean = mean_interval(part["share"].to_list(), part["dataset"].to_list())
        lines.append(("all tables", name, window, *mean[:3]))
    columns = ["panel", "line", "x", "mean", "low", "high"]
    drawn = pd.DataFrame(lines, columns=columns)
    drawn[["low", "high"]] = drawn[["low", "high"]].clip(0.0, 1.0)  # it is a share
    label = "share of desirable steps"
    return {"dynamics.svg": lines_with_bands(drawn, "commitment window", label)}


def desirable_frame(records: Sequence[Record]) -> pd.DataFrame:
    """Return dataset, n_real, split, method, window and the share of desirable steps.

    Windows that only one of the two runs has come to are left out.
    """
    lines = []
    for record in records:
        cell, rewards = record["cell"], record["rewards"]
        n_windows = min(len(rewards[name]) for name in (TAP, NO_LEARN))
        for name in (TAP, NO_LEARN):
            for window in range(n_windows):
                share = float(np.mean(np.asarray(rewards[name][window]) > 0))
                where = (cell["dataset"], cell["n_real"], cell["split"])
                lines.append((*where, name, window, share))
    columns = ["dataset", "n_real", "split", "method", "window", "share"]
    return pd.DataFrame(lines, columns=columns)


def _late(frame: pd.DataFrame) -> list[int]:
    """Return the windows that the paper speaks of, or the last half of a short run."""
    there = sorted(frame["window"].unique())
    return [w for w in there if w in LATE] or there[len(there) // 2 :]


def _differences(frame: pd.DataFrame) -> pd.Series:
    wide = frame.pivot_table("share", ["dataset", "n_real", "split"], "method")
    return (wide[TAP] - wide[NO_LEARN]).dropna()


def _tables(part: pd.Series) -> list[str]:
    return [str(name) for name in part.index.get_level_values("dataset")]


def _table(frame: pd.DataFrame) -> TextTable:
    rows = []
    for window, part in frame.groupby("window"):
        shares = part.groupby("method")["share"].mean()
        apart = _differences(part)
        shown = show_interval(mean_interval(apart.to_list(), _tables(apart)), 3)
        figures_of = [f"{shares[name]:.2f}" for name in (TAP, NO_LEARN)]
        rows.append((str(window), *figures_of, shown, str(len(apart))))
    return TextTable(
        "Share of desirable steps; the difference with its 95 % interval",
        ("window", TAP, NO_LEARN, "difference", "runs"),
        tuple(rows),
    )


STUDY = Study(
    name="dynamics",
    title="What the policy learns",
    question="Does learning make more steps desirable as a run goes on?",
    paper="Figure 6",
    plan=plan,
    measure=measure,
    page=page,
    figures=figures,
)
