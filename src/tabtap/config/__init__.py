"""Settings, checked when they are made; each part is given its own section only."""

from tabtap.config.augment import (
    AugmentConfig,
    CommitConfig,
    GateConfig,
    PolicyConfig,
    ProposalConfig,
    UtilityConfig,
)
from tabtap.config.diffusion import DiffusionConfig

__all__ = [
    "AugmentConfig",
    "CommitConfig",
    "DiffusionConfig",
    "GateConfig",
    "PolicyConfig",
    "ProposalConfig",
    "UtilityConfig",
]
