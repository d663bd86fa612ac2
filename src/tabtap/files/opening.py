"""The bytes and the text of a file or of standard input, asked first, then read."""

from __future__ import annotations

import bz2
import codecs
import difflib
import gzip
import io
import lzma
import os
import stat
import sys
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

import pyarrow

from tabtap.errors import UserInputError
from tabtap.files.formats import Compression, Format, check_format, form_of

STANDARD = "-"
"""What stands for standard input and standard output."""

_SHOWN_CHARACTERS = 200
"""Of what another package says of a file."""


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

    A file that is empty, too large, or plainly not of the format that its name says is
    refused.
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
    if sys.stdin is None:
        raise UserInputError(
            "Standard input is closed. Send the table to it, or pass the path of a "
            "file."
        )
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
    except ValueError as error:  # a NUL in it
        raise UserInputError(f"{name} is no path: {error}. Check it.") from error


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
        raise _empty(name)


def _empty(name: str) -> UserInputError:
    return UserInputError(
        f"{name} is empty. Pass a file with a header line and rows under it."
    )


def reason(error: Exception) -> str:
    """Return on one line why another package could not read a file."""
    said = " ".join(str(error).split()).rstrip(".")[:_SHOWN_CHARACTERS]
    plain = said and not isinstance(error, LookupError)  # which says a bare name
    return said if plain else f"{type(error).__name__} {said}".strip()


# ---- What a file is by its first bytes, where its name says something else.


N_BYTES = 4096
"""How much of a file is looked at."""

_SIGNS: tuple[tuple[bytes, str, str], ...] = (
    (b"PAR1", "a Parquet file", "Rename it to end in .parquet."),
    (b"ARROW1", "an Arrow file", "Rename it to end in .feather or .arrow."),
    (b"FEA1", "a Feather file", "Rename it to end in .feather."),
    (b"PK\x03\x04", "a zip archive or an Excel workbook", "Rename it to end in .zip "
     "or .xlsx."),
    (b"\x1f\x8b", "a gzip file", "Rename it to end in .csv.gz."),
    (b"BZh", "a bzip2 file", "Rename it to end in .csv.bz2."),
    (b"\xfd7zXZ\x00", "an xz file", "Rename it to end in .csv.xz."),
    (b"\x28\xb5\x2f\xfd", "a zstandard file", "Rename it to end in .csv.zst."),
    (b"\xd0\xcf\x11\xe0", "an Excel file of before 2007", "Save it as .xlsx or .csv."),
    (b"SQLite format 3", "an SQLite database", "Save the table in it as .csv."),
    (b"%PDF", "a PDF document", "Save the table in it as .csv."),
    (b"\x89PNG", "a PNG picture", "Pass a file that holds a table."),
    (b"\xff\xd8\xff", "a JPEG picture", "Pass a file that holds a table."),
    (b"GIF8", "a GIF picture", "Pass a file that holds a table."),
    (b"\x7fELF", "a program", "Pass a file that holds a table."),
    (b"\x89HDF", "an HDF5 file", "Save the table in it as .parquet or .csv."),
    (b"\x80\x04\x95", "a pickle", "Save the table as .parquet; a pickle can run code."),
    (b"version https://git-lfs", "the pointer of a file kept in Git LFS", "Fetch the "
     "file itself with: git lfs pull."),
)  # fmt: skip
_WEB_PAGE = (b"<!doctype html", b"<html")
_OWN: dict[str, tuple[bytes, ...]] = {
    "parquet": (b"PAR1",),
    "feather": (b"ARROW1", b"FEA1"),
    "excel": (b"PK\x03\x04",),
    "gz": (b"\x1f\x8b",),
    "bz2": (b"BZh",),
    "xz": (b"\xfd7zXZ\x00",),
    "zst": (b"\x28\xb5\x2f\xfd",),
    "zip": (b"PK\x03\x04",),
}
_SURE = ("parquet", "excel", *("gz", "bz2", "xz", "zst", "zip"))
"""What always begins with its own sign; an Arrow stream has none."""


