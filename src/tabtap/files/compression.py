"""Text in and out of compressed files, never more of it than memory can hold."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import pyarrow

from tabtap.errors import UserInputError
from tabtap.files.file_table import Compression, Format
from tabtap.files.memory import byte_limit, shown_size, too_large

_CHUNK = 1 << 20
_DAMAGE = (
    EOFError,
    OSError,
    ValueError,
    RuntimeError,  # an encrypted member of a zip archive
    NotImplementedError,
    lzma.LZMAError,
    zlib.error,
    zipfile.BadZipFile,
)
_NOT_A_TABLE = ("__MACOSX/", ".DS_Store")


def read_bounded(stream: IO[bytes], name: str, form: Format) -> bytes:
    """Return all bytes of a stream, or raise as soon as they are too many."""
    limit = byte_limit(form)
    chunks: list[bytes] = []
    size = 0
    while chunk := stream.read(_CHUNK):
        chunks.append(chunk)
        size += len(chunk)
        if limit is not None and size > limit:
            found = f"has more than {shown_size(limit)}"
            raise too_large(found, size, name, form)
    return b"".join(chunks)


def decompress(
    packed: bytes, compression: Compression, name: str, form: Format
) -> bytes:
    """Return what a compressed file holds.

    Raises
    ------
    UserInputError
        If it is damaged, too large for memory, or an archive of several files.
    """
    try:
        with _unpacking(packed, compression, name) as stream:
            return read_bounded(stream, name, form)
    except UserInputError:
        raise
    except _DAMAGE as error:
        raise UserInputError(
            f"{name} cannot be unpacked as {compression}: {error}. It is damaged or "
            "not complete. Make or download it again."
        ) from error


def compress(content: bytes, compression: Compression, member: str) -> bytes:
    """Return content packed, the same for the same content at any time.

    ``member`` is what the file is called inside a zip archive.
    """
    if compression == "gz":
        return gzip.compress(content, mtime=0)
    if compression == "bz2":
        return bz2.compress(content)
    if compression == "xz":
        return lzma.compress(content)
    if compression == "zst":
        return _zstandard(content)
    packed = io.BytesIO()
    entry = zipfile.ZipInfo(member)  # dated 1980, as zip archives begin
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(entry, content)
    return packed.getvalue()


def _zstandard(content: bytes) -> bytes:
    sink = pyarrow.BufferOutputStream()
    with pyarrow.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(content)
    return bytes(sink.getvalue().to_pybytes())


@contextmanager
def _unpacking(packed: bytes, compression: Compression, name: str) -> Iterator[Any]:
    source = io.BytesIO(packed)
    if compression == "gz":
        yield gzip.GzipFile(fileobj=source)
    elif compression == "bz2":
        yield bz2.BZ2File(source)
    elif compression == "xz":
        yield lzma.LZMAFile(source)  # noqa: SIM115 - closed with its source
    elif compression == "zst":
        yield pyarrow.CompressedInputStream(pyarrow.BufferReader(packed), "zstd")
    else:
        with zipfile.ZipFile(source) as archive:
            yield archive.open(_only_member(archive, name))


def _only_member(archive: zipfile.ZipFile, name: str) -> str:
    found = [
        member
        for member in archive.namelist()
        if not member.endswith("/") and not any(sign in member for sign in _NOT_A_TABLE)
    ]
    if len(found) == 1:
        return found[0]
    listed = ", ".join(found[:5]) + (", ..." if len(found) > 5 else "")
    holds = f"{len(found)} files: {listed}" if found else "no file"
    raise UserInputError(
        f"{name} holds {holds}. Unpack it and pass the one file that is meant."
    )
