"""Our own backbone as methods: TabDiff, the rungs below the loop, and TAP itself.

TabDiff, the label as one more column and rows drawn at large, is from Shi et al.,
"TabDiff: a mixed-type diffusion model for tabular data generation", ICLR 2025.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np

from tabtap.api.choices import (
    choose_judge,
    choose_metric,
    choose_referee,
    commit_for,
    copies_of,
    task_of,
)
from tabtap.api.run import Request, fit_stack, fresh_start, lineages_of, make_context
from tabtap.config import (
    SECTIONS,
    AugmentConfig,
    DiffusionConfig,
    Preset,
    changed_preset,
    preset_named,
)
from tabtap.diffusion import Backbone, fit_backbone
from tabtap.domain import Candidates, GateContext, Template
from tabtap.domain.rows import WHOLE
from tabtap.errors import bad_setting
from tabtap.evaluate.judging import FoldUtility, check_metric
from tabtap.evaluate.teachers import choose_teacher
from tabtap.gates import Gates, standard_gates
from tabtap.loop import Limits, augment
from tabtap.proposal import (
    choose_anchors,
    draw_masks,
    free_columns,
    important_columns,
)
from tabtap.rivals.matrices import join_target, split_target
from tabtap.rivals.simple import even_rows
from tabtap.stopwatch import Stopwatch
from tabtap.table.schema import BoolArray, FloatArray, IntArray, Kind, Task
from tabtap.table.table import Table

TASKS: tuple[Task, ...] = ("classification", "regression")
CONFIGS = {"default": DiffusionConfig, "paper": DiffusionConfig.paper}


@dataclass(frozen=True, slots=True, kw_only=True)
class TabDiff:
    """Learn rows and labels jointly by diffusion; labels come as often as they do.

    Holes are drawn as the real column has them.
    """

    size: Literal["default", "paper"] = "default"
    """Our compact network and training, or the published one: ten minutes or more."""

    n_steps: int | None = None
    """Training steps, if other than the size's own."""

    name: ClassVar[str] = "TabDiff"

    def __post_init__(self) -> None:
        if self.size not in CONFIGS:
            must = "be 'default' or 'paper'"
            raise bad_setting("size", self.size, must, "Try 'default'.")

    def make(
        self, train: Table, n: int, rng: np.random.Generator, watch: Stopwatch
    ) -> Table:
        """Return ``n`` rows, the target drawn jointly with the rest."""
        config = CONFIGS[self.size]()
        if self.n_steps is not None:
            config = replace(config, n_steps=self.n_steps)
        with watch.running("fit"):
            backbone = fit_backbone(join_target(train), rng=rng, config=config)
        with watch.running("sample"):
            return split_target(backbone.sample(n, rng), train)


# ---- The rungs below the loop: rows drawn in one go from the backbone of all rows.
#
# The mechanism ladder of section 4.2 with label-conditioned sampling as its first rung.
# Random and hard inpainting keep the anchor's target, as the paper has it.


HARD_EXPLORATION = 0.3
"""The paper's rho of hard inpainting (appendix D.3)."""

MOST_ROUNDS = 4
"""How often the wanted rows are drawn before fewer must do: gates may be strict."""

Rung = Literal["one shot", "random inpainting", "hard inpainting"]
_NAMES: dict[str, str] = {
    "one shot": "One shot",
    "random inpainting": "Random inpainting",
    "hard inpainting": "Hard inpainting",
}


def draw_one_shot(
    backbone: Backbone, real: Table, n: int, rng: np.random.Generator
) -> Table:
    """Draw whole rows, classes or target bins evenly."""
    targets = real.condition[even_rows(real, n, rng)]
    return backbone.sample(n, rng, targets=targets)


def draw_random_inpainting(
    backbone: Backbone, real: Table, n: int, rng: np.random.Generator
) -> Table:
    """Redraw a random share of random cells of real rows, each equally likely."""
    anchors = real.take(rng.integers(len(real), size=n))
    unimportant = np.zeros(len(real.schema.features), dtype=np.bool_)
    free = free_columns(real.schema, Template.EXPLORE, unimportant)
    masks = [draw_masks(free, share, 1, rng) for share in rng.random(n)]
    return backbone.inpaint(anchors, np.concatenate(masks), rng)


