"""One file of arrays and JSON, whole or not there, and checked when it is read.

The file is a safetensors file; the JSON is the one entry of its metadata, so that
equal content gives equal bytes.  A checksum covers arrays and JSON alike.  Nothing in
the file can be executed.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from tabtap.errors import FileFormatError, UserInputError

_KEY = "tabtap"
_LENGTH_BYTES = 8
"""A safetensors file begins with the length of its header."""

_WAY_OUT = "Restore it from a copy, or make and save it anew."

DAMAGE = (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError,
          RecursionError)  # fmt: skip
"""What goes wrong where the content of a file is taken for what it is not."""

_UNREADABLE = (SafetensorError, *DAMAGE)


Arrays = Mapping[str, NDArray[Any]]


class Archive(NamedTuple):
    """What one file holds."""

    arrays: Arrays

    about: Mapping[str, Any]
    """Everything else, as plain dicts, lists, strings and numbers."""


def add_prefix(prefix: str, arrays: Arrays) -> dict[str, NDArray[Any]]:
    """Return arrays under a prefix."""
    return {f"{prefix}.{name}": array for name, array in arrays.items()}


def strip_prefix(prefix: str, arrays: Arrays) -> dict[str, NDArray[Any]]:
    """Return the arrays under a prefix, without it, in the order of their names."""
    start = f"{prefix}."
    return {
        name.removeprefix(start): arrays[name]
        for name in sorted(arrays)
        if name.startswith(start)
    }


def write_archive(
    archive: Archive, path: str | Path, *, name: str, version: int
) -> None:
    """Write an archive under a format name, whole or not at all.

    It is written beside the old file and then put in its place: a write that fails
    leaves the old file as it was and nothing else behind.
    """
    put_in_place(pack_archive(archive, name=name, version=version), path)


def pack_archive(archive: Archive, *, name: str, version: int) -> bytes:
    """Return the content of the file that ``write_archive`` writes."""
    header = {
        "format": name,
        "format_version": version,
        "sha256": _checksum(archive),
        "about": archive.about,
    }
    return save(
        {name: np.ascontiguousarray(a) for name, a in archive.arrays.items()},
        metadata={_KEY: _text(header)},
    )


def read_archive(path: str | Path, *, name: str, version: int) -> Archive:
    """Return what ``write_archive`` wrote, or raise why it cannot be read."""
    return unpack_archive(file_content(path), path, name=name, version=version)


def file_content(path: str | Path) -> bytes:
    """Return the bytes of a file, or raise that there is none."""
    path = Path(path)
    # Asked first: reading a folder is another error on another system.
    if path.is_dir():
        raise FileFormatError(
            f"{str(path)!r} is a folder. Pass the path of a file in it that was "
            "written by save."
        )
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise FileFormatError(
            f"There is no file {str(path)!r}. Check the path, or make and save it anew."
        ) from error


def unpack_archive(
    content: bytes, path: str | Path, *, name: str, version: int
) -> Archive:
    """Return what ``pack_archive`` packed; ``path`` is what errors call it.

    Content that is damaged, of another program, or of another version is refused.
    """
    header = _header(content, path, name)
    saved = header.get("format_version")
    if saved != version:
        raise FileFormatError(
            f"{str(path)!r} has format version {saved!r}, this tabtap reads {version}. "
            "Read it with the version that wrote it, or make and save it anew."
        )
    try:
        archive = Archive(load(content), header["about"])
        intact = header["sha256"] == _checksum(archive)
    except _UNREADABLE as error:
        raise damaged(path, "its content cannot be read") from error
    if not intact:
        raise damaged(path, "its checksum is not that of its content")
    return archive


def damaged(path: str | Path, reason: str) -> FileFormatError:
    """Return the error for a file of ours that is not what it was."""
    return FileFormatError(f"{str(path)!r} is damaged: {reason}. {_WAY_OUT}")


@contextmanager
def reading(path: str | Path, what: str) -> Iterator[None]:
    """Say of what goes wrong inside that the file is damaged and holds no ``what``."""
    try:
        yield
    except FileFormatError as error:
        raise damaged(path, one_line(error).rstrip(".")) from error
    except DAMAGE as error:
        found = f"it holds what no {what} has ({type(error).__name__}: "
        raise damaged(path, f"{found}{one_line(error)})") from error


def one_line(error: Exception) -> str:
    """Return what an error says, short and printable: it may quote the file."""
    text = " ".join(str(error).split())
    text = "".join(letter if letter.isprintable() else "?" for letter in text)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


_LONGEST = 200
"""Letters of an error that are repeated."""


def foreign(path: str | Path, name: str) -> FileFormatError:
    """Return the error for a file that is not of the format asked for."""
    return FileFormatError(
        f"{str(path)!r} is not a {name} file, or its beginning is damaged. Pass a "
        "file that was written by save, or make and save it anew."
    )


def _header(content: bytes, path: str | Path, name: str) -> Mapping[str, Any]:
    length = int.from_bytes(content[:_LENGTH_BYTES], "little")
    try:
        outer = json.loads(content[_LENGTH_BYTES : _LENGTH_BYTES + length])
        header = json.loads(outer["__metadata__"][_KEY])
        known = header["format"] == name
    except _UNREADABLE:
        header, known = {}, False
    if not known:
        raise foreign(path, name)
    return dict(header)


def put_in_place(content: bytes, path: str | Path, *, keep_mode: bool = False) -> None:
    """Write a file beside the old one, and then put it in its place.

    With ``keep_mode`` who may read and write the old file may do so with the new one.
    """
    path = Path(path)
    if not path.parent.is_dir():
        raise UserInputError(
            f"There is no folder {str(path.parent)!r} to save {path.name!r} in. "
            "Create it first."
        )
    # Not a file of ``tempfile``: those can be read by their owner alone.
    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        with unfinished.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if keep_mode and path.exists():
            shutil.copymode(path, unfinished)
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def _checksum(archive: Archive) -> str:
    digest = hashlib.sha256(_text(archive.about).encode())
    for name in sorted(archive.arrays):
        array = np.ascontiguousarray(archive.arrays[name])
        digest.update(_text([name, array.dtype.str, list(array.shape)]).encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def _text(content: Any) -> str:  # noqa: ANN401 - anything JSON can hold
    return json.dumps(content, sort_keys=True, separators=(",", ":"))
