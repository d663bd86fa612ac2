"""How like the real rows synthetic rows are, and how near: figures, no verdict."""

from tabtap.fidelity.closeness import Closeness, measure_closeness
from tabtap.fidelity.likeness import (
    CopyShare,
    copy_share,
    shape_error,
    shape_errors,
    trend_error,
)
from tabtap.fidelity.relations import associations
from tabtap.fidelity.telling import telling_apart
from tabtap.fidelity.yardstick import drawn_again

__all__ = [
    "Closeness",
    "CopyShare",
    "associations",
    "copy_share",
    "drawn_again",
    "measure_closeness",
    "shape_error",
    "shape_errors",
    "telling_apart",
    "trend_error",
]
