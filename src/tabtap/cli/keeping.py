"""The folder in which a run is kept until its table is written.

It is beside the table that will be written, or in the user's cache for a table that
goes to a pipe.  Only files of ours are ever removed from it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tabtap.errors import UserInputError

if TYPE_CHECKING:
    from tabtap.table import Table

_OURS = ("backbones-*.tap", "progress-*.tap", "*.lock")
_LOCK = "run.lock"


def run_folder(out: str, table: Table) -> Path:
    """Return where a run is kept, whether it is there or not."""
    if out != "-":
        return Path(f"{out}.run")
    from tabtap.domain.judgement import table_sha256
    from tabtap.evaluate.weights import cache_folder

    name = hashlib.sha256(table_sha256(table).encode()).hexdigest()[:16]
    return cache_folder().parent / "runs" / name


def holds_a_run(folder: Path) -> bool:
    """Tell whether an interrupted run left something to go on from."""
    return any(folder.glob("*-*.tap"))


def clear(folder: Path) -> None:
    """Remove what a run has left; the folder too, if nothing else is in it."""
    for pattern in _OURS:
        for path in folder.glob(pattern):
            path.unlink(missing_ok=True)
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()


@contextmanager
def taken(folder: Path) -> Iterator[None]:
    """Keep a second run from writing to the same place meanwhile."""
    from filelock import FileLock, Timeout

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserInputError(
            f"The run cannot be kept in {str(folder)!r}: {error.strerror or error}. "
            "Pass --out with a name in a folder that can be written to."
        ) from error
    lock = FileLock(folder / _LOCK)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise UserInputError(
            f"Another run is at work in {str(folder)!r}. Wait for it, or pass another "
            "--out."
        ) from None
    try:
        yield
    finally:
        lock.release()
        if not holds_a_run(folder):
            clear(folder)
