"""Pick the concrete stages of a run and connect them."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

import numpy as np

from tabtap.api.own_choices import OwnParts
from tabtap.api.own_inpainter import fit_own
from tabtap.config import AugmentConfig, Preset
from tabtap.diffusion import fit_backbone, fit_fold_backbones
from tabtap.diffusion.train import TrainingObserver
from tabtap.domain import Candidates, Lineages
from tabtap.evaluate.choose import ChosenEvaluator
from tabtap.evaluate.judging import FoldReferee, FoldUtility
from tabtap.evaluate.metric import Metric
from tabtap.gates import Gates, Rules, standard_gates
from tabtap.loop import (
    CrossfitCommitment,
    PaperCommitment,
    Progress,
    Scene,
    Stages,
)
from tabtap.policy import FeedbackMemory, LearnedPolicy, ReferencePolicy
from tabtap.policy.sensor import TableSensor, Wish
from tabtap.proposal import InpainterStack, LineageProposer, important_by_lineage
from tabtap.rng import stream
from tabtap.stages import ActionPolicy, Commitment
from tabtap.stopwatch import Stopwatch
from tabtap.table.schema import IntArray
from tabtap.table.split import folds
from tabtap.table.table import Table


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Request:
    """A run as the user asked for it, with every choice made."""

    real: Table
    preset: Preset
    seed: int
    evaluator: ChosenEvaluator
    referee: ChosenEvaluator
    metric: Metric
    rules: Rules | None = None
    groups: IntArray | None = None
    """Rows that count as one: the user's groups, or exact copies."""

    mixture: Wish = "real"
    carried: tuple[Hashable, ...] = ()
    """Identifiers that descendants keep, such as the column of groups."""

    own: OwnParts = field(default_factory=OwnParts)

    @property
    def config(self) -> AugmentConfig:
        """Settings of the loop."""
        return self.preset.augment


def lineages_of(request: Request) -> Lineages:
    """Divide the real rows into folds, groups kept together."""
    n_units = len(request.real)
    if request.groups is not None:
        n_units = len(np.unique(request.groups))
    n_folds = min(request.config.utility.n_folds, n_units)
    fold = folds(
        request.real.condition, n_folds, stream(request.seed, "folds"), request.groups
    )
    return Lineages(fold, request.config.commit.protocol == "crossfit")


def fit_stack(
    request: Request, lineages: Lineages, observer: TrainingObserver | None = None
) -> InpainterStack:
    """Learn the table, once for each lineage."""
    rng, config = stream(request.seed, "backbone"), request.preset.diffusion
    if request.own.inpainter is not None:
        return fit_own(request.own.inpainter, request.real, lineages, rng)
    if lineages.crossfit:
        return fit_fold_backbones(
            request.real, lineages.fold, rng=rng, config=config, observer=observer
        )
    return fit_backbone(request.real, rng=rng, config=config, observer=observer).stack


def make_scene(
    request: Request, lineages: Lineages, stack: InpainterStack, watch: Stopwatch
) -> Scene:
    """Return everything that a run needs and that does not change."""
    real, config = request.real, request.config
    utility = FoldUtility(real, lineages, request.evaluator.evaluator, config.utility)
    referee = FoldReferee(real, lineages, request.referee.evaluator, request.metric)
    important = important_by_lineage(
        real, lineages, config.proposal, stream(request.seed, "columns")
    )
    proposer = LineageProposer(
        stack, lineages, config.proposal, important, request.carried
    )
    counted = watch.timed("evaluator", utility)
    commitment: Commitment
    if lineages.crossfit:
        refereed = watch.timed("referee", referee)
        commitment = CrossfitCommitment(refereed, config.commit, request.groups)
    else:
        name = request.evaluator.evaluator.name
        commitment = PaperCommitment(counted, config.commit, name)
    standard = standard_gates(config.gates, request.rules)
    stages = Stages(
        proposer=watch.timed("proposals", proposer),
        gatekeeper=watch.timed("gates", Gates((*standard, *request.own.gates))),
        utility=counted,
        commitment=commitment,
    )
    return Scene(real, lineages, stages, config, request.seed)


def fresh_start(request: Request) -> Progress:
    """Return a run before its first window."""
    sensor = TableSensor.of(request.real, request.mixture)
    config = request.config.policy
    reference = ReferencePolicy(config, sensor.wanted)
    policy: ActionPolicy = reference
    if config.updates_per_step:
        policy = LearnedPolicy.start(reference, stream(request.seed, "policy"))
    return Progress(
        committed=Candidates.none(request.real),
        policy=policy,
        sensor=sensor,
        critic=FeedbackMemory(config),
    )