def draw_hard_inpainting(
    backbone: Backbone, request: Request, n: int, rng: np.random.Generator
) -> Table:
    """Redraw little of the rows that the evaluator finds hardest; the paper's gates.

    There are fewer rows than wanted where the gates admit fewer.
    """
    config, lineages, real = request.config, lineages_of(request), request.real
    utility = FoldUtility(real, lineages, request.evaluator.evaluator, config.utility)
    hardness = utility.baseline(real.empty()).hardness
    important = important_columns(real, config.proposal, rng)
    free = free_columns(real.schema, Template.CONSERVATIVE, important)
    gates = Gates(standard_gates(config.gates))
    kept = Candidates.none(real)
    for _ in range(MOST_ROUNDS):
        drawn = _draw_from_hard(backbone, real, (hardness, free), n, rng)
        seen = utility.foresee(drawn.rows)
        context = GateContext(real, kept.rows, seen, hardness)
        admitted = gates.admit(drawn, context).admitted
        kept = Candidates.joined([kept, admitted])
        if len(kept) >= n:
            break
    return kept.rows.take(np.arange(min(n, len(kept))))


def paper_preset(n_steps: int = 60) -> Preset:
    """Return Table 4 of the paper, with fewer steps than its 200."""
    return Preset(augment=replace(AugmentConfig.paper(), n_steps=n_steps))


@dataclass(frozen=True, slots=True, kw_only=True)
class LadderRung:
    """Rows of our diffusion in one go, without a policy and without commitment."""

    rung: Rung = "one shot"
    """Whole rows by label; random cells of any rows; few cells of the hardest."""

    diffusion: DiffusionConfig = field(default_factory=DiffusionConfig)
    """How the backbone is built and trained; of a grid, the settings that differ."""

    def __post_init__(self) -> None:
        if isinstance(self.diffusion, Mapping):
            changed = changed_preset(Preset(), {"diffusion": self.diffusion})
            object.__setattr__(self, "diffusion", changed.diffusion)
        if self.rung not in _NAMES:
            must = f"be one of {', '.join(map(repr, _NAMES))}"
            raise bad_setting("rung", self.rung, must, "Try 'one shot'.")

    @property
    def name(self) -> str:
        """The name it goes by in tables."""
        return _NAMES[self.rung]

    def make(
        self, train: Table, n: int, rng: np.random.Generator, watch: Stopwatch
    ) -> Table:
        """Return ``n`` rows; of hard inpainting fewer where its gates are strict.

        Inpainted rows know the real row they were made from.
        """
        real = number_rows(train)
        if n == 0:
            return train.empty()
        with watch.running("fit"):
            backbone = fit_backbone(real, rng=rng, config=self.diffusion)
        with watch.running("sample"):
            rows = without_identifiers(self._draw(backbone, real, n, rng))
        return restore_origins(train, rows)

    def _draw(
        self, backbone: Backbone, real: Table, n: int, rng: np.random.Generator
    ) -> Table:
        if self.rung == "one shot":
            return draw_one_shot(backbone, real, n, rng)
        if self.rung == "random inpainting":
            return draw_random_inpainting(backbone, real, n, rng)
        request = request_for(real, paper_preset(), int(rng.integers(2**31)))
        return draw_hard_inpainting(backbone, request, n, rng)


def _draw_from_hard(
    backbone: Backbone,
    real: Table,
    where: tuple[FloatArray, BoolArray],
    n: int,
    rng: np.random.Generator,
) -> Candidates:
    hardness, free = where
    anchors = choose_anchors(hardness, n, 1.0, rng)
    masks = draw_masks(free, HARD_EXPLORATION, n, rng)
    rows = backbone.inpaint(real.take(anchors), masks, rng)
    rows = replace(rows, unseen_fold=np.full(n, WHOLE, dtype=np.int64))
    return Candidates(rows, masks, np.zeros(n, dtype=np.int64))


# ---- TAP: a whole run of ours, as one method among others.


