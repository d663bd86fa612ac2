"""How many rows of each template came through the gates lately."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tabtap.domain import TEMPLATES, Template
from tabtap.errors import UserInputError
from tabtap.table.schema import FloatArray

WINDOW = 10
"""Actions of a template that count as recent: older ones say little of the gates now,
because the rows held have changed."""

Counts = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class PassRates:
    """Rows passed and proposed by the latest actions of each template; g in the paper.

    One row that passed and one that did not are counted beforehand.  So a template that
    was never tried has a rate of a half, and none is ever quite 0 or 1.
    """

    recent: tuple[Counts, ...] = field(default=((),) * len(TEMPLATES))
    """For each template, oldest first: rows passed, rows proposed."""

    def updated(self, template: Template, n_passed: int, n_proposed: int) -> PassRates:
        """Return the rates after one more action; this value stays as it is.

        Raises
        ------
        UserInputError
            If more rows passed than were proposed, or fewer than none.
        """
        if not 0 <= n_passed <= n_proposed:
            raise UserInputError(
                f"{n_passed} of {n_proposed} rows cannot have passed the gates. "
                "Pass the admitted rows first, then the proposed ones."
            )
        place = TEMPLATES.index(template)
        latest = (*self.recent[place], (int(n_passed), int(n_proposed)))[-WINDOW:]
        before, after = self.recent[:place], self.recent[place + 1 :]
        return replace(self, recent=(*before, latest, *after))

    def shares(self) -> FloatArray:
        """Return the recent share of rows that passed, shape (n_templates,).

        Examples
        --------
        >>> PassRates().updated(Template.EXPLORE, 5, 8).shares()
        array([0.6, 0.5])
        """
        sums = [np.sum([(0, 0), *counts], axis=0) for counts in self.recent]
        return np.array([(passed + 1) / (tried + 2) for passed, tried in sums])

    def to_lists(self) -> dict[str, list[list[int]]]:
        """Return plain lists from which ``from_lists`` makes the same value."""
        return {
            template.value: [list(pair) for pair in counts]
            for template, counts in zip(TEMPLATES, self.recent, strict=True)
        }

    @classmethod
    def from_lists(cls, lists: Mapping[str, Sequence[Sequence[int]]]) -> PassRates:
        """Return the value that ``to_lists`` wrote down."""
        return cls(
            tuple(
                tuple((int(passed), int(tried)) for passed, tried in lists[name.value])
                for name in TEMPLATES
            )
        )
