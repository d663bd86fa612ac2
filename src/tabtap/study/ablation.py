"""TAP without a part of its state, of its actions, or with another judge (Table 8)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from tabtap.compare.printing import TextTable, as_markdown
from tabtap.compare.store import ROWS, Cell, Record, Store
from tabtap.domain import Action, Experience, LearnerState, Template
from tabtap.loop import Progress, RunContext
from tabtap.policy.learned import LearnedPolicy
from tabtap.policy.steering import PolicySteering
from tabtap.stages import ActionPolicy, Sensor
from tabtap.study.cell import SYNTHETIC
from tabtap.study.runs import (
    CLASSIFICATION,
    plan_cells,
    prepare,
    run_tap,
    scores_with,
)
from tabtap.study.sources import published_figure
from tabtap.study.studies import Study, StudyOptions
from tabtap.study.tables import (
    METRICS,
    MISSING,
    finding,
    mean_frame,
    mean_interval,
    show_interval,
)
from tabtap.table.schema import FloatArray
from tabtap.table.table import Table

FULL = "TAP"


class Ablation(NamedTuple):
    """A configuration of Table 8: what is changed, and the paper's two figures."""

    group: str
    settings: Mapping[str, Any] = {}
    """Of the cell; ``steering`` changes the policy and what it sees."""

    accuracy: float | None = None
    rmse: float | None = None


def _blind(part: str) -> dict[str, Any]:
    return {"steering": {"blind": part}}


def _fixed(**action: Any) -> dict[str, Any]:  # noqa: ANN401
    return {"steering": action}


CONFIGURATIONS: Mapping[str, Ablation] = {
    FULL: Ablation("baseline", {}, 62.02, 0.641),
    "- deficit": Ablation("state", _blind("deficit"), 60.53, 0.656),
    "- uncertainty": Ablation("state", _blind("uncertainty"), 60.41, 0.659),
    "- gate pass rate": Ablation("state", _blind("pass_rate"), 60.59, 0.665),
    "- diversity": Ablation("state", _blind("novelty"), 60.21, 0.666),
    "explore": Ablation("action", _fixed(template="explore"), 58.83, 0.662),
    "conservative": Ablation("action", _fixed(template="conservative"), 60.03, 0.672),
    "rho = 0.2": Ablation("action", _fixed(exploration=0.2), 60.87, 0.662),
    "rho = 0.5": Ablation("action", _fixed(exploration=0.5), 61.18, 0.664),
    "rho = 0.8": Ablation("action", _fixed(exploration=0.8), 60.32, 0.646),
    "random anchor": Ablation(
        "action",
        {
            "steering": {"any_target": True},
            "augment": {"proposal": {"hard_share": 0.0}},
        },
        60.28,
        0.659,
    ),
    "ensemble": Ablation("estimator", {"evaluator": "ensemble"}, 60.97, 0.663),
    "holdout": Ablation("estimator", {"evaluator": "holdout"}, 61.30, 0.661),
}
"""Table 8 by the name of the configuration, in its order."""

OWN: Mapping[str, Ablation] = {
    "+ teacher": Ablation("ours", {"teacher": "auto"}),
    "best learner": Ablation("ours", {"learner": "auto"}),
}
"""Further rows, under our protocol: a teacher, and a referee that is not a mean."""


def plan(options: StudyOptions) -> Iterator[Cell]:
    """Yield a cell for each configuration, table and split, at 50 real rows."""
    chosen = dict(CONFIGURATIONS)
    if options.protocol == "ours":
        chosen |= OWN
    if options.quick:
        kept = (FULL, "- deficit", "explore", "rho = 0.2", "random anchor", "holdout")
        chosen = {name: chosen[name] for name in kept}
    named = {name: ablation.settings for name, ablation in chosen.items()}
    return plan_cells("ablation", options, named)


def measure(cell: Cell, store: Store | None) -> Record:  # noqa: ARG001  no other rows
    """Run TAP as the cell changes it, and score its rows."""
    ground = prepare(cell)
    asked = dict(cell.settings.get("steering", {}))

    def change(context: RunContext, progress: Progress) -> tuple[RunContext, Progress]:
        return context, replace(progress, steering=steered(progress, **asked))

    run = run_tap(ground, change if asked else None)
    return {
        "scores": scores_with(ground, run.rows),
        "run": run.about,
        ROWS: {SYNTHETIC: run.rows},
    }


