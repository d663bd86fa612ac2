"""How much memory a file will need, and how much there is.

A file that does not fit is refused before it is read: the sentence says what it needs.
Where the system does not say how much is free, nothing is refused.
"""

from __future__ import annotations

import os
from pathlib import Path

from tabtap.errors import UserInputError
from tabtap.files.file_table import Format

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
    limit = byte_limit(form)
    if limit is not None and size > limit:
        raise too_large(f"has {shown_size(size)}", size, name, form)


def too_large(found: str, size: int, name: str, form: Format) -> UserInputError:
    """Return the error for a file that needs more memory than there is."""
    need = size * FACTORS[form]
    free = available_bytes()
    there = "" if free is None else f" and {shown_size(free)} are free"
    return UserInputError(
        f"{name} {found}; reading it takes about {shown_size(need)} of memory{there}. "
        f"{_SAMPLE}."
    )


def large_note(n_rows: int, n_columns: int) -> str | None:
    """Return what to say of a table that is too large to profit, or None."""
    if n_rows * n_columns <= LARGE_CELLS:
        return None
    return (
        f"{n_rows:,} rows x {n_columns:,} columns is a large table; added rows will "
        f"hardly help, and looking for them takes long. {_SAMPLE}."
    )


def shown_size(size: float) -> str:
    """Return a number of bytes for reading.

    Examples
    --------
    >>> shown_size(900), shown_size(2_200_000_000)
    ('900 bytes', '2.2 GB')
    """
    if size < 1000:
        return f"{size:.0f} bytes"
    for unit in ("kB", "MB", "GB"):
        size /= 1000
        if size < 1000:
            return f"{size:.1f} {unit}"
    return f"{size / 1000:.1f} TB"
