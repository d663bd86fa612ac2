"""Where a table may be written to, asked before the work and again at its end."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from tabtap.errors import UserInputError
from tabtap.files.excel import load_openpyxl
from tabtap.files.file_table import Compression, FileTable, Format
from tabtap.files.formats import form_of
from tabtap.files.sources import STANDARD


class Destination(NamedTuple):
    """A place to write to, with the form its name asks for."""

    path: Path | None
    """None for standard output."""

    format: Format
    compression: Compression | None = None
    is_regular: bool = False
    """Whether a file can be put there; a pipe or device is written to directly."""


def check_destination(
    destination: str | Path,
    *,
    like: FileTable | None = None,
    mark: str | None = None,
    force: bool = False,
) -> Destination:
    """Raise now what ``write_table`` would raise later.

    Parameters
    ----------
    destination : str or Path
        The file to be written, or ``"-"`` for standard output.
    like : FileTable, optional
        The input, which is never written over.
    mark : str, optional
        Name of the extra column, which must be new.
    force : bool
        Whether a file that is there may be replaced.

    Returns
    -------
    Destination
        Path, format and compression of what would be written.

    Raises
    ------
    UserInputError
        If the extension is unknown, the folder is not there or not writable, the file
        is there already, or it is the input.
    """
    if mark is not None and like is not None and mark in like.frame.columns:
        raise UserInputError(
            f"mark={mark!r} is not usable: the table has a column of that name. Choose "
            "another."
        )
    usual = like.format if like is not None else "csv"
    if str(destination) == STANDARD:
        return _usable(Destination(None, usual))
    path = Path(os.path.realpath(destination))
    if path.is_dir():
        raise UserInputError(
            f"{str(destination)!r} is a folder. Pass the path of a file in it."
        )
    if path.exists() and not path.is_file():
        return _usable(Destination(path, usual))
    form, compression = form_of(Path(destination))
    _check_folder(path)
    _check_name(path, destination, like, force=force)
    return _usable(Destination(path, form, compression, is_regular=True))


def _usable(place: Destination) -> Destination:
    if place.format == "excel":
        load_openpyxl()
    return place


def _check_folder(path: Path) -> None:
    folder = path.parent
    if not folder.is_dir():
        raise UserInputError(
            f"There is no folder {str(folder)!r} to write {path.name!r} in. Create it "
            "first."
        )
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UserInputError(
            f"The folder {str(folder)!r} is not yours to write in. Choose another for "
            f"{path.name!r}."
        )


def _check_name(
    path: Path, destination: str | Path, like: FileTable | None, *, force: bool
) -> None:
    if like is not None and like.path is not None and _is_same(path, like.path):
        raise UserInputError(
            f"{str(destination)!r} is the input, which is never written over. Choose "
            "another name."
        )
    if path.exists() and not force:
        raise UserInputError(
            f"{str(destination)!r} is there already. Choose another name, or replace "
            "it with force."
        )


def _is_same(path: Path, source: Path) -> bool:
    try:
        # Also true for a second name of the same file.
        return path.samefile(source)
    except OSError:
        return path == Path(os.path.realpath(source))