# ---- Steering without a part of what it sees or decides.


def steered(
    progress: Progress,
    *,
    blind: str | None = None,
    template: str | None = None,
    exploration: float | None = None,
    any_target: bool = False,
) -> PolicySteering:
    """Return the steering of a run's start with a part of it taken away.

    Parameters
    ----------
    progress : Progress
        A fresh start.
    blind : str, optional
        The part of the state that is not told: ``deficit``, ``uncertainty``,
        ``pass_rate`` or ``novelty``.
    template, exploration : optional
        What every action has, whatever the policy says.
    any_target : bool
        Whether targets are drawn as often as they are held, whatever the policy says:
        anchors then come from all rows evenly.
    """
    steering = progress.steering
    if not isinstance(steering, PolicySteering):
        raise AssertionError
    sensor, policy = steering.sensor, steering.policy
    if blind is not None:
        sensor = BlindSensor(sensor, blind)
    if template is not None or exploration is not None or any_target:
        policy = FixedPolicy(
            policy,
            None if template is None else Template(template),
            exploration,
            any_target=any_target,
        )
    return replace(steering, sensor=sensor, policy=policy)


@dataclass(frozen=True, slots=True)
class BlindSensor:
    """A sensor that does not tell one part of the state."""

    inner: Sensor
    part: str

    def read(
        self, real: Table, committed: Table, pool: Table, uncertainty: FloatArray
    ) -> LearnerState:
        """Return the state, the part as if there were nothing to tell."""
        state = self.inner.read(real, committed, pool, uncertainty)
        neutral: Mapping[str, Any] = {
            "deficit": np.zeros_like(state.deficit),
            "uncertainty": np.zeros_like(state.uncertainty),
            "pass_rate": np.ones_like(state.pass_rate),
            "novelty": 0.0,
        }
        return replace(state, **{self.part: neutral[self.part]})

    def noted(self, template: Template, n_passed: int, n_proposed: int) -> BlindSensor:
        """Return the sensor after rows of a template were judged."""
        return replace(self, inner=self.inner.noted(template, n_passed, n_proposed))


@dataclass(frozen=True, slots=True)
class FixedPolicy:
    """A policy that learns as before, and whose actions are partly decided already."""

    inner: ActionPolicy
    template: Template | None = None
    exploration: float | None = None
    any_target: bool = False

    def sample(self, state: LearnerState, rng: np.random.Generator) -> Action:
        """Draw an action, and put in what is fixed."""
        action = self.inner.sample(state, rng)
        if self.any_target:
            action = replace(action, target=self._any(state, rng))
        if self.template is not None:
            action = replace(action, template=self.template)
        if self.exploration is not None:
            share = self.exploration
            action = replace(action, exploration=share, raw_exploration=share)
        return action

    def log_prob(self, state: LearnerState, action: Action) -> float:
        """Return what the policy within says."""
        return self.inner.log_prob(state, action)

    def improved(self, experience: Sequence[Experience]) -> FixedPolicy:
        """Return the policy after learning from a batch."""
        return replace(self, inner=self.inner.improved(experience))

    def _any(self, state: LearnerState, rng: np.random.Generator) -> int:
        """Draw a target as often as rows have it: what is wanted less the deficit."""
        policy = self.inner
        reference = policy.reference if isinstance(policy, LearnedPolicy) else policy
        wanted = np.asarray(getattr(reference, "wanted"))  # noqa: B009
        held = np.clip(wanted - state.deficit, 0.0, None) * state.available
        return int(rng.choice(len(held), p=held / held.sum()))


# ---- The page.


