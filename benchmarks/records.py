"""Measurements as JSON lines: how they are made, written, continued and read.

A record says what was measured, on which commit and machine.  It is written as soon as
it is known, so a run that was stopped goes on where it ended: what is already in the
file is not measured again.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed

Record = dict[str, Any]
Records = Sequence[Mapping[str, Any]]

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("torch", "numpy", "scikit-learn")


def hand_out(
    work: Callable[..., Any], tasks: Iterable[Sequence[Any]], *, jobs: int = 1
) -> Iterator[Any]:
    """Do a work for every task, and yield what comes of it as it comes.

    Parameters
    ----------
    work : callable
        Importable by other processes.
    tasks : iterable of sequences
        What the work is given, each time.
    jobs : int, default=1
        Processes; a single job is done in this one, task by task.
    """
    parallel = Parallel(n_jobs=jobs, return_as="generator_unordered")
    yield from parallel(delayed(work)(*task) for task in tasks)


def keep_all(
    found: Iterable[Records], out: Path | None, mark: Mapping[str, str]
) -> Iterator[list[Record]]:
    """Mark records, add them to a file as soon as they are known, and pass them on.

    Parameters
    ----------
    found : iterable of sequences of records
        Those of one sequence are written together.
    out : Path, optional
        The file; without it they are passed on only.
    mark : mapping
        What every record is to say beside its own, as ``stamp`` returns it.
    """
    for records in found:
        marked = [{**record, **mark} for record in records]
        if out is not None:
            append_records(out, marked)
        yield marked


def measure_missing(
    measure: Callable[[Record], Record],
    wanted: Iterable[Record],
    identity: Callable[[Mapping[str, Any]], object],
    out: Path | None,
    *,
    jobs: int = 1,
) -> list[Record]:
    """Measure what a file does not hold yet; return all records, the known ones first.

    Parameters
    ----------
    measure : callable
        Makes a record of its heading.
    wanted : iterable of dict
        Headings: what is to be measured.
    identity : callable
        Tells of a heading or record which measurement it is.
    out : Path, optional
        The file; without it everything is measured and nothing written.
    jobs : int, default=1
        Processes, as in ``hand_out``.
    """
    known = [] if out is None else read_records(out)
    done = {identity(record) for record in known}
    left = [(heading,) for heading in wanted if identity(heading) not in done]
    measured = hand_out(measure, left, jobs=jobs)
    found = keep_all(([record] for record in measured), out, stamp())
    return [*known, *chain.from_iterable(found)]


def read_records(path: Path) -> list[Record]:
    """Return the records of a file; none if it does not exist.

    A last line that was cut off, as when a run is stopped while writing, is left out.
    """
    if not path.is_file():
        return []
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    return [json.loads(line) for line in lines if line.endswith("\n")]


def append_records(path: Path, records: Records) -> None:
    """Add records to the end of a file, which is made if need be."""
    path.parent.mkdir(parents=True, exist_ok=True)
    _drop_cut_line(path)
    with path.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(dict(record)) + "\n" for record in records)


def stamp() -> dict[str, str]:
    """Return when, on what and with which code the measuring is done."""
    return {
        "commit": _commit(),
        "date": datetime.now(timezone.utc).date().isoformat(),
        "machine": _machine(),
    }


def said_of_cpu(name: str, listing: Path = Path("/proc/cpuinfo")) -> str | None:
    """Return what the system says of the CPU; None where it cannot be known."""
    lines = listing.read_text(encoding="utf-8") if listing.is_file() else ""
    found = [line for line in lines.splitlines() if line.startswith(name)]
    return found[0].partition(":")[2].strip() if found else None


def _drop_cut_line(path: Path) -> None:
    text = path.read_bytes() if path.is_file() else b""
    if text and not text.endswith(b"\n"):
        path.write_bytes(text[: text.rfind(b"\n") + 1])


def _commit() -> str:
    """Return the commit, marked with a plus if the files differ from it."""
    head = _git("rev-parse", "--short=12", "HEAD")
    changed = _git("status", "--porcelain", "--", "src", "benchmarks")
    return "unknown" if head is None else head + ("+" if changed else "")


def _git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def _machine() -> str:
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    python = f"Python {platform.python_version()}"
    return f"{_processor()}, {os.cpu_count()} cores; {python}, {packages}"


def _processor() -> str:
    # platform.processor() is empty on most Linux.
    return said_of_cpu("model name") or platform.processor() or platform.machine()
