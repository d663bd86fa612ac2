"""The loop: Algorithm 1 of the paper, and when a pool may enter the table."""

from tabtap.loop.augment import (
    Limits,
    Outcome,
    Progress,
    RunContext,
    Stages,
    Stop,
    augment,
)
from tabtap.loop.commit import CrossfitCommitment, PaperCommitment

__all__ = [
    "CrossfitCommitment",
    "Limits",
    "Outcome",
    "PaperCommitment",
    "Progress",
    "RunContext",
    "Stages",
    "Stop",
    "augment",
]
