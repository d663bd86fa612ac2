"""Any method with a teacher: its rows, and the targets that a teacher gives them.

Beside TAP with a teacher these tell what the generator gives and what the teacher.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tabtap.api.choices import task_of
from tabtap.evaluate.teachers import choose_teacher, relabel
from tabtap.rivals import method_named
from tabtap.stopwatch import Stopwatch
from tabtap.table.table import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Taught:
    """The rows of another method, relabelled by a teacher of the training rows."""

    method: str = "Jitter"
    """Whose rows."""

    teacher: str = "auto"
    """Who labels, as ``TabularAugmenter`` takes it."""

    def __post_init__(self) -> None:
        method_named(self.method)

    @property
    def name(self) -> str:
        """That of the method, and that somebody teaches."""
        return f"{self.method} + teacher"

    def make(
        self, train: Table, n: int, rng: np.random.Generator, watch: Stopwatch
    ) -> Table:
        """Return what the method makes, with the teacher's targets."""
        rows = method_named(self.method).make(train, n, rng, watch)
        teacher = choose_teacher(self.teacher, train, task_of(train)).teacher
        if teacher is None or not len(rows):
            return rows
        with watch.running("fit"):
            fitted = teacher.fit([train])
        with watch.running("sample"):
            return relabel(rows, fitted.predict([rows])[0], train)[0]
