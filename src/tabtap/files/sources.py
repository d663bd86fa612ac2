"""The bytes of a file or of standard input, after all that can be asked first."""

from __future__ import annotations

import difflib
import os
import stat
import sys
from pathlib import Path
from typing import NamedTuple

from tabtap.errors import UserInputError
from tabtap.files.compression import decompress, read_bounded
from tabtap.files.file_table import Compression, Format
from tabtap.files.first_bytes import N_BYTES, check_first_bytes
from tabtap.files.formats import check_format, form_of
from tabtap.files.memory import check_size

STANDARD = "-"
"""What stands for standard input and standard output."""


class Source(NamedTuple):
    """The content of a file, decompressed."""

    content: bytes
    name: str
    """What errors call it."""

    path: Path | None
    format: Format
    compression: Compression | None


def open_source(source: str | Path, wanted: str | None) -> Source:
    """Return the content of a file, or of standard input for ``"-"``.

    Raises
    ------
    UserInputError
        If there is no such file, or it is a folder, empty, too large, or plainly not
        of the format that its name says.
    """
    fallback = None if wanted is None else check_format(wanted)
    if str(source) == STANDARD:
        return _standard_input(fallback or "csv")
    path = Path(source)
    name = repr(str(path))
    status = _status(path, name)
    if stat.S_ISDIR(status.st_mode):
        raise _a_folder(path, name)
    regular = stat.S_ISREG(status.st_mode)
    # A pipe such as /dev/fd/63 has a name that says nothing.
    form, compression = form_of(path, fallback if regular else fallback or "csv")
    form = fallback or form
    try:
        with path.open("rb") as file:
            head = file.read(N_BYTES) if regular else b""
            if regular:
                check_first_bytes(head, name, form, compression)
                check_size(status.st_size, name, form)
            content = head + read_bounded(file, name, form)
    except OSError as error:
        raise _unreadable(name, error) from error
    _check_not_empty(content, name)
    if compression is not None:
        content = decompress(content, compression, name, form)
        _check_not_empty(content, name)
    return Source(content, name, path, form, compression)


def _standard_input(form: Format) -> Source:
    name = "standard input"
    content = read_bounded(sys.stdin.buffer, name, form)
    _check_not_empty(content, name)
    check_first_bytes(content[:N_BYTES], name, form, None)
    return Source(content, name, None, form, None)


def _status(path: Path, name: str) -> os.stat_result:
    try:
        return path.stat()
    except (FileNotFoundError, NotADirectoryError):
        raise _not_there(path, name) from None
    except OSError as error:
        raise _unreadable(name, error) from error


def _not_there(path: Path, name: str) -> UserInputError:
    folder = path.parent
    if not folder.is_dir():
        return UserInputError(
            f"There is no file {name}, and no folder {str(folder)!r}. Check the path; "
            f"it is looked for from {str(Path.cwd())!r}."
        )
    try:
        names = sorted(entry.name for entry in folder.iterdir() if entry.is_file())
    except OSError:
        names = []
    by_lower = {entry.lower(): entry for entry in names}
    near = difflib.get_close_matches(path.name.lower(), list(by_lower), n=3)
    meant = [by_lower[entry] for entry in near]
    if meant:
        fix = f"Did you mean {' or '.join(map(repr, meant))}?"
    else:
        fix = f"Check the path; the folder {str(folder.resolve())!r} is there."
    return UserInputError(f"There is no file {name}. {fix}")


def _a_folder(path: Path, name: str) -> UserInputError:
    tables = sorted(entry.name for entry in path.iterdir() if entry.is_file())
    inside = f", such as {tables[0]!r}" if tables else ""
    return UserInputError(
        f"{name} is a folder. Pass the path of one file in it{inside}."
    )


def _unreadable(name: str, error: OSError) -> UserInputError:
    why = error.strerror or str(error)
    return UserInputError(
        f"{name} cannot be read: {why}. Check that it is yours to read and that its "
        "disk is there."
    )


def _check_not_empty(content: bytes, name: str) -> None:
    if not content or content.isspace():
        raise UserInputError(
            f"{name} is empty. Pass a file with a header line and rows under it."
        )
