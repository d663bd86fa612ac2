"""The old home of ``tabtap.config.PRESETS``, kept until 0.3."""

from tabtap.config import PRESETS, Preset

__all__ = ["PRESETS", "Preset"]
