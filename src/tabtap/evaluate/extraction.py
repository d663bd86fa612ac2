"""One file of weights, and its licence, out of a source archive.

Only the named members are read, the weights only if they are of the released size, and
they are kept only if they are the released file to the bit.
"""

from __future__ import annotations

import hashlib
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from tabtap.errors import WeightsError
from tabtap.evaluate.checkpoints import Checkpoint

_CHUNK = 2**20
_LICENCE_BYTES = 2**18
"""More than any licence text; a larger member is not one."""

_UNREADABLE = (tarfile.TarError, EOFError, zlib.error)


def extract_checkpoint(checkpoint: Checkpoint, archive: Path, scratch: Path) -> Path:
    """Take the one file out of an archive, and check that it is the right one.

    Raises
    ------
    WeightsError
        If the archive is damaged or holds something else.
    """
    path = scratch / "checkpoint"
    with _opened(checkpoint, archive) as files, path.open("wb") as out:
        found = _copy_member(files, checkpoint.member, out, checkpoint.n_bytes)
    if found is None:
        raise _damaged(checkpoint, f"does not hold {checkpoint.member!r} as released")
    if found != checkpoint.sha256:
        wanted = checkpoint.sha256
        raise _damaged(
            checkpoint, f"holds a file with sha256 {found[:12]}, not {wanted[:12]}"
        )
    return path


def read_licence(checkpoint: Checkpoint, archive: Path) -> str:
    """Return the licence text that came with the weights, attribution first."""
    with _opened(checkpoint, archive) as files:
        member = _find(files, checkpoint.licence_member)
        source = None if member is None else files.extractfile(member)
        text = b"" if source is None else source.read(_LICENCE_BYTES)
    if not text:
        raise _damaged(checkpoint, f"holds no {checkpoint.licence_member!r}")
    return f"{checkpoint.attribution}\n\n{text.decode('utf-8', 'replace')}"


@contextmanager
def _opened(checkpoint: Checkpoint, archive: Path) -> Iterator[tarfile.TarFile]:
    """Open an archive; whatever is wrong inside it becomes one kind of error."""
    try:
        with tarfile.open(archive, "r:gz") as files:
            yield files
    except _UNREADABLE as error:
        raise _damaged(checkpoint, f"breaks off or is garbled ({error})") from error
    except OSError as error:
        if error.errno is not None:  # a full disk, not a bad archive
            raise
        raise _damaged(checkpoint, f"is garbled ({error})") from error


def _find(files: tarfile.TarFile, name: str) -> tarfile.TarInfo | None:
    for member in files:
        if member.isfile() and member.name.partition("/")[2] == name:
            return member
    return None


def _copy_member(
    files: tarfile.TarFile, name: str, out: BinaryIO, n_bytes: int
) -> str | None:
    """Copy a member of exactly this size and return its sha256, or None."""
    member = _find(files, name)
    source = None if member is None else files.extractfile(member)
    if member is None or source is None or member.size != n_bytes:
        return None
    digest = hashlib.sha256()
    while piece := source.read(_CHUNK):
        digest.update(piece)
        out.write(piece)
    return digest.hexdigest()


def _damaged(checkpoint: Checkpoint, found: str) -> WeightsError:
    return WeightsError(
        f"The archive of {checkpoint.requirement} {found}; nothing was kept. Run "
        "`python -m pip cache purge` and fetch again. If it happens again, the index "
        "pip uses serves another file than the release: use another index "
        "(PIP_INDEX_URL)."
    )
