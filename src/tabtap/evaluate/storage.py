"""The folder weights are kept in: one writer at a time, whole folders or none.

What an interrupted fetch leaves behind is a scratch folder, which the next fetch of
the same name sweeps away; the lock goes with the process that held it.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock
from platformdirs import user_cache_path

_CHUNK = 2**20


def cache_folder() -> Path:
    """Return the folder of all weights; TABTAP_CACHE moves it.  It may not exist."""
    chosen = os.environ.get("TABTAP_CACHE")
    root = Path(chosen).expanduser() if chosen else user_cache_path("tabtap")
    return root / "weights"


@contextmanager
def exclusive(name: str) -> Iterator[None]:
    """Keep other processes from fetching the same weights meanwhile."""
    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / f".{name}.lock"):
        yield


@contextmanager
def scratch_folder(name: str) -> Iterator[Path]:
    """Give an empty folder on the disk of the cache, and remove it at the end.

    Only for the holder of ``exclusive``: leftovers of earlier fetches go too.
    """
    folder, prefix = cache_folder(), f".{name}.fetch-"
    for leftover in folder.glob(f"{prefix}*"):
        # A pip that outlived its fetch may still be writing there.
        shutil.rmtree(leftover, ignore_errors=True)
    scratch = folder / f"{prefix}{secrets.token_hex(8)}"
    scratch.mkdir()
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def put_in_place(new: Path, place: Path, scratch: Path) -> None:
    """Move a finished folder to its place; an old one goes to the scratch folder."""
    for path in new.iterdir():
        with path.open("rb+") as file:
            os.fsync(file.fileno())
    if place.exists():
        place.rename(scratch / "old")
    new.rename(place)


def sha256_of(path: Path) -> str:
    """Return the checksum of a file's content."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(_CHUNK):
            digest.update(piece)
    return digest.hexdigest()
