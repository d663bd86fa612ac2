"""How much memory there is, and how much a piece of work has held at most.

Reads from: nothing.  Read by: compare.work, run.
"""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path

_STATUS, _RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def reset_peak() -> None:
    """Begin to count anew, where the system can (Linux)."""
    with contextlib.suppress(OSError):
        _RESET.write_text("5", encoding="ascii")


def peak_bytes() -> int | None:
    """Return the most memory that this process held since ``reset_peak``.

    Since it was started, where the system cannot count anew; None where it does not
    say at all.
    """
    try:
        found = re.search(r"VmHWM:\s+(\d+) kB", _STATUS.read_text(encoding="ascii"))
    except OSError:
        return _peak_since_start()
    return int(found[1]) * 1024 if found else _peak_since_start()


def available_bytes() -> int | None:
    """Return the memory that new processes may use; None if nobody says."""
    try:
        text = Path("/proc/meminfo").read_text(encoding="ascii")
        found = re.search(r"MemAvailable:\s+(\d+) kB", text)
        if found:
            return int(found[1]) * 1024
    except OSError:
        pass
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # Windows
        return None


def _peak_since_start() -> int | None:
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # macOS counts bytes, others kilobytes.
    return int(peak if os.uname().sysname == "Darwin" else peak * 1024)
