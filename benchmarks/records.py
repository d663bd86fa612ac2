"""Measurements as JSON lines: one record a line, written as soon as it is known.

Read by: every benchmark here, and report.

A record says what was measured, on which commit and machine.  A run that was stopped
goes on where it ended: what is already in the file is not measured again.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path
from typing import Any

Record = Mapping[str, Any]

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("torch", "numpy", "scikit-learn")


def read_records(path: Path) -> list[dict[str, Any]]:
    """Return the records of a file; none if it does not exist.

    A last line that was cut off, as when a run is stopped while writing, is left out.
    """
    if not path.is_file():
        return []
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    return [json.loads(line) for line in lines if line.endswith("\n")]


def append_records(path: Path, records: Sequence[Record]) -> None:
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


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table that reads well on a terminal and as markdown."""
    lines = [list(header), *map(list, rows)]
    widths = [max(3, *map(len, column)) for column in zip(*lines, strict=True)]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    return "\n".join(
        "| " + " | ".join(_padded(line, widths)) + " |"
        for line in [lines[0], rule, *lines[1:]]
    )


def _padded(line: Sequence[str], widths: Sequence[int]) -> list[str]:
    first = line[0].ljust(widths[0])
    pairs = zip(line[1:], widths[1:], strict=True)
    return [first, *(cell.rjust(width) for cell, width in pairs)]


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
    listing = Path("/proc/cpuinfo")  # platform.processor() is empty on most Linux
    if listing.is_file():
        for line in listing.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
