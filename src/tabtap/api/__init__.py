"""What users call: the augmenter, one function, and the presets.

This is the only place that picks concrete stages.
"""

from tabtap.api.augmenter import TabularAugmenter, augment
from tabtap.api.inspection import Inspection, inspect
from tabtap.config import PRESETS, Preset

__all__ = [
    "PRESETS",
    "Inspection",
    "Preset",
    "TabularAugmenter",
    "augment",
    "inspect",
]
