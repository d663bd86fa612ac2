"""Where a command writes, checked before it works for minutes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from tabtap.errors import UserInputError


def check_file(option: str, path: Path, *, force: bool, never: str = "-") -> None:
    """Raise if a file cannot be written, or would be written over.

    Parameters
    ----------
    option : str
        The option that names it, for messages.
    path : Path
        The file.
    force : bool
        Whether a file that exists may be overwritten.
    never : str
        A file that may not be, whatever ``force`` says; ``-`` for none.
    """
    name = f"{option} {str(path)!r}"
    if path.exists() and not path.is_file() and not path.is_dir():
        return  # a device or a pipe
    if path.is_dir():
        raise UserInputError(f"{name} is a folder. Name a file in it.")
    if not path.parent.is_dir():
        raise UserInputError(
            f"{name} cannot be written: there is no folder {str(path.parent)!r}. "
            "Create it first."
        )
    if never != "-" and _is_same(path, Path(never)):
        raise UserInputError(f"{name} is the file that is read. Choose another name.")
    if path.exists() and not force:
        raise UserInputError(
            f"{name} exists already. Choose another name, or pass --force to "
            "overwrite it."
        )
    writable = path if path.exists() else path.parent
    if not os.access(writable, os.W_OK):
        raise UserInputError(
            f"{name} cannot be written: permission denied. Choose another place."
        )


def check_apart(named: Mapping[str, Path]) -> None:
    """Raise if two options name one file."""
    seen: dict[Path, str] = {}
    for option, path in named.items():
        place = path.absolute()
        if place in seen:
            raise UserInputError(
                f"{seen[place]} and {option} both name {str(path)!r}. Give each a file "
                "of its own."
            )
        seen[place] = option


def _is_same(path: Path, other: Path) -> bool:
    try:
        return path.samefile(other)
    except OSError:  # one of them is not there
        return path.absolute() == other.absolute()
