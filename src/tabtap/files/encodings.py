"""Which encoding a text file is in, and its text.

UTF-8 is told by its rules; what breaks them and is no UTF-16 is windows-1252, the
usual encoding of tables that older programs write in the west.
"""

from __future__ import annotations

import codecs
from typing import NamedTuple

from tabtap.errors import UserInputError
from tabtap.files.first_bytes import check_text

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
    """Return the text of a file.

    Parameters
    ----------
    content : bytes
        The whole file.
    name : str
        What errors call the file.
    wanted : str, optional
        The encoding, where the caller knows it.

    Raises
    ------
    UserInputError
        If it is no text, or in an encoding that cannot be told.
    """
    mark, marked = _marked(content)
    if wanted is not None:
        return _as_wanted(content, name, wanted, mark)
    if marked is not None:
        return _strictly(content[len(mark) :], name, marked, marked=True)
    wide = _wide(content)
    if wide is not None:
        return _strictly(content, name, wide, marked=False)
    check_text(content, name)
    try:
        return DecodedText(content.decode("utf-8"), "utf-8")
    except UnicodeDecodeError as error:
        return _western(content, name, error)


def encode_text(text: str, encoding: str, *, byte_order_mark: bool) -> bytes:
    """Return text as bytes.

    Raises
    ------
    UserInputError
        If the encoding lacks a character.
    """
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


def line_of(content: bytes, place: int) -> int:
    """Return the number of the line that a byte is in, counted from 1."""
    return content.count(b"\n", 0, place) + 1


def _marked(content: bytes) -> tuple[bytes, str | None]:
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            return mark, encoding
    return b"", None


def _wide(content: bytes) -> str | None:
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


def _as_wanted(content: bytes, name: str, wanted: str, mark: bytes) -> DecodedText:
    try:
        encoding = codecs.lookup(wanted).name
        "".encode(encoding)
    except LookupError as error:
        raise UserInputError(
            f"encoding={wanted!r} is not usable: Python knows no such text encoding. "
            "Try 'utf-8', 'windows-1252' or 'shift_jis'."
        ) from error
    if encoding in _UNORDERED:
        encoding = _marked(content)[1] or _UNORDERED[encoding]
    marked = (mark, encoding) in _MARKS
    body = content[len(mark) :] if marked else content
    return _strictly(body, name, encoding, marked=marked)


def _strictly(body: bytes, name: str, encoding: str, *, marked: bool) -> DecodedText:
    try:
        return DecodedText(body.decode(encoding), encoding, marked)
    except UnicodeDecodeError as error:
        line = line_of(body, error.start)
        raise UserInputError(
            f"{name} is not in {encoding}: byte 0x{body[error.start]:02x} in line "
            f"{line} does not fit. Save it as UTF-8, or name its encoding."
        ) from error


def _western(content: bytes, name: str, error: UnicodeDecodeError) -> DecodedText:
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
