"""What ends a command early: one paragraph on the error stream and an exit code.

The user's mistake has its sentence already.  Ours asks for a second run with --debug,
which shows where it happened.
"""

from __future__ import annotations

import errno
import functools
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any

from tabtap.cli.exits import BAD_INPUT, INTERRUPTED, NO_READER, OUR_MISTAKE
from tabtap.cli.screen import Screen
from tabtap.errors import BadTableError, TapError

_ON_THE_COMMAND_LINE = (
    "On the command line --kind COLUMN=KIND says what a column is, --ignore COLUMN "
    "keeps a column from being learned, and --task says what the target is."
)
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class _ReaderGoneError(Exception):
    """A broken pipe, which typer would answer with a code of its own."""


class _InterruptedError(Exception):
    """Ctrl-C, which typer would swallow."""


def passing_on(command: Callable[..., int]) -> Callable[..., int]:
    """Return a command whose interruptions reach ``explain``."""

    @functools.wraps(command)
    def run(*given: Any, **named: Any) -> int:  # noqa: ANN401
        try:
            return command(*given, **named)
        except BrokenPipeError as error:
            raise _ReaderGoneError from error
        except KeyboardInterrupt as error:
            raise _InterruptedError from error

    return run


def explain(error: Exception, *, debug: bool) -> int:
    """Say what went wrong, and return the exit code of it."""
    if isinstance(error, (BrokenPipeError, _ReaderGoneError)):
        _hang_up()
        return NO_READER
    screen = Screen.standard()
    if debug:
        traceback.print_exception(error)
    if isinstance(error, _InterruptedError):
        screen.stop("Interrupted.")
        return INTERRUPTED
    found = _users(error)
    if found is None:
        screen.error(_ours(error, debug=debug))
        return OUR_MISTAKE
    screen.error(found)
    return BAD_INPUT


def _users(error: Exception) -> str | None:
    """Return the sentence of what the user or their machine can mend."""
    if isinstance(error, BadTableError):
        return f"{error}\n{_ON_THE_COMMAND_LINE}"
    if isinstance(error, TapError):
        return str(error)
    if hasattr(error, "format_message"):
        return _usage(error)
    if isinstance(error, MemoryError):
        return "There is not enough memory for this. Take a sample of the rows."
    if isinstance(error, OSError):
        return _machine(error)
    return None


def _usage(error: Exception) -> str:
    """Return what is wrong with the command itself, as typer found it."""
    sentence = str(error.format_message()).strip()  # type: ignore[attr-defined]
    if not sentence.endswith((".", "?")):
        sentence += "."
    context = getattr(error, "ctx", None)
    command = getattr(context, "command_path", "tabtap")
    return f"{sentence} See: {command} --help"


def _machine(error: OSError) -> str:
    reason = error.strerror or str(error)
    place = "" if error.filename is None else f" ({str(error.filename)!r})"
    if error.errno in _NO_ROOM:
        _hang_up()
        return (
            f"There is no room to write{place}: {reason}. Nothing was left "
            "half-written. Make room, and run it again."
        )
    return f"The system refused{place}: {reason}."


def _ours(error: Exception, *, debug: bool) -> str:
    what = f"{type(error).__name__}: {error}".strip().removesuffix(":")
    advice = "Please report it with the lines above."
    if not debug:
        advice = "Run the same with --debug to see where, and please report it."
    return f"This is a mistake in tabtap, not in your table: {what}. {advice}"


def _hang_up() -> None:
    """Let nothing more be written to an output that takes no more."""
    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, sys.stdout.fileno())
    os.close(sink)
