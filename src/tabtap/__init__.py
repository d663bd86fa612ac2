"""Add rows to a small labelled table only where they are shown to help.

What users call is imported when it is first asked for, so ``import tabtap`` is instant
and torch is loaded only by whoever needs it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tabtap.api import TabularAugmenter, augment
    from tabtap.result import load_result as load

__version__ = "0.1.0"

__all__ = ["TabularAugmenter", "augment", "load"]

_HOMES = {
    "TabularAugmenter": ("tabtap.api", "TabularAugmenter"),
    "augment": ("tabtap.api", "augment"),
    "load": ("tabtap.result", "load_result"),
}


def __getattr__(name: str) -> Any:  # noqa: ANN401  whatever is asked for
    if name not in _HOMES:
        raise AttributeError(f"module 'tabtap' has no attribute {name!r}")
    home, inner = _HOMES[name]
    return getattr(import_module(home), inner)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
