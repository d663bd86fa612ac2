"""``write_table``: a frame becomes a file, whole or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
import sys
from pathlib import Path
from typing import Any

from tabtap.errors import UserInputError
from tabtap.files.arrow_files import arrow_content
from tabtap.files.compression import compress
from tabtap.files.delimited_text import out_dialect, text_content
from tabtap.files.destination import Destination, check_destination
from tabtap.files.excel import excel_content
from tabtap.files.file_table import FileTable, Format
from tabtap.files.formats import TEXT
from tabtap.files.json_text import json_content
from tabtap.files.order import Order


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
    order = Order(frame=frame, n_real=n_real, like=like, mark=mark)
    content = _content(order, place.format)
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


def _content(order: Order, form: Format) -> bytes:
    if order.like is not None and order.is_unchanged and _keeps(order.like, form):
        return order.like.content
    if form in TEXT:
        return text_content(order, form)
    if form in ("jsonl", "json"):
        return json_content(order, form)
    if form == "excel":
        return excel_content(order)
    return arrow_content(order, form)


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
        _put_in_place(content, place.path)


def _put_in_place(content: bytes, path: Path) -> None:
    # Not a file of ``tempfile``: those can be read by their owner alone.
    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        with unfinished.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            shutil.copymode(path, unfinished)
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
