"""What is to be written: the rows, how many of them are real, and their model."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from tabtap.files.file_table import FileTable


@dataclass(frozen=True, kw_only=True, eq=False)
class Order:
    """One table to be written."""

    frame: Any
    """Real rows first, then synthetic ones."""

    n_real: int

    like: FileTable | None = None
    """The file whose form and real rows are kept."""

    mark: str | None = None
    """Name of an extra last column: 0 for real rows, 1 for synthetic ones."""

    @cached_property
    def places(self) -> list[int] | None:
        """Which row of the model each real row is; None if some row is none of them.

        The row labels say it, and are believed only if the values agree.
        """
        if self.like is None:
            return None
        real = self.frame.iloc[: self.n_real]
        labels = real.index
        if not pd.api.types.is_integer_dtype(labels.dtype) or not labels.is_unique:
            return None
        places = [int(label) for label in labels]
        inside = all(0 <= place < len(self.like.frame) for place in places)
        if inside and same_rows(self.like.frame.iloc[places], real):
            return places
        return None

    @property
    def keeps_all(self) -> bool:
        """Whether the real rows are those of the model, all of them in their order."""
        whole = [] if self.like is None else range(len(self.like.frame))
        return self.places is not None and self.places == list(whole)

    @property
    def is_unchanged(self) -> bool:
        """Whether there is nothing to add to the model or to leave out."""
        return self.mark is None and len(self.frame) == self.n_real and self.keeps_all

    @property
    def marked(self) -> Any:  # noqa: ANN401 - a pandas DataFrame
        """The frame with the extra column, if one is wanted."""
        if self.mark is None:
            return self.frame
        flags = [0] * self.n_real + [1] * (len(self.frame) - self.n_real)
        return self.frame.assign(**{self.mark: flags})


def same_rows(left: pd.DataFrame, right: pd.DataFrame) -> bool:
    """Whether two frames hold the same values, whatever their dtypes."""
    if list(left.columns) != list(right.columns) or len(left) != len(right):
        return False
    return all(
        _same_cells(left.iloc[:, i], right.iloc[:, i]) for i in range(left.shape[1])
    )


def _same_cells(left: pd.Series, right: pd.Series) -> bool:
    present = left.notna().to_numpy(dtype=bool)
    if (present != right.notna().to_numpy(dtype=bool)).any():
        return False
    ours = left.to_numpy(dtype=object)[present]
    theirs = right.to_numpy(dtype=object)[present]
    return bool((ours == theirs).all())
