"""The generator: learn a table in seconds, draw rows, redraw any chosen cells.

Torch lives here.
"""

from tabtap.config import DiffusionConfig
from tabtap.diffusion.backbone import (
    Backbone,
    BackboneStack,
    fit_backbone,
    fit_fold_backbones,
    load_backbone,
    load_stack,
)
from tabtap.diffusion.train import TrainingObserver, TrainingProgress, TrainingRecord

__all__ = [
    "Backbone",
    "BackboneStack",
    "DiffusionConfig",
    "TrainingObserver",
    "TrainingProgress",
    "TrainingRecord",
    "fit_backbone",
    "fit_fold_backbones",
    "load_backbone",
    "load_stack",
]
