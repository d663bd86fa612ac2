"""What a file is by its first bytes, where its name says something else."""

from __future__ import annotations

from tabtap.errors import UserInputError
from tabtap.files.file_table import Compression, Format

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

    Parameters
    ----------
    head : bytes
        The first bytes of the file as it lies there, compressed or not.
    name : str
        What errors call the file.
    form : Format
        The format its name says.
    compression : Compression or None
        The compression its name says.
    """
    said = compression or form
    own = _OWN.get(said, ())
    if head.startswith(own) and own:
        return
    for sign, what, fix in _SIGNS:
        if head.startswith(sign):
            raise UserInputError(
                f"{name} is called a {said} file and looks like {what}. {fix}"
            )
    if head.lstrip().lower().startswith(_WEB_PAGE):
        raise UserInputError(
            f"{name} is a web page, not a table: a download may have ended at a login "
            "or an error. Download the file itself."
        )
    if said in _SURE:
        raise _not_what_it_says(head, name, said)


def check_text(content: bytes, name: str) -> None:
    """Raise if bytes that should be text hold a NUL."""
    place = content.find(b"\x00")
    if place >= 0:
        raise UserInputError(
            f"{name} is not text: byte {place} is a NUL, which no text file holds. "
            "It is damaged, or a binary file under a wrong name. Save the table as "
            ".csv, or rename the file to what it is."
        )


def _not_what_it_says(head: bytes, name: str, said: str) -> UserInputError:
    text = b"\x00" not in head and not head.startswith(b"\xff")
    guess = "it looks like plain text" if text else "it may be damaged"
    fix = "Rename it to end in .csv" if text else "Save or download it again"
    return UserInputError(
        f"{name} is called a {said} file and does not begin like one; {guess}. {fix}."
    )
