"""Add rows to a small labelled table only where they are shown to help.

What users call is imported when it is first asked for, so ``import tabtap`` is instant
and torch is loaded only by whoever needs it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tabtap.api import TabularAugmenter, augment, inspect
    from tabtap.result import load_result as load

__version__ = "0.1.0"

__all__ = ["TabularAugmenter", "augment", "inspect", "load", "show_versions"]

_HOMES = {
    "TabularAugmenter": ("tabtap.api", "TabularAugmenter"),
    "augment": ("tabtap.api", "augment"),
    "inspect": ("tabtap.api", "inspect"),
    "load": ("tabtap.result", "load_result"),
}


def show_versions() -> None:
    """Print what a report of a mistake needs: versions, system and encodings.

    It loads none of the packages that it names, and names no folder and no user.  In a
    shell: ``python -c "import tabtap; tabtap.show_versions()"``.

    Examples
    --------
    >>> show_versions()  # doctest: +ELLIPSIS
    tabtap: ...
    """
    import locale
    import platform
    import sys

    about = {
        "tabtap": __version__,
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "system": platform.platform(),
        "encodings": f"{locale.getpreferredencoding(do_setlocale=False)} (files), "
        f"{getattr(sys.stdout, 'encoding', None)} (output)",
        **_dependencies(),
    }
    for name, value in about.items():
        print(f"{name}: {value}")  # noqa: T201  it is there to print


def _dependencies() -> dict[str, str]:
    """Return the versions of what is needed, and of those extras that are there."""
    import re
    from importlib import metadata

    try:
        wanted = metadata.requires("tabtap") or []
    except metadata.PackageNotFoundError:  # run from a folder, not installed
        wanted = []
    found: dict[str, str] = {}
    for line in wanted:
        name = re.split(r"[^\w.-]", line, maxsplit=1)[0]
        if name == "tabtap" or re.search("extra == .(dev|docs)", line):
            continue
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            if ";" not in line:  # an extra, or for another Python or system
                found[name] = "not installed"
    return found


def __getattr__(name: str) -> Any:  # noqa: ANN401  whatever is asked for
    if name not in _HOMES:
        raise AttributeError(f"module 'tabtap' has no attribute {name!r}")
    home, inner = _HOMES[name]
    return getattr(import_module(home), inner)


def __dir__() -> list[str]:
    # Not what this module imports: people read the list, and editors offer it.
    return sorted([*__all__, "__version__", "__doc__", "__all__"])
