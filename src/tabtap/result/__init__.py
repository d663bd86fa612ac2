"""What a run returns: rows, where they come from, the evidence, and one file of it."""

from tabtap.result.files import RunAbout, installed_versions
from tabtap.result.frames import Waterfall
from tabtap.result.loading import load_result
from tabtap.result.privacy import Privacy
from tabtap.result.result import AugmentResult
from tabtap.result.verify import Finding, verify

__all__ = [
    "AugmentResult",
    "Finding",
    "Privacy",
    "RunAbout",
    "Waterfall",
    "installed_versions",
    "load_result",
    "verify",
]
