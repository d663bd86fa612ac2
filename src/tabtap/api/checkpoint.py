"""A folder in which an interrupted run is kept, so that the next call goes on with it.

Files are named after what decides a run's result: rows, folds, settings, seed, judges,
rules, parts of the user's own; code that was passed in counts as it is written.  A
folder may hold several runs.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import cast

from tabtap.api.describing import describe_function
from tabtap.api.wiring import Request, fit_stack, fresh_start
from tabtap.archive import Archive
from tabtap.diffusion import BackboneStack
from tabtap.diffusion.backbone import load_stack
from tabtap.diffusion.train import TrainingObserver
from tabtap.domain import Lineages
from tabtap.domain.judgement import table_sha256
from tabtap.gates.rules import Rule
from tabtap.loop import Progress, Scene
from tabtap.loop.resume import load_progress, save_progress
from tabtap.policy import FeedbackMemory, LearnedPolicy, PassRates
from tabtap.policy.sensor import TableSensor
from tabtap.proposal import InpainterStack
from tabtap.stages import ActionPolicy, Critic, Evaluator, Sensor

_N_DIGITS = 16
"""Of the fingerprint, in file names."""


@dataclass(frozen=True, slots=True, eq=False)
class Checkpoint:
    """Where one run is kept; without a folder nothing is."""

    folder: Path | None
    request: Request
    lineages: Lineages

    budget: int | str
    """Part of what a run is: its last window is cut to the budget."""

    def stack(self, observer: TrainingObserver | None = None) -> InpainterStack:
        """Return the backbones of this run: kept ones, or newly learned and kept.

        An inpainter of the user's own is fitted anew, from the same rows and seeds.
        """
        path = self._path("backbones", self._learned_from())
        is_own = self.request.own.inpainter is not None
        if path is not None and path.exists() and not is_own:
            return load_stack(path, device=self.request.preset.diffusion.device)
        stack = fit_stack(self.request, self.lineages, observer)
        if path is not None and isinstance(stack, BackboneStack):
            stack.save(path)
        return stack

    def progress(self, scene: Scene) -> Progress:
        """Return where this run stands: at its beginning, or where it was left."""
        start = fresh_start(self.request)
        path = self._progress_path()
        if path is None or not path.exists():
            return start
        return load_progress(path, scene=scene, memory=_Memory(start))

    def keep(self, scene: Scene, progress: Progress) -> None:
        """Write down where the run stands."""
        if (path := self._progress_path()) is not None:
            save_progress(progress, path, scene=scene, memory=_Memory(progress))

    def _progress_path(self) -> Path | None:
        request = self.request
        rules = () if request.rules is None else request.rules.rules
        decides = {
            **self._learned_from(),
            "augment": asdict(request.config),
            "budget": self.budget,
            "evaluator": _described(request.evaluator.evaluator),
            "referee": _described(request.referee.evaluator),
            "metric": [request.metric.name, describe_function(request.metric.judge)],
            "mixture": repr(request.mixture),
            "rules": [_rule(rule) for rule in rules],
        }
        own = {part: text for part, text in request.own.described.items() if text}
        if own:
            decides["own parts"] = own
        return self._path("progress", decides)

    def _learned_from(self) -> dict[str, object]:
        fold = self.lineages.fold.tobytes()
        return {
            "real": table_sha256(self.request.real),
            "schema": repr(self.request.real.schema),
            "folds": hashlib.sha256(fold).hexdigest(),
            "crossfit": self.lineages.crossfit,
            "seed": self.request.seed,
            "diffusion": asdict(self.request.preset.diffusion),
        }

    def _path(self, what: str, decides: dict[str, object]) -> Path | None:
        if self.folder is None:
            return None
        self.folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(decides, sort_keys=True).encode()
        digest = hashlib.sha256(text).hexdigest()[:_N_DIGITS]
        return self.folder / f"{what}-{digest}.tap"


def _described(judge: Evaluator) -> str:
    """Return a judge's name, and a learner's settings with it."""
    return f"{judge.name} {getattr(judge, 'estimator', '')!r}"


def _rule(rule: Rule) -> list[str]:
    """Return a rule's name and what it says; of a function, its code."""
    code = describe_function(getattr(rule, "function", None))
    return [rule.name, getattr(rule, "text", code)]


@dataclass(frozen=True, slots=True, eq=False)
class _Memory:
    """Writes down policy, sensor and critic; see ``loop.resume.Memory``."""

    start: Progress

    def written(self, policy: ActionPolicy, sensor: Sensor, critic: Critic) -> Archive:
        arrays = policy.to_arrays() if isinstance(policy, LearnedPolicy) else {}
        rates = cast("TableSensor", sensor).pass_rates.to_lists()
        memory = cast("FeedbackMemory", critic).to_lists()
        return Archive(arrays, {"pass_rates": rates, "feedback": memory})

    def read(self, saved: Archive) -> tuple[ActionPolicy, Sensor, Critic]:
        policy = self.start.policy
        if isinstance(policy, LearnedPolicy):
            policy = LearnedPolicy.from_arrays(saved.arrays, policy.reference)
        sensor = cast("TableSensor", self.start.sensor)
        rates = PassRates.from_lists(saved.about["pass_rates"])
        config = cast("FeedbackMemory", self.start.critic).config
        critic = FeedbackMemory.from_lists(saved.about["feedback"], config)
        return policy, sensor.with_rates(rates), critic
