"""Which format a file has, by its name."""

from __future__ import annotations

from pathlib import PurePath
from typing import NamedTuple, get_args

from tabtap.errors import UserInputError, bad_setting
from tabtap.files.file_table import Compression, Format

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

    ``fallback`` is the format of a name that does not say one.

    Raises
    ------
    UserInputError
        If the name says no format or one that cannot be read, with what to do.

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
    found = EXTENSIONS.get(last) or fallback
    if found is None and compression == "zip" and not last:
        found = "csv"  # train.zip: the usual thing to find in it
    if found is None:
        raise _unknown(path, last)
    if compression is not None and found not in _COMPRESSIBLE:
        raise UserInputError(
            f"{str(path)!r} is a compressed {found} file; only text is read and "
            f"written compressed. Use the name without .{compression}: {found} files "
            "are compressed inside."
        )
    return FileForm(found, compression)


def check_format(name: str) -> Format:
    """Return the format of a name that a caller passed."""
    known: tuple[Format, ...] = get_args(Format)
    for found in known:
        if found == name:
            return found
    raise bad_setting("format", name, f"be one of {', '.join(known)}", "Try csv.")


def _unknown(path: PurePath, suffix: str) -> UserInputError:
    known = " ".join(EXTENSIONS)
    what = f"the extension {suffix!r}" if suffix else "no extension"
    advice = _ADVICE.get(suffix, "Rename it, or say which format it has.")
    return UserInputError(
        f"{str(path)!r} has {what}. {advice} These are known: {known}, and for text "
        "one of .gz .bz2 .xz .zst .zip after them."
    )
