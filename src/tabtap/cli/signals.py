"""Ctrl-C and requests to end: the first ends a run in order, the second at once."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from tabtap.cli.exits import INTERRUPTED

_SHOW_CURSOR = "\x1b[?25h"
_WATCHED = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def interruptible() -> Iterator[None]:
    """Turn a first signal into KeyboardInterrupt and a second into the end."""
    before = {number: signal.signal(number, _first) for number in _WATCHED}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _first(number: int, frame: FrameType | None) -> None:
    del frame
    for watched in _WATCHED:
        signal.signal(watched, _second)
    raise KeyboardInterrupt(number)


def _second(number: int, frame: FrameType | None) -> None:
    del number, frame
    if sys.stderr.isatty():
        os.write(sys.stderr.fileno(), _SHOW_CURSOR.encode())
    os._exit(INTERRUPTED)