def page(records: Sequence[Record]) -> str:
    """Return Table 8, the paper's figures beside ours, and what they say."""
    frame = mean_frame((r["cell"], r["cell"]["method"], r["scores"]) for r in records)
    said = []
    for metric in METRICS:
        for group in ("state", "action", "estimator", "ours"):
            part = _group_loss(frame, metric, group)
            if len(part):
                unit = " points" if metric == "accuracy" else " % of RMSE"
                verb = "gains" if group == "ours" else "costs"
                claim = f"{metric}, a change of the {group} group {verb}"
                change = -part if group == "ours" else part
                tables = [str(n) for n in part.index.get_level_values("dataset")]
                gain = mean_interval(change.to_list(), tables)
                said.append(finding(claim, gain, unit=unit))
    return "\n\n".join(
        [
            "Every configuration has the rows, folds, backbones and random streams of "
            "TAP, and differs by what its name says. Under the paper's protocol the "
            "judge of regression tables is the linear model of *holdout*, so that row "
            "repeats the first. The paper's "
            f"{CONFIGURATIONS[FULL].accuracy:.2f} % is not the mean of its Table 1 at "
            f"50 rows, which is {_main_table_mean():.2f} %; so differences are "
            "compared, and not levels.",
            "\n".join(f"- {sentence}" for sentence in said),
            *(
                as_markdown(_table(frame, metric))
                for metric in METRICS
                if (frame["metric"] == metric).any()
            ),
        ]
    )


def _main_table_mean() -> float:
    """Return the mean accuracy of TAP at 50 rows that the paper's Table 1 has."""
    found = [published_figure(n, 50, "accuracy", FULL) for n in CLASSIFICATION]
    return float(np.mean([figure.mean for figure in found if figure is not None]))


def _losses(frame: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return what each configuration costs against TAP: points, or % of RMSE."""
    chosen = frame[frame["metric"] == metric]
    if chosen.empty:
        return pd.DataFrame()
    keys = ["dataset", "n_real", "split"]
    wide = chosen.pivot_table("score", keys, "method", sort=False)
    if FULL not in wide:
        return pd.DataFrame()
    apart = wide.rsub(wide[FULL], axis=0)
    if metric == "rmse":
        apart = -100.0 * apart.div(wide[FULL], axis=0)
    return apart.drop(columns=FULL)


def _group_loss(frame: pd.DataFrame, metric: str, group: str) -> pd.Series:
    """Return the mean loss of a group's configurations, cell by cell."""
    losses = _losses(frame, metric)
    known = {**CONFIGURATIONS, **OWN}
    names = [name for name in losses if known[str(name)].group == group]
    return losses[names].mean(axis=1).dropna() if names else pd.Series(dtype=float)


def _table(frame: pd.DataFrame, metric: str) -> TextTable:
    chosen = frame[frame["metric"] == metric]
    losses = _losses(frame, metric)
    digits = 2 if metric == "accuracy" else 3
    base = getattr(CONFIGURATIONS[FULL], metric)
    rows = []
    for name, ablation in {**CONFIGURATIONS, **OWN}.items():
        own = chosen[chosen["method"] == name]["score"]
        if own.empty:
            continue
        change = MISSING
        if name in losses:
            part = -losses[name].dropna()
            tables = [str(n) for n in part.index.get_level_values("dataset")]
            change = show_interval(mean_interval(part.to_list(), tables))
        theirs = getattr(ablation, metric)
        level = MISSING if theirs is None else f"{theirs:.{digits}f}"
        moved = MISSING
        if theirs is not None and name != FULL:
            apart = theirs - base
            moved = f"{apart if metric == 'accuracy' else -100 * apart / base:+.1f}"
        # A mean of fewer tables is on another level.
        whole = len(own) == (chosen["method"] == FULL).sum()
        ours = f"{own.mean():.{digits}f}" if whole else f"({len(own)} of the cells)"
        rows.append((ablation.group, name, ours, change, level, moved))
    unit = "points of accuracy" if metric == "accuracy" else "% of RMSE"
    return TextTable(
        f"{metric}; what a change gains against TAP in {unit}, with its 95 % interval",
        ("group", "configuration", metric, "gain", "paper", "paper's gain"),
        tuple(rows),
        n_labels=2,
    )


STUDY = Study(
    name="ablation",
    title="TAP without its parts",
    question="Is each part of state, action and estimator worth having?",
    paper="Table 8",
    plan=plan,
    measure=measure,
    page=page,
)
