"""One sentence for a number that a setting cannot take."""

from __future__ import annotations

import math

from tabtap.errors import bad_setting


def check_whole(name: str, got: object, *, least: int, hint: object) -> None:
    """Refuse anything but a whole number of at least ``least``."""
    whole = isinstance(got, int) and not isinstance(got, bool)
    if not whole or got < least:  # type: ignore[operator]
        must = f"be a whole number, at least {least}"
        raise bad_setting(name, got, must, f"Try {hint}.")


def check_between(
    name: str,
    got: object,
    low: float,
    high: float,
    *,
    hint: object,
    open_ends: bool = False,
) -> None:
    """Refuse anything but a number from ``low`` to ``high``."""
    number = isinstance(got, (int, float)) and not isinstance(got, bool)
    fine = number and math.isfinite(got) and low <= got <= high  # type: ignore[arg-type,operator]
    if fine and open_ends:
        fine = low < got < high  # type: ignore[operator]
    if not fine:
        ends = "lie between" if open_ends else "lie from"
        joint = "and" if open_ends else "to"
        raise bad_setting(name, got, f"{ends} {low:g} {joint} {high:g}", f"Try {hint}.")
