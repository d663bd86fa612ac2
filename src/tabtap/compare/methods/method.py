"""What a method of augmentation is: rows and a number in, synthetic rows out.

A method is a frozen dataclass; its fields are its settings, and they are what a record
of a comparison says about it.  There is no base class.
"""

from __future__ import annotations

from dataclasses import asdict, is_dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from tabtap.stopwatch import Stopwatch
from tabtap.table.schema import IntArray
from tabtap.table.table import Table


class Method(Protocol):
    """Makes rows from the rows of a training table."""

    @property
    def name(self) -> str:
        """The name it goes by in tables, such as ``"CTGAN"``."""

    def make(
        self, train: Table, n: int, rng: np.random.Generator, watch: Stopwatch
    ) -> Table:
        """Return at most ``n`` rows of the schema of ``train``.

        Parameters
        ----------
        train : Table
            Real rows, of which at least one.  They are not changed.
        n : int
            Rows wanted.  A method that decides for itself may return fewer.
        rng : numpy.random.Generator
            The only source of chance: equal states give equal rows.
        watch : Stopwatch
            Told of the stages, ``"fit"`` and ``"sample"``, while they run.

        Raises
        ------
        UserInputError
            If the method cannot work with such a table.
        """


@runtime_checkable
class MindsGroups(Protocol):
    """A method that can be told which rows belong together."""

    def make_for_groups(
        self,
        train: Table,
        n: int,
        rng: np.random.Generator,
        watch: Stopwatch,
        groups: IntArray,
    ) -> Table:
        """Return rows as ``make`` does; ``groups`` has one code for each row."""


def describe_method(method: Method) -> dict[str, Any]:
    """Return a method's name and settings, as a record keeps them."""
    settings: dict[str, Any] = {}
    if is_dataclass(method) and not isinstance(method, type):
        settings = asdict(method)
    return {"name": method.name, **settings}
