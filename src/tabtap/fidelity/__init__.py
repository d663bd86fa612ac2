"""How like the real rows synthetic rows are, and how near: figures, no verdict.

Reads from: its own modules.  Read by: report, compare, benchmarks.
"""

from tabtap.fidelity.likeness import CopyShare, copy_share, shape_error, trend_error

__all__ = ["CopyShare", "copy_share", "shape_error", "trend_error"]
