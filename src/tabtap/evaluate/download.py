"""One source archive, brought by the user's own pip.

pip knows the user's index, mirror, proxy and certificates, so it does the fetching.
Nothing in the archive is executed: see ``stand_in_backend.py``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tabtap.errors import WeightsError
from tabtap.evaluate.checkpoints import Checkpoint

_POLL_SECONDS = 0.2
_FULL = "No space left on device"


@dataclass(frozen=True, slots=True)
class FetchProgress:
    """How far a fetch has come."""

    stage: str
    """``download``, ``extract`` or ``convert``."""

    done_bytes: int
    total_bytes: int
    """Both count the archive; the total is about right, never exact."""


FetchObserver = Callable[[FetchProgress], None]
Download = Callable[[Checkpoint, Path, FetchObserver], Path]
"""Brings a checkpoint's archive into a scratch folder and returns its path."""


def download_archive(
    checkpoint: Checkpoint, scratch: Path, observer: FetchObserver
) -> Path:
    """Have pip bring the source archive that holds a checkpoint.

    Raises
    ------
    WeightsError
        If pip is missing or does not find, reach or store the archive.
    """
    arrived = scratch / "archive"
    command = _pip_command(checkpoint, arrived)
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        # Not a file: on a full disk pip could not say that it is full.
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=_pip_environment(checkpoint, scratch),
    )
    try:
        said = _wait(process, checkpoint, scratch, observer)
    except BaseException:
        process.kill()
        process.communicate()
        raise
    archives = sorted(arrived.glob("*.tar.gz"))
    if process.returncode != 0 or len(archives) != 1:
        raise _pip_error(checkpoint, said)
    return archives[0]


def _pip_command(checkpoint: Checkpoint, arrived: Path) -> list[str]:
    options = ["--no-deps", "--no-build-isolation", "--no-input", "--progress-bar=off"]
    options += ["--disable-pip-version-check", f"--no-binary={checkpoint.package}"]
    place = ["--dest", str(arrived)]
    pip = [sys.executable, "-m", "pip", "download"]
    return [*pip, *options, *place, checkpoint.requirement]


def _pip_environment(checkpoint: Checkpoint, scratch: Path) -> dict[str, str]:
    """Lay out the stand-in backend, and keep pip's unfinished files in our folder."""
    shelf, working = scratch / "backend", scratch / "working"
    working.mkdir()
    package, _, module = checkpoint.backend.rpartition(".")
    place = shelf.joinpath(*package.split("."))
    place.mkdir(parents=True)
    (place / "__init__.py").touch()
    stand_in = Path(__file__).with_name("stand_in_backend.py")
    shutil.copyfile(stand_in, place / f"{module}.py")
    paths = [str(shelf), os.environ.get("PYTHONPATH", "")]
    own = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(working))
    python_path = os.pathsep.join(path for path in paths if path)
    return {**os.environ, **own, "PYTHONPATH": python_path, "PYTHONIOENCODING": "utf-8"}


def _wait(
    process: subprocess.Popen[bytes],
    checkpoint: Checkpoint,
    scratch: Path,
    observer: FetchObserver,
) -> str:
    """Return what pip said, once it has ended."""
    while True:
        try:
            said, _ = process.communicate(timeout=_POLL_SECONDS)
            return said.decode("utf-8", "replace")
        except subprocess.TimeoutExpired:
            total = checkpoint.archive_bytes
            done = min(_bytes_below(scratch), total)
            observer(FetchProgress("download", done, total))


def _bytes_below(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*.tar.gz"):
        # A file may go between being listed and being asked.
        try:
            total = max(total, path.stat().st_size)
        except OSError:
            continue
    return total


def _pip_error(checkpoint: Checkpoint, said: str) -> WeightsError:
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    if any("No module named pip" in line for line in lines):
        return WeightsError(
            f"pip is needed to fetch {checkpoint.name!r} and this Python has none. Run "
            f"`{sys.executable} -m ensurepip` and fetch again."
        )
    if any(_FULL in line for line in lines):
        return full_disk(checkpoint)
    errors = [line for line in lines if line.startswith("ERROR:")] or lines[-1:]
    return WeightsError(
        f"pip could not bring {checkpoint.requirement}, which holds the weights "
        f"{checkpoint.name!r} ({checkpoint.size}): {' '.join(errors)[:500]} Check the "
        "network, or the index and proxy that `python -m pip config list` shows, and "
        "fetch again. On a machine without network, copy the weights folder from one "
        "that has it and point TABTAP_CACHE to it."
    )


def full_disk(checkpoint: Checkpoint) -> WeightsError:
    """Return the error for a disk without room for the weights."""
    kept = round(checkpoint.n_bytes / 1e6)
    needed = kept + round((2 * checkpoint.archive_bytes + checkpoint.n_bytes) / 1e6)
    return WeightsError(
        f"The disk is full: fetching {checkpoint.name!r} needs about {needed} MB for "
        f"a moment and {kept} MB afterwards; nothing was kept. Make room, or point "
        "TABTAP_CACHE to a folder on another disk."
    )
