"""The gates: which candidate rows are refused, why, and how many.

A gate judges each row by itself; see ``stages.Gate``.  A gate of your own is a class
with a ``name`` and a method ``passes``.
"""

from tabtap.gates.gates import (
    Gates,
    InRange,
    NewRow,
    Plausible,
    ValidTypes,
    admit,
    standard_gates,
)
from tabtap.gates.rules import BrokenRule, RuleReport, Rules

__all__ = [
    "BrokenRule",
    "Gates",
    "InRange",
    "NewRow",
    "Plausible",
    "RuleReport",
    "Rules",
    "ValidTypes",
    "admit",
    "standard_gates",
]