@dataclass(frozen=True, slots=True, kw_only=True)
class TAP:
    """Add rows where they are shown to help; it may well be none."""

    preset: str | Preset = "default"
    """Settings of the run: ``default``, ``fast``, ``paper``, or a preset of one's own.
    """

    learner: Any = "panel"
    """Whom rows must help, as ``TabularAugmenter`` takes it.  The mean of the panel is
    what the paper's study asks for, which averages its predictors."""

    teacher: Any = "none"
    """Who gives rows their targets; nobody does in the paper."""

    evaluator: str | None = None
    """Who judges at every step, if not whom the preset names."""

    augment: Mapping[str, Any] = field(default_factory=dict)
    diffusion: Mapping[str, Any] = field(default_factory=dict)
    teaching: Mapping[str, Any] = field(default_factory=dict)
    """Settings that differ from the preset's; see ``tabtap.config.changed_preset``."""

    name: ClassVar[str] = "TAP"

    def __post_init__(self) -> None:
        self.whole_preset()

    def whole_preset(self) -> Preset:
        """Return the preset with what was changed of it."""
        changes = {name: getattr(self, name) for name in SECTIONS}
        preset = changed_preset(preset_named(self.preset), changes)
        if self.evaluator is None:
            return preset
        return replace(preset, evaluators=dict.fromkeys(TASKS, self.evaluator))

    def make(
        self, train: Table, n: int, rng: np.random.Generator, watch: Stopwatch
    ) -> Table:
        """Return at most ``n`` rows that each know the real row they descend from.

        The watch is told of the stages of a run: backbones, proposals, gates,
        evaluator and referee.
        """
        return self.make_for_groups(train, n, rng, watch, None)

    def make_for_groups(
        self,
        train: Table,
        n: int,
        rng: np.random.Generator,
        watch: Stopwatch,
        groups: IntArray | None,
    ) -> Table:
        """Return rows that were judged with every group on one side."""
        seed = int(rng.integers(2**31))
        preset = self.whole_preset()
        real = number_rows(train)
        request = request_for(real, preset, seed, groups, learner=self.learner)
        teacher = choose_teacher(self.teacher, real, task_of(real))
        request = replace(request, teacher=teacher)
        if n == 0:
            return train.empty()
        lineages = lineages_of(request)
        check_metric(request.metric, request.real)
        with watch.running("backbones"):
            stack = fit_stack(request, lineages)
        context = make_context(request, lineages, stack, watch)
        outcome = augment(context, fresh_start(request), Limits(budget=n))
        committed = outcome.progress.committed.rows
        return restore_origins(train, committed.take(lineages.delivered(committed)))


@dataclass(frozen=True, slots=True, kw_only=True)
class TaughtTAP(TAP):
    """The same with a teacher, as ``tabtap augment`` runs."""

    teacher: Any = "auto"

    name: ClassVar[str] = "TAP + teacher"


# ---- A run of the loop on rows that are a table already.


PAPER_REGRESSION_EVALUATOR = "holdout"
"""Who judges regression rows under the paper's protocol: the linear model of its
appendix F.  With no in-context model for numbers at hand, "auto" is an ensemble, which
is fitted ten times at every step: minutes for each table."""


def request_for(
    real: Table,
    preset: Preset,
    seed: int,
    groups: IntArray | None = None,
    *,
    learner: Any = "panel",  # noqa: ANN401  a name, a learner or an evaluator
) -> Request:
    """Return a run on some rows, as ``TabularAugmenter`` would ask for it.

    Rows must be numbered from 0 in their order; see ``number_rows``.  All chance comes
    from ``seed``; the folds are the same for every preset.  ``groups`` says whom each
    row belongs to; by default, exact copies belong together.  ``learner`` is whom rows
    must help, by default the mean of the panel.
    """
    task = task_of(real)
    name = preset.evaluators[task]
    is_paper = preset.augment.commit.protocol == "paper"
    if is_paper and task == "regression" and name == "auto":
        name = PAPER_REGRESSION_EVALUATOR
    config = preset.augment
    commit = commit_for(config.commit, learner, task)
    preset = replace(preset, augment=replace(config, commit=commit))
    n_folds = config.utility.n_folds
    return Request(
        real=real,
        preset=preset,
        seed=seed,
        evaluator=choose_judge(name, task, license_policy="open", n_jobs=1),
        referee=choose_referee(
            learner, task, license_policy="open", n_jobs=1, n_folds=n_folds
        ),
        metric=choose_metric(None),
        groups=copies_of(real, n_folds) if groups is None else groups,
    )


def number_rows(train: Table) -> Table:
    """Return the same rows, numbered from 0 as a user's are."""
    return replace(train, origin=np.arange(len(train), dtype=np.int64))


def restore_origins(train: Table, rows: Table) -> Table:
    """Return descendants of ``number_rows(train)`` as those of ``train``'s rows."""
    known = rows.origin >= 0
    origin = rows.origin.copy()
    origin[known] = train.origin[rows.origin[known]]
    return replace(rows, origin=origin)


def without_identifiers(rows: Table) -> Table:
    """Return the same rows with empty identifiers: a new row is nobody's."""
    kinds = [column.kind for column in rows.schema.features]
    named = np.array([kind is Kind.IDENTIFIER for kind in kinds], dtype=np.bool_)
    regenerate = np.broadcast_to(named, rows.missing.shape)
    return rows.redrawn(regenerate, rows.numeric, rows.categorical)
