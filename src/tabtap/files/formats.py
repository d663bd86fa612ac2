"""Which format a file has, what it is once it is read, and what is to be written."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePath
from typing import Any, Literal, NamedTuple, get_args

import pandas as pd

from tabtap.errors import UserInputError, bad_setting
from tabtap.saved import from_json, to_json

Format = Literal["csv", "tsv", "parquet", "feather", "excel", "jsonl", "json"]
"""``feather`` is any Arrow file; ``json`` is one list of records."""

Compression = Literal["gz", "bz2", "xz", "zst", "zip"]

CellKind = Literal[
    "text", "integer", "float", "boolean", "time", "pair", "empty", "left out"
]


class Spelling(NamedTuple):
    """What stands around the numbers of a column, and between their digits."""

    prefix: str = ""
    """With the space after it, if there is one: a currency."""

    suffix: str = ""
    """With the space before it, if there is one: a percent sign, currency or unit."""

    thousands: str = ""

    inner_sign: bool = False
    """Whether a minus sign stands after the prefix."""

    limits: tuple[tuple[float, str], ...] = ()
    """Numbers that stand for a text such as ``<0.01``."""

    counted: str = ""
    """Such as ``%d:%02d``, of minutes and seconds: numbers count the last part."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeStyle:
    """How the times of one column are written, year first unless a format is given."""

    format: str = ""
    """Such as ``%d.%m.%Y``; empty for the year first."""

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
    """``left out``: a column without name and values, which the frame does not have.
    ``pair``: two numbers in each cell, which are two columns of the frame."""

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

    spelling: Spelling | None = None
    """For numbers that are not written plainly."""

    joint: str = "/"
    """What stands between the two numbers of a pair."""

    @property
    def parts(self) -> tuple[str, ...]:
        """The names of the columns that the frame has for this one."""
        if self.kind == "pair":
            return f"{self.name}[1]", f"{self.name}[2]"
        return () if self.kind == "left out" else (self.name,)


class Question(NamedTuple):
    """A column that can be read in several ways, and the option that says which."""

    column: str

    text: str
    """What was found, for a sentence that begins with the column."""

    option: str
    """What to pass on the command line."""


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

    questions: tuple[Question, ...] = ()
    """What its owner has to say before some columns can be read; they are text."""

    raw: Any = field(default=None, repr=False)
    """Of a file with types: the frame before its texts were read; None if all of it
    stayed as it was."""

    written: tuple[ColumnStyle, ...] = field(default=(), repr=False)
    """How the columns of ``raw`` are written that were read from text."""

    content: bytes = field(default=b"", repr=False)
    """The file as it was, decompressed, so that real rows can be written unchanged."""

    @property
    def cell_styles(self) -> tuple[ColumnStyle, ...]:
        """How the columns of the file are written, by what is known best."""
        known = {style.name: style for style in (*self.styles, *self.written)}
        return tuple(known.values())


# ---- How a file is written, without its rows: kept with a result.


def form_to_json(table: FileTable) -> str:
    """Return format, dialect and styles of a file as JSON text."""
    return json.dumps(
        {
            "format": table.format,
            "dialect": None if table.dialect is None else to_json(table.dialect),
            "styles": [to_json(style) for style in table.styles],
            "written": [to_json(style) for style in table.written],
            "columns": None if table.raw is None else [*map(str, table.raw.columns)],
        }
    )


def form_from_json(text: str, frame: Any) -> FileTable:  # noqa: ANN401
    """Return a file of that form whose rows are those of a frame.

    Raises
    ------
    KeyError, TypeError, ValueError
        If the text is not what ``form_to_json`` wrote.
    """
    saved = json.loads(text)
    columns = saved["columns"]
    return FileTable(
        frame=frame,
        format=check_format(saved["format"]),
        path=None,
        dialect=saved["dialect"] and from_json(Dialect, saved["dialect"]),
        styles=tuple(map(_style, saved["styles"])),
        raw=None if columns is None else pd.DataFrame(columns=columns, dtype=object),
        written=tuple(map(_style, saved["written"])),
    )


def _style(saved: dict[str, Any]) -> ColumnStyle:
    spelling = saved["spelling"] and _spelling(*saved["spelling"])
    return from_json(ColumnStyle, {**saved, "spelling": spelling})


def _spelling(*saved: Any) -> Spelling:  # noqa: ANN401
    spelling = Spelling(*saved)
    pairs = tuple((float(value), str(cell)) for value, cell in spelling.limits)
    return spelling._replace(limits=pairs)


# ---- Which format a file has, by its name.


EXTENSIONS: dict[str, Format] = {
    ".csv": "csv",
    ".txt": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".feather": "feather",
    ".arrow": "feather",
    ".xlsx": "excel",
    ".xlsm": "excel",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
}
TEXT: tuple[Format, ...] = ("csv", "tsv")
_COMPRESSIBLE: tuple[Format, ...] = (*TEXT, "jsonl", "json")
_COMPRESSIONS: tuple[Compression, ...] = get_args(Compression)
_ADVICE = {
    ".xls": "It is the Excel format of before 2007. Save it as .xlsx or .csv.",
    ".xlsb": "It is a binary Excel workbook. Save it as .xlsx or .csv.",
    ".ods": "It is a LibreOffice table. Save it as .xlsx or .csv.",
    ".pkl": "A pickle can run code when it is opened. Save the table as .parquet.",
    ".rds": "It is a file of R. Write it with write.csv(..., row.names = FALSE).",
    ".rdata": "It is a file of R. Write it with write.csv(..., row.names = FALSE).",
    ".sav": "It is a file of SPSS. Save it as .csv.",
    ".dta": "It is a file of Stata. Write it with: export delimited.",
    ".sas7bdat": "It is a file of SAS. Write it with proc export as .csv.",
    ".db": "It is a database. Save the table in it as .csv.",
    ".sqlite": "It is a database. Save the table in it as .csv.",
}


