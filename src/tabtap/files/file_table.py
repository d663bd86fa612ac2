"""What a file is once it is read: the frame, and what is needed to write it back."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

Format = Literal["csv", "tsv", "parquet", "feather", "excel", "jsonl", "json"]
"""``feather`` is any Arrow file; ``json`` is one list of records."""

Compression = Literal["gz", "bz2", "xz", "zst", "zip"]

CellKind = Literal["text", "integer", "float", "boolean", "time", "empty", "left out"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeStyle:
    """How the times of one column are written, year first."""

    date_sign: str = "-"
    """What stands between year, month and day."""

    padded: bool = True
    """Whether the fifth of January is 01-05 and not 1-5."""

    joint: str = ""
    """What stands between date and time of day; empty for a date alone."""

    has_seconds: bool = False

    n_fraction: int = 0
    """Digits after the second."""

    zone: str = ""
    """``Z``, ``+02:00`` or the like; empty for times without a zone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnStyle:
    """How the cells of one column are written, so that new ones look the same."""

    name: str

    kind: CellKind = "text"
    """``left out``: a column without name and values, which the frame does not have."""

    missing: str | None = ""
    """How this column writes a missing value; None where JSON leaves out the key."""

    decimal: str = "."

    n_decimals: int | None = None
    """Digits after the decimal sign, where all numbers have the same."""

    whole: bool = False
    """Whether a whole number among others is written without a decimal sign."""

    truths: tuple[str, str] = ("False", "True")

    time: TimeStyle | None = None

    quoted: bool = False
    """Whether every cell stands in quotes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """How a delimited text file is written."""

    separator: str = ","

    encoding: str = "utf-8"

    byte_order_mark: bool = False

    decimal: str = "."
    """The decimal sign of its numbers."""

    quote: str = '"'

    newline: str = "\n"

    skips_space: bool = False
    """Whether a space follows each separator and belongs to no cell."""

    n_lines_before: int = 0
    """Lines above the header that are not part of the table, such as ``sep=;``."""


@dataclass(frozen=True, kw_only=True, eq=False)
class FileTable:
    """A table that was read from a file."""

    frame: Any
    """The pandas DataFrame, its rows numbered from 0."""

    format: Format

    path: Path | None
    """Where it was read from; None for standard input."""

    notes: tuple[str, ...] = ()
    """What had to be assumed, a sentence each."""

    dialect: Dialect | None = None
    """For delimited text only."""

    compression: Compression | None = None

    sheet: str | None = None
    """For Excel only."""

    styles: tuple[ColumnStyle, ...] = field(default=(), repr=False)
    """For text and JSON: one for each column of the file."""

    content: bytes = field(default=b"", repr=False)
    """The file as it was, decompressed, so that real rows can be written unchanged."""