def check_first_bytes(
    head: bytes, name: str, form: Format, compression: Compression | None
) -> None:
    """Raise if a file plainly is not what its name says.

    ``head`` is the beginning of the file as it lies there, compressed or not.
    """
    called = compression or form
    own = _OWN.get(called, ())
    if head.startswith(own) and own:
        return
    for sign, what, fix in _SIGNS:
        if head.startswith(sign):
            raise UserInputError(
                f"{name} is called a {called} file and looks like {what}. {fix}"
            )
    if head.lstrip().lower().startswith(_WEB_PAGE):
        raise UserInputError(
            f"{name} is a web page, not a table: a download may have ended at a login "
            "or an error. Download the file itself."
        )
    if called in _SURE:
        raise _not_what_it_says(head, name, called)


def check_text(content: bytes, name: str) -> None:
    """Raise if bytes that should be text hold a NUL."""
    index = content.find(b"\x00")
    if index >= 0:
        raise _has_nul(f"byte {index}", name)


def _has_nul(where: str, name: str) -> UserInputError:
    return UserInputError(
        f"{name} is not text: {where} is a NUL, which no text file holds. It is "
        "damaged, or a binary file under a wrong name. Save the table as .csv, or "
        "rename the file to what it is."
    )


def _not_what_it_says(head: bytes, name: str, called: str) -> UserInputError:
    text = b"\x00" not in head and not head.startswith(b"\xff")
    guess = "it looks like plain text" if text else "it may be damaged"
    fix = "Rename it to end in .csv" if text else "Save or download it again"
    return UserInputError(
        f"{name} is called a {called} file and does not begin like one; {guess}. {fix}."
    )


# ---- How much memory a file will need, and how much there is.
#
# A file that does not fit is refused before it is read: the sentence says what it
# needs. Where the system does not say how much is free, nothing is refused.


FACTORS: dict[Format, int] = {
    "csv": 30,
    "tsv": 30,
    "jsonl": 20,
    "json": 20,
    "parquet": 25,
    "feather": 10,
    "excel": 50,
}
"""Memory at the peak of reading for each byte of the file: measured on numbers of three
decimals, and a quarter added."""

UNPACKED_FACTORS: dict[Format, int] = {"parquet": 4, "feather": 4, "excel": 20}
"""The same for each byte of what such a file holds, unpacked."""

CELL_BYTES = 24
"""The same for each cell of a table whose columns have their types already."""

MAX_COLUMNS = 5_000
"""Reading, looking over and learning take a time for each column."""

MOST_EMPTY = 100
"""Cells for each one that holds something: what has more is no table."""

LARGE_CELLS = 1_000_000
"""Beyond so many cells there is little that added rows could teach."""

_SAMPLE = (
    "tabtap is for small tables: take a sample of some thousand rows first, and "
    "augment that"
)
_MEMINFO = Path("/proc/meminfo")
_PAGE_COUNTS = ("SC_AVPHYS_PAGES", "SC_PHYS_PAGES")


def available_bytes() -> int | None:
    """Return how much memory can be had, or None where the system does not say."""
    try:
        for line in _MEMINFO.read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    sysconf = getattr(os, "sysconf", None)  # Windows has none
    for name in _PAGE_COUNTS if sysconf else ():
        try:
            return int(os.sysconf(name)) * int(os.sysconf("SC_PAGE_SIZE"))
        except (OSError, ValueError):
            continue
    return None


def byte_limit(form: Format) -> int | None:
    """Return the size up to which a file of this format can be read here."""
    available = available_bytes()
    return None if available is None else available // FACTORS[form]


def check_size(size: int, name: str, form: Format) -> None:
    """Raise if a file of some size cannot be read with the memory there is."""
    _check_need(size * FACTORS[form], f"has {show_size(size)}", name)


def check_unpacked(size: int, name: str, form: Format) -> None:
    """Raise if a file that is compressed inside holds more than memory can."""
    need = size * UNPACKED_FACTORS[form]
    _check_need(need, f"holds {show_size(size)} when it is unpacked", name)


def fits(size: int, form: Format) -> bool:
    """Whether so many bytes of what such a file holds find room in memory."""
    free = available_bytes()
    return free is None or size * UNPACKED_FACTORS[form] <= free


