"""Settings, checked when they are made; each part is given its own section only."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any, Literal, TypeVar

from tabtap.errors import bad_setting
from tabtap.table.schema import Task

__all__ = [
    "AugmentConfig",
    "CommitConfig",
    "DiffusionConfig",
    "GateConfig",
    "PolicyConfig",
    "ProposalConfig",
    "SizeConfig",
    "TeachingConfig",
    "UtilityConfig",
]


# ---- Settings of an augmentation run, one section for each stage.
#
# Defaults are the product's, chosen by measurement; ``AugmentConfig.paper()`` is Table
# 4 of the paper, exactly.


Protocol = Literal["crossfit", "paper"]
PolicyLoss = Literal["logistic", "kto"]
Explored = Literal["columns", "numbers"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyConfig:
    """The small network that chooses actions, and how it learns (appendix C)."""

    n_layers: int = 2
    width: int = 128
    """Hidden layers of the policy and units of each."""

    loss: PolicyLoss = "logistic"
    """How labelled actions pull: as evidence to be weighed, or as the KTO paper has it.
    The first stays at the reference policy when feedback is noise."""

    learning_rate: float = 3e-4
    """Step size of AdamW."""

    max_grad_norm: float = 0.5
    """Longest gradient that is followed; longer ones are shortened to it."""

    kl_strength: float = 3.0
    """How dear it is to leave the reference policy; the paper's beta."""

    feedback_quantile: float = 0.6
    """Share of recent advantages that are too small to learn from; gives kappa."""

    feedback_window: int = 200
    """Advantages that count as recent."""

    batch_size: int = 32
    """Most labelled actions in one update; the paper's minibatch."""

    updates_per_step: int = 8
    """Gradient steps after each batch of actions."""

    deficit_strength: float = 3.0
    """How strongly the reference policy prefers targets that are short of rows."""

    explore_share: float = 0.9
    """Chance of the explore template in the reference policy, when all rows pass."""

    exploration: float = 1.0
    """Mean of the reference policy's exploration, when all rows pass."""

    exploration_scale: float = 0.2
    """Standard deviation of the reference policy's exploration."""

    def __post_init__(self) -> None:
        if self.loss not in ("logistic", "kto"):
            must = "be 'logistic' or 'kto'"
            raise bad_setting("loss", self.loss, must, "Try 'logistic'.")
        check_whole("n_layers", self.n_layers, least=1, hint=2)
        check_whole("width", self.width, least=1, hint=128)
        check_whole("feedback_window", self.feedback_window, least=1, hint=200)
        check_whole("batch_size", self.batch_size, least=1, hint=32)
        check_whole("updates_per_step", self.updates_per_step, least=0, hint=8)
        for name, low, high, hint in (
            ("learning_rate", 0.0, 1.0, 3e-4),
            ("max_grad_norm", 0.0, 1e6, 0.5),
            ("kl_strength", 0.0, 1e6, 3.0),
            ("exploration_scale", 0.0, 10.0, 0.2),
            ("explore_share", 0.0, 1.0, 0.5),
        ):
            check_between(
                name, getattr(self, name), low, high, hint=hint, open_ends=True
            )
        for name, low, high, hint in (
            ("feedback_quantile", 0.0, 1.0, 0.6),
            ("deficit_strength", 0.0, 1e6, 3.0),
            ("exploration", 0.0, 1.0, 0.5),
        ):
            check_between(name, getattr(self, name), low, high, hint=hint)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalConfig:
    """How rows are proposed (section 3.2, appendix C.2.3)."""

    candidates_per_step: int = 8
    """Rows proposed for each action, before any gate."""

    hard_share: float = 0.0
    """Share of the anchors that are drawn by hardness; the others evenly."""

    important_share: float = 0.3
    """Share of the columns that the conservative template keeps."""

    n_bootstraps: int = 10
    """Resamples that say how stable a column's statistics are."""

    redraw_target: bool = True
    """Whether a regression target is drawn anew, near its own and inside its bin."""

    explored: Explored = "columns"
    """What exploration takes its share of: all columns that the template frees, or
    their numbers only, the others being redrawn always, as in the paper."""

    def __post_init__(self) -> None:
        if self.explored not in ("columns", "numbers"):
            must = "be 'columns' or 'numbers'"
            raise bad_setting("explored", self.explored, must, "Try 'columns'.")
        check_whole("candidates_per_step", self.candidates_per_step, least=1, hint=8)
        check_whole("n_bootstraps", self.n_bootstraps, least=2, hint=10)
        check_between("hard_share", self.hard_share, 0.0, 1.0, hint=0.5)
        check_between("important_share", self.important_share, 0.0, 1.0, hint=0.3)


