"""Where proposed rows went: how many each gate refused, added up over steps.

Reads from: nothing.  Read by: result, report, cli.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Waterfall:
    """How many rows were proposed, and how many of them each gate refused.

    Examples
    --------
    >>> total = Waterfall(16, {"types": 0, "range": 3}) + Waterfall(16, {"range": 1})
    >>> print(total)
    32 proposed -> 0 types -> 4 range -> 28 admitted
    """

    proposed: int = 0

    refused: Mapping[str, int] = field(default_factory=dict)
    """By the first gate that did, in the order of the gates."""

    @property
    def admitted(self) -> int:
        """Rows that no gate refused."""
        return self.proposed - sum(self.refused.values())

    def __add__(self, other: Waterfall) -> Waterfall:
        names = dict.fromkeys([*self.refused, *other.refused])
        total = {
            name: self.refused.get(name, 0) + other.refused.get(name, 0)
            for name in names
        }
        return Waterfall(self.proposed + other.proposed, total)

    def __str__(self) -> str:
        """Return the counts as one line."""
        steps = [f"{count} {name}" for name, count in self.refused.items()]
        first, last = f"{self.proposed} proposed", f"{self.admitted} admitted"
        return " -> ".join([first, *steps, last])

    def to_dict(self) -> dict[str, Any]:
        """Return the counts as JSON knows them."""
        return {
            "proposed": self.proposed,
            "refused": dict(self.refused),
            "admitted": self.admitted,
        }

    @classmethod
    def from_dict(cls, counts: Mapping[str, Any]) -> Waterfall:
        """Return what ``to_dict`` gave."""
        return cls(counts["proposed"], dict(counts["refused"]))