def check_extent(
    n_rows: int, n_columns: int, name: str, n_filled: int | None = None
) -> None:
    """Raise if a table is too wide, too large for memory, or next to empty.

    ``n_filled`` is how many cells hold something, where a file names only those.
    """
    if n_columns > MAX_COLUMNS:
        raise UserInputError(
            f"{name} has {n_columns:,} columns, and tables of up to {MAX_COLUMNS:,} "
            "are read. Choose the columns that matter, or turn the table if its rows "
            "stand side by side."
        )
    n_cells = n_rows * n_columns
    if n_filled is not None and n_cells > max(LARGE_CELLS, MOST_EMPTY * n_filled):
        raise UserInputError(
            f"{name} has {n_rows:,} rows x {n_columns:,} columns, and only "
            f"{n_filled:,} cells of it hold anything. Give the rows the same columns, "
            "and leave out those that are empty."
        )
    extent = f"has {n_rows:,} rows x {n_columns:,} columns"
    _check_need(n_cells * CELL_BYTES, extent, name)


def _check_need(need: int, extent: str, name: str) -> None:
    """Raise if reading takes more memory than there is."""
    free = available_bytes()
    if free is not None and need > free:
        raise UserInputError(
            f"{name} {extent}; reading it takes about {show_size(need)} of memory and "
            f"{show_size(free)} are free. {_SAMPLE}."
        )


def large_note(n_rows: int, n_columns: int) -> str | None:
    """Return what to say of a table that is too large to profit, or None."""
    if n_rows * n_columns <= LARGE_CELLS:
        return None
    return (
        f"{n_rows:,} rows x {n_columns:,} columns is a large table; added rows will "
        f"hardly help, and looking for them takes long. {_SAMPLE}."
    )


def show_size(size: float) -> str:
    """Return a number of bytes for reading.

    Examples
    --------
    >>> show_size(900), show_size(2_200_000_000)
    ('900 bytes', '2.2 GB')
    """
    if size < 1000:
        return f"{size:.0f} bytes"
    for unit in ("kB", "MB", "GB"):
        size /= 1000
        if size < 1000:
            return f"{size:.1f} {unit}"
    return f"{size / 1000:.1f} TB"


# ---- Text in and out of compressed files, never more of it than memory can hold.


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
            extent = f"has more than {show_size(limit)}"
            _check_need(size * FACTORS[form], extent, name)
    return b"".join(chunks)


def decompress(
    packed: bytes, compression: Compression, name: str, form: Format
) -> bytes:
    """Return what a compressed file holds; an archive of several files is refused."""
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
    members = [
        member
        for member in archive.namelist()
        if not member.endswith("/") and not any(sign in member for sign in _NOT_A_TABLE)
    ]
    if len(members) == 1:
        return members[0]
    listed = ", ".join(members[:5]) + (", ..." if len(members) > 5 else "")
    holds = f"{len(members)} files: {listed}" if members else "no file"
    raise UserInputError(
        f"{name} holds {holds}. Unpack it and pass the one file that is meant."
    )


# ---- Which encoding a text file is in, and its text.
#
# UTF-8 is told by its rules; what breaks them and is no UTF-16 is windows-1252, the
# usual encoding of tables that older programs write in the west.