@dataclass(frozen=True, slots=True, kw_only=True)
class TeachingConfig:
    """What changes about proposals where a teacher labels them."""

    candidates_per_step: int = 20
    """Rows proposed for each action: who learns a teacher's answers gains from more of
    them, and a window then offers a usual budget at once."""

    cross_share: float = 0.5
    """Share of the candidates that keep half of a row with any target and are redrawn
    for the one that was asked: rows between the targets, which a teacher can label."""

    def __post_init__(self) -> None:
        check_whole("candidates_per_step", self.candidates_per_step, least=1, hint=20)
        check_between("cross_share", self.cross_share, 0.0, 1.0, hint=0.5)


@dataclass(frozen=True, slots=True, kw_only=True)
class GateConfig:
    """Which rows are refused (appendix C.2.4, Table 4)."""

    range_quantiles: tuple[float, float] = (0.0, 1.0)
    """Quantiles of the real column between which numbers must lie."""

    plausibility: bool = False
    """Whether a row must be plausible to an evaluator that has not seen its anchor."""

    min_probability: float = 0.3
    """Least out-of-fold probability of a row's own label; the paper's p_min."""

    min_margin: float = 0.1
    """How far its own label must be ahead of the next."""

    residual_percentile: float = 95.0
    """Percentile of real out-of-fold residuals that a row's may not exceed."""

    min_distance: float = 0.1
    """Nearer than this to another row is a copy; in typical gaps of real rows."""

    def __post_init__(self) -> None:
        pair = self.range_quantiles
        if (
            not isinstance(pair, tuple)
            or len(pair) != 2
            or not 0 <= pair[0] < pair[1] <= 1
        ):
            must = "be two rising numbers in [0, 1]"
            raise bad_setting("range_quantiles", pair, must, "Try (0.01, 0.99).")
        check_between("min_probability", self.min_probability, 0.0, 1.0, hint=0.3)
        check_between("min_margin", self.min_margin, -1.0, 1.0, hint=0.1)
        check_between(
            "residual_percentile", self.residual_percentile, 0.0, 100.0, hint=95
        )
        check_between("min_distance", self.min_distance, 0.0, 1e6, hint=0.1)


