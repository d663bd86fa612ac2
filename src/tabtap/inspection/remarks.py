"""One remark on a table: what was found, and the setting that answers it."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """Something that a person should look at before rows are added."""

    topic: str
    """One of ``leak``, ``identifier``, ``lost``, ``groups``, ``imbalance``,
    ``tiny class``, ``duplicates``, ``constant``, ``missing``, ``few rows``."""

    column: Hashable | None
    """None if it is about the table as a whole."""

    text: str
    """A sentence."""

    setting: str | None = None
    """The setting that answers it, such as ``groups`` or ``ignore``, for ``column``."""


def share(part: int, whole: int) -> str:
    """Return a share in words of percent, never rounded to none or all.

    Examples
    --------
    >>> share(1, 1000), share(999, 1000), share(1, 4)
    ('under 1 %', 'over 99 %', '25 %')
    """
    percent = 100 * part / whole
    if 0 < percent < 1:
        return "under 1 %"
    if 99 < percent < 100:
        return "over 99 %"
    return f"{percent:.0f} %"


def rows(number: int) -> str:
    """Return a number of rows in words."""
    return "1 row" if number == 1 else f"{number} rows"
