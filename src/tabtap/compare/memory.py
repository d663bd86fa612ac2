"""How much memory a piece of work has held at most."""

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


def _peak_since_start() -> int | None:
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # macOS counts bytes, others kilobytes.
    return int(peak if os.uname().sysname == "Darwin" else peak * 1024)
