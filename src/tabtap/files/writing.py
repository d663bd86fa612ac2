"""``write_table``: a frame becomes a file, whole or not at all."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from tabtap.archive import put_in_place
from tabtap.errors import UserInputError
from tabtap.files.arrow_files import arrow_content
from tabtap.files.delimited import out_dialect, text_content
from tabtap.files.excel import excel_content, load_openpyxl
from tabtap.files.formats import (
    TEXT,
    Compression,
    FileTable,
    Format,
    WriteRequest,
    form_of,
)
from tabtap.files.json_records import json_content
from tabtap.files.opening import STANDARD, compress
from tabtap.files.texts import spell


def write_table(
    frame: Any,  # noqa: ANN401 - a pandas DataFrame
    destination: str | Path,
    *,
    n_real: int,
    like: FileTable | None = None,
    mark: str | None = None,
    force: bool = False,
) -> None:
    """Write real and synthetic rows to a file, in the form of the file they came from.

    Parameters
    ----------
    frame : pandas.DataFrame
        Real rows first, then synthetic ones.
    destination : str or Path
        The file; its extension says the format.  ``"-"`` is standard output.
    n_real : int
        How many rows are real.
    like : FileTable, optional
        The input.  Where the formats agree its rows are written as they were, byte for
        byte in text, and the synthetic rows after them in the same style.
    mark : str, optional
        Name of an extra last column: 0 for real rows, 1 for synthetic ones.
    force : bool
        Whether a file that is there may be replaced; never the input.

    Raises
    ------
    UserInputError
        For all that ``check_destination`` finds, and if the disk is full.

    Notes
    -----
    The file is written beside its place and then put there, so that nobody ever sees
    half of it.  Without synthetic rows and mark the output is the input.
    """
    place = check_destination(destination, like=like, mark=mark, force=force)
    if not 0 <= n_real <= len(frame):
        raise UserInputError(
            f"n_real={n_real} is not usable: the frame has {len(frame)} rows. Pass how "
            "many of them are real."
        )
    request = _as_spelt(WriteRequest(frame=frame, n_real=n_real, like=like, mark=mark))
    content = _content(request, place.format)
    if place.compression is not None and place.path is not None:
        member = place.path.name[: -len(place.compression) - 1]
        content = compress(content, place.compression, member)
    try:
        _put(content, place)
    except OSError as error:
        where = "standard output" if place.path is None else repr(str(destination))
        why = error.strerror or str(error)
        raise UserInputError(
            f"{where} could not be written: {why}. Nothing was left half-written; make "
            "room or choose another place."
        ) from error


def _as_spelt(request: WriteRequest) -> WriteRequest:
    """Return a request in the texts of a file with types, where some were read."""
    like = request.like
    if like is None or like.raw is None:
        return request
    real = None if request.places is None else like.raw.iloc[request.places]
    frame = spell(request.frame, like.raw, like.written, real)
    plain = replace(like, frame=like.raw, raw=None, written=())
    return replace(request, frame=frame, like=plain)


def _content(request: WriteRequest, form: Format) -> bytes:
    if request.like is not None and request.is_unchanged and _keeps(request.like, form):
        return request.like.content
    if form in TEXT:
        return text_content(request, form)
    if form in ("jsonl", "json"):
        return json_content(request, form)
    if form == "excel":
        return excel_content(request)
    return arrow_content(request, form)


def _keeps(like: FileTable, form: Format) -> bool:
    """Whether the input may be called by the format of the output as it is."""
    if like.dialect is None or form not in TEXT:
        return like.format == form
    return out_dialect(like.dialect, like.format, form) == like.dialect


def _put(content: bytes, place: Destination) -> None:
    if place.path is None:
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    elif not place.is_regular:
        with place.path.open("wb") as file:
            file.write(content)
    else:
        put_in_place(content, place.path, keep_mode=True)


# ---- Where a table may be written to, asked before the work and again at its end.


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
        if sys.stdout is None:
            raise UserInputError(
                "Standard output is closed, and the table was to go there. Open it, or "
                "name a file."
            )
        return _check_usable(Destination(None, usual))
    path = Path(os.path.realpath(destination))
    if path.is_dir():
        raise UserInputError(
            f"{str(destination)!r} is a folder. Pass the path of a file in it."
        )
    if path.exists() and not path.is_file():
        return _check_usable(Destination(path, usual))
    form, compression = form_of(Path(destination))
    _check_folder(path)
    _check_name(path, destination, like, force=force)
    return _check_usable(Destination(path, form, compression, is_regular=True))


def _check_usable(place: Destination) -> Destination:
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
