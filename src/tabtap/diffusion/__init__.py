"""The generator: learn a table in seconds, draw rows, redraw any chosen cells.

Reads from: errors, config, table.  Read by: api, compare, loop.  Torch lives here.
"""

from tabtap.config import DiffusionConfig
from tabtap.diffusion.backbone import (
    Backbone,
    BackboneStack,
    fit_backbone,
    fit_fold_backbones,
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
]