_MARKS: tuple[tuple[bytes, str], ...] = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before utf-16-le, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_UNORDERED = {"utf-8-sig": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le"}
"""Names that leave the byte order to the mark; and what they mean without one."""

_WESTERN = "windows-1252"
_LOOKED_AT = 4096
_MOSTLY = 0.4
"""Share of bytes that are NUL in western text of two bytes per character: one half."""


class DecodedText(NamedTuple):
    """The text of a file without its byte order mark."""

    text: str
    encoding: str
    byte_order_mark: bool = False


def decode_text(content: bytes, name: str, wanted: str | None = None) -> DecodedText:
    """Return the text of a file, in the encoding ``wanted`` or in the one it shows.

    What is no text, or in an encoding that cannot be told, is refused; errors call the
    file ``name``.
    """
    decoded = _decode(content, name, wanted)
    if not decoded.text or decoded.text.isspace():
        raise _empty(name)  # a byte order mark and nothing else
    index = decoded.text.find("\x00")
    if index >= 0:
        raise _has_nul(f"character {index}", name)
    return decoded


def _decode(content: bytes, name: str, wanted: str | None) -> DecodedText:
    mark, marked = _find_mark(content)
    if wanted is not None:
        return _decode_wanted(content, name, wanted, mark)
    if marked is not None:
        return _decode_as(content[len(mark) :], name, marked, marked=True)
    wide = _find_wide(content)
    if wide is not None:
        return _decode_as(content, name, wide, marked=False)
    check_text(content, name)
    try:
        return DecodedText(content.decode("utf-8"), "utf-8")
    except UnicodeDecodeError as error:
        return _try_western(content, name, error)


def encode_text(text: str, encoding: str, *, byte_order_mark: bool) -> bytes:
    """Return text as bytes, or raise which character the encoding lacks."""
    try:
        encoded = text.encode(encoding)
    except UnicodeEncodeError as error:
        missing = text[error.start]
        raise UserInputError(
            f"The character {missing!r} cannot be written in {encoding}, the encoding "
            "of the input. Convert the input to UTF-8, or use other names."
        ) from error
    marks = {known: mark for mark, known in _MARKS}
    return (marks.get(encoding, b"") if byte_order_mark else b"") + encoded


def line_of(content: bytes, index: int) -> int:
    """Return the number of the line that a byte is in, counted from 1."""
    return content.count(b"\n", 0, index) + 1


def _find_mark(content: bytes) -> tuple[bytes, str | None]:
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            return mark, encoding
    return b"", None


def _find_wide(content: bytes) -> str | None:
    """Return the encoding of UTF-16 without a mark, told by where its NULs are."""
    head = content[:_LOOKED_AT]
    if len(content) % 2 or len(head) < 4:
        return None
    low, high = head[::2].count(0), head[1::2].count(0)
    if high > 2 * _MOSTLY * len(head) / 2 and low == 0:
        return "utf-16-le"
    if low > 2 * _MOSTLY * len(head) / 2 and high == 0:
        return "utf-16-be"
    return None


def _decode_wanted(content: bytes, name: str, wanted: str, mark: bytes) -> DecodedText:
    try:
        encoding = codecs.lookup(wanted).name
        "".encode(encoding)
    except LookupError as error:
        raise UserInputError(
            f"encoding={wanted!r} is not usable: Python knows no such text encoding. "
            "Try 'utf-8', 'windows-1252' or 'shift_jis'."
        ) from error
    if encoding in _UNORDERED:
        encoding = _find_mark(content)[1] or _UNORDERED[encoding]
    marked = (mark, encoding) in _MARKS
    body = content[len(mark) :] if marked else content
    return _decode_as(body, name, encoding, marked=marked)


def _decode_as(body: bytes, name: str, encoding: str, *, marked: bool) -> DecodedText:
    try:
        return DecodedText(body.decode(encoding), encoding, marked)
    except UnicodeDecodeError as error:
        line = line_of(body, error.start)
        raise UserInputError(
            f"{name} is not in {encoding}: byte 0x{body[error.start]:02x} in line "
            f"{line} does not fit. Save it as UTF-8, or name its encoding."
        ) from error


def _try_western(content: bytes, name: str, error: UnicodeDecodeError) -> DecodedText:
    line, byte = line_of(content, error.start), content[error.start]
    if not content[: error.start].isascii():
        # Bytes above 127 that happen to obey UTF-8 all along are UTF-8.
        raise UserInputError(
            f"{name} is in UTF-8 up to line {line}, where the byte 0x{byte:02x} does "
            "not fit: it is damaged, or two files of different encodings were joined. "
            "Mend that line, or name the encoding."
        )
    try:
        return DecodedText(content.decode(_WESTERN), _WESTERN)
    except UnicodeDecodeError as western:
        other = line_of(content, western.start)
        raise UserInputError(
            f"{name} is neither in UTF-8 (byte 0x{byte:02x} in line {line}) nor in "
            f"{_WESTERN} (byte 0x{content[western.start]:02x} in line {other}). Save "
            "it as UTF-8, or name its encoding."
        ) from western