class FileForm(NamedTuple):
    """The format that a name stands for, and how the file is compressed."""

    format: Format
    compression: Compression | None


def form_of(path: PurePath, fallback: Format | None = None) -> FileForm:
    """Return format and compression of a file name, whatever its case.

    ``fallback`` is the format of a name that does not say one; without it such a name
    is refused.

    Examples
    --------
    >>> form_of(PurePath("Trial.CSV.gz"))
    FileForm(format='csv', compression='gz')
    """
    suffixes = [suffix.lower() for suffix in path.suffixes]
    compression: Compression | None = None
    for name in _COMPRESSIONS:
        if suffixes and suffixes[-1] == f".{name}":
            compression = name
            suffixes.pop()
    last = suffixes[-1] if suffixes else ""
    form = EXTENSIONS.get(last) or fallback
    if form is None and compression == "zip" and not last:
        form = "csv"  # train.zip: the usual thing to find in it
    if form is None:
        raise _unknown(path, last)
    if compression is not None and form not in _COMPRESSIBLE:
        raise UserInputError(
            f"{str(path)!r} is a compressed {form} file; only text is read and "
            f"written compressed. Use the name without .{compression}: {form} files "
            "are compressed inside."
        )
    return FileForm(form, compression)


def check_format(name: str) -> Format:
    """Return the format of a name that a caller passed."""
    known: tuple[Format, ...] = get_args(Format)
    for form in known:
        if form == name:
            return form
    raise bad_setting("format", name, f"be one of {', '.join(known)}", "Try csv.")


def check_names(names: Sequence[str], name: str) -> None:
    """Raise if two columns of a file have one name."""
    twice = [repr(column) for column, count in Counter(names).items() if count > 1]
    if twice:
        raise UserInputError(
            f"{name} has columns of the same name: {', '.join(sorted(twice)[:5])}. "
            "Give each its own name."
        )


def _unknown(path: PurePath, suffix: str) -> UserInputError:
    known = " ".join(EXTENSIONS)
    what = f"the extension {suffix!r}" if suffix else "no extension"
    advice = _ADVICE.get(suffix, "Rename it, or say which format it has.")
    return UserInputError(
        f"{str(path)!r} has {what}. {advice} These are known: {known}, and for text "
        "one of .gz .bz2 .xz .zst .zip after them."
    )


# ---- What is to be written: the rows, how many of them are real, and their model.


@dataclass(frozen=True, kw_only=True, eq=False)
class WriteRequest:
    """One table to be written."""

    frame: Any
    """Real rows first, then synthetic ones."""

    n_real: int

    like: FileTable | None = None
    """The file whose form and real rows are kept."""

    mark: str | None = None
    """Name of an extra last column: 0 for real rows, 1 for synthetic ones."""

    @cached_property
    def places(self) -> list[int] | None:
        """Which row of the model each real row is; None if some row is none of them.

        The row labels say it, and are believed only if the values agree.
        """
        if self.like is None:
            return None
        real = self.frame.iloc[: self.n_real]
        labels = real.index
        if not pd.api.types.is_integer_dtype(labels.dtype) or not labels.is_unique:
            return None
        places = [int(label) for label in labels]
        inside = all(0 <= place < len(self.like.frame) for place in places)
        if inside and same_rows(self.like.frame.iloc[places], real):
            return places
        return None

    @property
    def keeps_all(self) -> bool:
        """Whether the real rows are those of the model, all of them in their order."""
        whole = [] if self.like is None else range(len(self.like.frame))
        return self.places is not None and self.places == list(whole)

    @property
    def is_unchanged(self) -> bool:
        """Whether there is nothing to add to the model or to leave out."""
        return self.mark is None and len(self.frame) == self.n_real and self.keeps_all

    @property
    def marked(self) -> Any:  # noqa: ANN401 - a pandas DataFrame
        """The frame with the extra column, if one is wanted."""
        if self.mark is None:
            return self.frame
        flags = [0] * self.n_real + [1] * (len(self.frame) - self.n_real)
        return self.frame.assign(**{self.mark: flags})


def same_rows(left: pd.DataFrame, right: pd.DataFrame) -> bool:
    """Whether two frames hold the same values, whatever their dtypes."""
    if list(left.columns) != list(right.columns) or len(left) != len(right):
        return False
    return all(
        _same_cells(left.iloc[:, i], right.iloc[:, i]) for i in range(left.shape[1])
    )


def _same_cells(left: pd.Series, right: pd.Series) -> bool:
    present = left.notna().to_numpy(dtype=bool)
    if (present != right.notna().to_numpy(dtype=bool)).any():
        return False
    ours = left.to_numpy(dtype=object)[present]
    theirs = right.to_numpy(dtype=object)[present]
    return bool((ours == theirs).all())