@dataclass(frozen=True, slots=True, kw_only=True)
class UtilityConfig:
    """How the worth of a few rows is estimated at every step (section 3.3)."""

    n_folds: int = 5
    """Folds of the real rows; the paper's M."""

    n_partitions: int = 4
    """Times that the rows are cut into folds, each time anew, for a named learner.

    Two at most for a whole panel; fewer for many rows, too.
    """

    focus_fraction: float = 1.0
    """Share of each fold's rows, the hardest, that are asked about; alpha."""

    max_committed: int | None = 100
    """Most committed rows beside the real ones in a question; None: all of them."""

    def __post_init__(self) -> None:
        check_whole("n_folds", self.n_folds, least=2, hint=5)
        check_whole("n_partitions", self.n_partitions, least=1, hint=4)
        if self.max_committed is not None:
            check_whole("max_committed", self.max_committed, least=0, hint=100)
        check_between("focus_fraction", self.focus_fraction, 0.0, 1.0, hint=1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitConfig:
    """When a pool may enter the training table (section 3.4)."""

    protocol: Protocol = "crossfit"
    """Who judges a pool: cross-fitted rows and a referee, or the paper's rule."""

    window_length: int = 32
    """Steps between two commitment checks; the paper's K."""

    min_gain: float = 0.01
    """Smallest estimated gain that is worth having: 0.01 is one point of accuracy, or
    1 % of the RMSE; of the score itself where ``scoring`` names one.  In the paper's
    protocol its tau: what the gain must exceed beyond its error bar."""

    confidence: float = 0.75
    """One-sided confidence of the run; single attempts are held to more, at 0.75 to
    81.2 %, then 95.3, 98.8, ... %.  In the paper's protocol: two-sided, of a check."""

    best_confidence: float = 0.95
    """The same for classes where no learner is named: what new rows do for the best of
    several is little there, so that at 0.75 much of what passes has passed by luck."""

    increment_confidence: float = 0.5
    """One-sided confidence that a pool adds to those before it; 0.5: more likely than
    not.  Without a meaning in the paper's protocol."""

    patience: int = 2
    """Windows that may fail in a row before the run ends."""

    def __post_init__(self) -> None:
        if self.protocol not in ("crossfit", "paper"):
            must = "be 'crossfit' or 'paper'"
            raise bad_setting("protocol", self.protocol, must, "Try 'crossfit'.")
        check_whole("window_length", self.window_length, least=1, hint=32)
        check_whole("patience", self.patience, least=1, hint=3)
        check_between("min_gain", self.min_gain, -1e6, 1e6, hint=0.0)
        for name in ("confidence", "best_confidence"):
            got = getattr(self, name)
            check_between(name, got, 0.0, 1.0, hint=0.8, open_ends=True)
        increment = self.increment_confidence
        check_between("increment_confidence", increment, 0.5, 0.9999, hint=0.5)


@dataclass(frozen=True, slots=True, kw_only=True)
class AugmentConfig:
    """Everything one augmentation run needs to know besides the data."""

    n_steps: int = 384
    """Most actions the policy takes; the paper's horizon T."""

    actions_per_batch: int = 8
    """Actions drawn, generated and judged together; 1 is the paper's algorithm."""

    policy: PolicyConfig = field(default_factory=PolicyConfig)
    proposal: ProposalConfig = field(default_factory=ProposalConfig)
    gates: GateConfig = field(default_factory=GateConfig)
    utility: UtilityConfig = field(default_factory=UtilityConfig)
    commit: CommitConfig = field(default_factory=CommitConfig)

    def __post_init__(self) -> None:
        check_whole("n_steps", self.n_steps, least=1, hint=384)
        check_whole("actions_per_batch", self.actions_per_batch, least=1, hint=8)
        window = self.commit.window_length
        if leftover := self.n_steps % window:
            raise bad_setting(
                "n_steps",
                self.n_steps,
                f"be a multiple of window_length={window}",
                f"The last {leftover} steps would be generated and never checked. "
                f"Use {self.n_steps - leftover + window}.",
            )

    @classmethod
    def paper(cls) -> AugmentConfig:
        """Return the settings of Table 4 of the paper."""
        return cls(
            n_steps=200,
            actions_per_batch=1,
            policy=PolicyConfig(
                loss="kto",
                updates_per_step=1,
                deficit_strength=1.0,
                explore_share=0.5,
                exploration=0.5,
            ),
            proposal=ProposalConfig(
                candidates_per_step=16,
                hard_share=0.5,
                redraw_target=False,
                explored="numbers",
            ),
            gates=GateConfig(range_quantiles=(0.01, 0.99), plausibility=True),
            utility=UtilityConfig(
                n_partitions=1, focus_fraction=0.2, max_committed=None
            ),
            commit=CommitConfig(
                protocol="paper",
                window_length=20,
                min_gain=0.0,
                confidence=0.95,
                patience=10,  # every window: algorithm 1 knows no other end
            ),
        )


# ---- One sentence for a number that a setting cannot take.


def check_whole(name: str, got: object, *, least: int, hint: object) -> None:
    """Refuse anything but a whole number of at least ``least``."""
    whole = isinstance(got, int) and not isinstance(got, bool)
    if not whole or got < least:  # type: ignore[operator]
        must = f"be a whole number, at least {least}"
        raise bad_setting(name, got, must, f"Try {hint}.")


def check_between(
    name: str,
    got: object,
    low: float,
    high: float,
    *,
    hint: object,
    open_ends: bool = False,
) -> None:
    """Refuse anything but a number from ``low`` to ``high``."""
    number = isinstance(got, (int, float)) and not isinstance(got, bool)
    fine = number and math.isfinite(got) and low <= got <= high  # type: ignore[arg-type,operator]
    if fine and open_ends:
        fine = low < got < high  # type: ignore[operator]
    if not fine:
        ends = "lie between" if open_ends else "lie from"
        joint = "and" if open_ends else "to"
        raise bad_setting(name, got, f"{ends} {low:g} {joint} {high:g}", f"Try {hint}.")


# ---- How the inpainter is built, trained and sampled.


Size = Literal["compact", "paper"]
Schedule = Literal["fixed", "learned"]
Conditioning = Literal["clean", "overwrite"]
Scale = Literal["standard", "quantile"]

_CHOICES = {
    "size": ("compact", "paper"),
    "schedule": ("fixed", "learned"),
    "conditioning": ("clean", "overwrite"),
    "scale": ("standard", "quantile"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffusionConfig:
    """How the inpainter is built, trained and sampled; the default is the compact one.

    Every default was chosen by measurement: docs/results/backbone.md, DECISIONS.md.
    """

    size: Size = "compact"
    """Network: a small MLP, or TabDiff's transformer around a large MLP."""

    width: int = 192
    """Hidden units of each layer of the MLP."""

    depth: int = 3
    """Residual layers of the compact MLP."""

    n_steps: int | None = None
    """Most training steps; None: 1,000 for small tables, more for large ones."""

    batch_size: int | None = None
    """Rows per training step; None: 128 for small tables, more for large ones."""

    early_stopping: bool = True
    """Whether training ends before its last step once the loss has levelled off."""

    learning_rate: float = 2e-3
    """Highest step size of AdamW."""

    ema_decay: float = 0.995
    """Decay of the averaged weights that are used for sampling."""

    schedule: Schedule = "fixed"
    """One noise schedule for all columns, or TabDiff's, learned for each column."""

    conditioning: Conditioning = "clean"
    """How kept cells are given: clean with an indicator, or by equation 9."""

    scale: Scale = "standard"
    """Scale of the numbers: standard deviations, or TabDiff's quantile-normal one.
    What is drawn beyond ``clip_quantiles`` is reflected, or with the latter clipped."""

    smoothing: float | None = None
    """Bandwidth, in [0, 1), of the smoothed table that is learned; None: by rows."""

    clip_quantiles: tuple[float, float] = (0.0, 1.0)
    """Quantiles of the real column between which drawn numbers stay."""

    n_sample_steps: int = 18
    """Steps of the reverse process, two network calls each."""

    sigma_min: float = 0.01
    sigma_max: float = 10.0
    """Smallest and largest noise of a sampled number, in its standard deviations."""

    churn: float = 0.3
    """Share of fresh noise added before each reverse step; 0 is the plain ODE."""

    category_phase: float = 0.35
    """Share of the reverse steps, the last ones, in which categories appear."""

    max_levels: int = 64
    """Most levels of a category with a token of their own; the rest share one."""

    device: str = "auto"
    """``auto`` takes CUDA, then MPS, then the CPU; or any torch device."""

    def __post_init__(self) -> None:
        self._check_choices()
        self._check_counts()
        self._check_numbers()
        self._check_ranges()

    @classmethod
    def paper(cls) -> DiffusionConfig:
        """Return TabDiff as the paper uses it (appendix D.2.1)."""
        return cls(
            size="paper",
            width=1024,
            n_steps=8000,
            batch_size=4096,
            early_stopping=False,
            learning_rate=1e-3,
            ema_decay=0.997,
            schedule="learned",
            conditioning="overwrite",
            scale="quantile",
            smoothing=0.0,
            clip_quantiles=(0.01, 0.99),
            n_sample_steps=50,
            sigma_min=0.002,
            sigma_max=80.0,
            churn=1.0,
        )

    def _check_choices(self) -> None:
        for name, accepted in _CHOICES.items():
            if getattr(self, name) not in accepted:
                must = f"be one of {', '.join(map(repr, accepted))}"
                raise bad_setting(
                    name, getattr(self, name), must, f"Try {accepted[0]!r}."
                )

    def _check_counts(self) -> None:
        for name, least, hint in (
            ("width", 1, 192),
            ("depth", 1, 3),
            ("n_steps", 1, 1000),
            ("batch_size", 1, 128),
            ("n_sample_steps", 2, 18),
            ("max_levels", 2, 64),
        ):
            got = getattr(self, name)
            if got is None and name in ("n_steps", "batch_size"):
                continue
            whole = isinstance(got, int) and not isinstance(got, bool)
            if not whole or got < least:
                must = f"be a whole number, at least {least}"
                raise bad_setting(name, got, must, f"Try {hint}.")

    def _check_numbers(self) -> None:
        for name in ("learning_rate", "ema_decay", "sigma_min", "sigma_max", "churn",
                     "category_phase"):  # fmt: skip
            got = getattr(self, name)
            if not isinstance(got, (int, float)) or not math.isfinite(got):
                raise bad_setting(name, got, "be a finite number", "Leave it out.")
        pair = self.clip_quantiles
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise bad_setting(
                "clip_quantiles", pair, "be a pair of numbers", "Try (0.01, 0.99)."
            )

    def _check_ranges(self) -> None:
        low, high = self.clip_quantiles
        for name, fine, must, fix in (
            ("learning_rate", self.learning_rate > 0, "be positive", "Try 0.002."),
            ("ema_decay", 0 <= self.ema_decay < 1, "lie in [0, 1)", "Try 0.995."),
            ("smoothing", 0 <= (self.smoothing or 0) < 1, "lie in [0, 1)", "Try 0.5."),
            ("sigma_min", 0 < self.sigma_min < self.sigma_max, "lie between 0 and "
             f"sigma_max={self.sigma_max}", "Try 0.01."),
            ("clip_quantiles", 0 <= low < high <= 1, "be two rising numbers in [0, 1]",
             "Try (0.01, 0.99)."),
            ("category_phase", 0 < self.category_phase <= 1, "lie in (0, 1]",
             "Try 0.35."),
            ("churn", self.churn >= 0, "not be negative", "Try 0.3."),
        ):  # fmt: skip
            if not fine:
                raise bad_setting(name, getattr(self, name), must, fix)


# ---- What a run may cost on a table of many rows.


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeConfig:
    """How large a table may be (docs/results/scale.md)."""

    max_learned_rows: int = 3000
    """Most rows that are learned: of more, an even sample that keeps rare classes
    whole.  Pools are judged on all rows, except under the paper's protocol."""

    max_judged_cells: int = 8_000_000
    """Most rows times columns of a table whose pools are judged; one with more gets no
    rows.  200,000 rows of 40 columns."""

    max_checked_cells: int = 96_000_000
    """The same, of all checks of a run together: with more rows fewer pools are judged,
    at least one.  Twelve are the most that ``n_steps`` leaves room for."""

    def __post_init__(self) -> None:
        check_whole("max_learned_rows", self.max_learned_rows, least=20, hint=3000)
        check_whole(
            "max_checked_cells", self.max_checked_cells, least=1, hint=96_000_000
        )
        check_whole("max_judged_cells", self.max_judged_cells, least=1, hint=8_000_000)


# ---- Settings that go together, by name.


_BEST: dict[Task, str] = {"classification": "auto", "regression": "auto"}
_LINEAR: dict[Task, str] = {"classification": "linear", "regression": "linear"}
"""Steps only steer the policy, and there are hundreds of questions: a line is quick
and, by the tables that come of it, as good; see DECISIONS.md.  Pools have a referee.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """One choice for every setting of a run."""

    augment: AugmentConfig = field(default_factory=AugmentConfig)
    diffusion: DiffusionConfig = field(default_factory=DiffusionConfig)

    evaluators: Mapping[Task, str] = field(default_factory=lambda: dict(_LINEAR))
    """What ``evaluator="auto"`` stands for, by task."""

    teacher: str = "auto"
    """What ``teacher="auto"`` stands for."""

    teaching: TeachingConfig = field(default_factory=TeachingConfig)
    """Where somebody teaches."""

    sizes: SizeConfig = field(default_factory=SizeConfig)
    """For tables of many rows."""


PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        "default": Preset(),
        "fast": Preset(
            augment=AugmentConfig(
                actions_per_batch=32,
                policy=PolicyConfig(updates_per_step=0),
                utility=UtilityConfig(n_partitions=3),
                commit=CommitConfig(patience=1),
            ),
            diffusion=DiffusionConfig(n_steps=300),
            sizes=SizeConfig(max_checked_cells=16_000_000),
        ),
        "paper": Preset(
            augment=AugmentConfig.paper(),
            diffusion=DiffusionConfig.paper(),
            evaluators=_BEST,
            teacher="none",
        ),
    }
)
"""``default``: honest and good; ``fast``: honest and quick; ``paper``: as published."""


def preset_named(name: object) -> Preset:
    """Return a preset by its name, or the preset itself if it is one."""
    if isinstance(name, Preset):
        return name
    if not isinstance(name, str) or name not in PRESETS:
        known = ", ".join(map(repr, PRESETS))
        raise bad_setting("preset", name, f"be one of {known}", "Try 'default'.")
    return PRESETS[name]


# ---- Settings as a mapping, such as a TOML file has them.


def settings_of(config: AugmentConfig) -> dict[str, Any]:
    """Return what a run is known by: its settings, without those of later versions.

    A setting that older versions did not have is left out where it does as they did, so
    that runs they have kept go on.
    """
    settings = asdict(config)
    if config.proposal.explored == "columns":
        del settings["proposal"]["explored"]
    return settings


_Section = TypeVar("_Section")


def with_settings(section: _Section, given: Mapping[str, Any]) -> _Section:
    """Return settings with some of them changed, checked as always.

    A section within is changed by a mapping of its own, and a pair by a list.

    Examples
    --------
    >>> changed = with_settings(AugmentConfig(), {"commit": {"window_length": 16}})
    >>> changed.commit.window_length, changed.n_steps
    (16, 384)
    """
    known = [part.name for part in fields(section)]  # type: ignore[arg-type]
    changes: dict[str, Any] = {}
    for name, value in given.items():
        if name not in known:
            close = get_close_matches(name, known, n=1)
            hint = f"Did you mean {close[0]!r}?" if close else "Leave it out."
            what = type(section).__name__
            raise bad_setting(
                name, value, f"be one of {what}: {', '.join(known)}", hint
            )
        now = getattr(section, name)
        if is_dataclass(now):
            if not isinstance(value, Mapping):
                must = "be a table of settings"
                raise bad_setting(name, value, must, f"Try {name} = {{ ... }}.")
            changes[name] = with_settings(now, value)
        else:
            changes[name] = tuple(value) if isinstance(value, list) else value
    return replace(section, **changes)  # type: ignore[type-var]


SECTIONS = ("augment", "diffusion", "teaching")
"""Parts of a preset that can be changed setting by setting."""


def changed_preset(preset: Preset, changes: Mapping[str, Mapping[str, Any]]) -> Preset:
    """Return a preset with settings of its sections changed.

    A section may name a ``preset`` of which it is taken whole, before it is changed.

    Examples
    --------
    >>> paper = preset_named("paper")
    >>> small = changed_preset(paper, {"diffusion": {"preset": "fast", "width": 64}})
    >>> small.diffusion.n_steps, small.diffusion.width, small.augment.n_steps
    (300, 64, 200)
    """
    for name, given in changes.items():
        if name not in SECTIONS:
            must = f"be one of {', '.join(SECTIONS)}"
            raise bad_setting("section", name, must, "Leave it out.")
        if not isinstance(given, Mapping):
            must = "be a table of settings"
            raise bad_setting(name, given, must, f"Try {name} = {{ ... }}.")
        own = {key: value for key, value in given.items() if key != "preset"}
        source = preset_named(given["preset"]) if "preset" in given else preset
        section = with_settings(getattr(source, name), own)
        preset = replace(preset, **{name: section})
    return preset
