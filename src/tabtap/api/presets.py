"""Settings that go together, by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from tabtap.config import AugmentConfig, CommitConfig, DiffusionConfig, PolicyConfig
from tabtap.errors import bad_setting
from tabtap.table.schema import Task

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


PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        "default": Preset(),
        "fast": Preset(
            augment=AugmentConfig(
                actions_per_batch=32,
                policy=PolicyConfig(updates_per_step=0),
                commit=CommitConfig(patience=2),
            ),
            diffusion=DiffusionConfig(n_steps=600),
        ),
        "paper": Preset(
            augment=AugmentConfig.paper(),
            diffusion=DiffusionConfig.paper(),
            evaluators=_BEST,
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
