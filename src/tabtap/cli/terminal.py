"""What people read and how a command ends: the error stream, help, notes, signals.

Standard output is for tables and JSON alone.  Text that comes from the user's files is
never read as markup, and characters that steer terminals are taken out of it.
"""

from __future__ import annotations

import errno
import functools
import inspect
import io
import json
import os
import shutil
import signal
import sys
import textwrap
import traceback
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any, Final, TextIO

import typer
from typer.core import TyperCommand, TyperGroup

from tabtap.errors import (
    BadTableError,
    ColumnLostWarning,
    TapError,
    TapWarning,
    TargetCopyWarning,
)
from tabtap.wording import plain

if TYPE_CHECKING:
    from rich.console import Console


_MIN_WIDTH, _MAX_WIDTH = 20, 100
"""Longer lines are hard to read, however wide the terminal is; none is narrower."""

_LAST_STREAM = 2
"""Standard input, output and error are 0, 1 and 2."""

_KEPT_INDENT = 4
"""Lines that begin with so many spaces show a place and stay as they are."""


def ready_streams() -> None:
    """See to streams that are closed, or that cannot write every letter.

    A file that is opened later must not get the number of a closed stream, for then
    messages would land in it.  Standard output stays closed, so that a table that is
    to go there can be refused.
    """
    number = 0
    while number <= _LAST_STREAM:
        number = os.open(os.devnull, os.O_RDWR)
    os.close(number)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def json_text(found: Mapping[str, Any]) -> str:
    """Return an object as JSON in which no sign steers a terminal."""
    text = json.dumps(found, indent=2, allow_nan=False)
    return text.replace("\x7f", "\\u007f")  # the one that JSON leaves as it is


def console_on(stream: TextIO | None) -> Console:
    """Return a console on a stream, plain where the stream is not a terminal.

    What is written to a closed stream is lost.
    """
    from rich.console import Console

    class HonestConsole(Console):
        """Says that nobody reads any more, where rich would end the process."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    place = io.StringIO() if stream is None else stream
    return HonestConsole(file=place, highlight=False, markup=False, emoji=False)


@dataclass(frozen=True, slots=True)
class Screen:
    """Where a command speaks: the error stream; nowhere if it is to be quiet."""

    console: Console

    quiet: bool = False
    """Whether only errors are said."""

    @classmethod
    def standard(cls, *, quiet: bool = False) -> Screen:
        """Return the screen of this process."""
        return cls(console_on(sys.stderr), quiet)

    @property
    def is_lively(self) -> bool:
        """Whether lines can be drawn over."""
        dumb = self.console.is_dumb_terminal
        return self.console.is_terminal and not dumb and not self.quiet

    @property
    def width(self) -> int:
        """How many characters a line may have, whatever the terminal says of itself."""
        return min(max(self.console.width, _MIN_WIDTH), _MAX_WIDTH)

    def say(self, text: str, style: str = "") -> None:
        """Write some text, wrapped."""
        if not self.quiet:
            self._write(text, style)

    def note(self, text: str) -> None:
        """Write something that the user may want to know."""
        self.say(f"Note: {text}", "yellow")

    def stop(self, text: str) -> None:
        """Write why it ended before its end, also when quiet."""
        self._write(text, "yellow")

    def error(self, text: str) -> None:
        """Write what went wrong, also when quiet."""
        self._write(f"Error: {text}", "red")

    def _write(self, text: str, style: str) -> None:
        from rich.text import Text

        wrapped = Text(fold(text, self.width), style=style)
        self.console.print(wrapped, soft_wrap=True)


def fold(text: str, width: int) -> str:
    r"""Return text with every line wrapped, except those that point at a place.

    Examples
    --------
    >>> print(fold("one two three\n  - four five", 12))
    one two
    three
      - four
        five
    """
    return "\n".join(_fold_line(line, width) for line in plain(text).split("\n"))


def clipped(text: object, width: int) -> str:
    """Return something as text on one line, of so many characters at most."""
    line = " ".join(plain(str(text)).split())
    return line if len(line) <= width else line[: width - 3] + "..."


def _fold_line(line: str, width: int) -> str:
    indent = len(line) - len(line.lstrip())
    if indent >= _KEPT_INDENT:
        return line
    hang = indent + 2 if line.lstrip().startswith("- ") else indent
    return textwrap.fill(
        line,
        width,
        subsequent_indent=" " * hang,
        break_long_words=False,
        break_on_hyphens=False,
    )


# ---- Help that reads well: paragraphs that flow, flags without a type, examples in
# lines.
#
# Releases of typer differ in how they break the lines below the options, so these are
# written here.


_Debug = Annotated[bool, typer.Option("--debug", help="Show where an error happened.")]


class _Helpful:
    """Help that ends with examples, a line each."""

    epilog: str | None

    def get_params(self, ctx: Any) -> Any:  # noqa: ANN401  typer's own types vary
        """Return the parameters, and see to how flags are shown."""
        params = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            if getattr(param, "is_flag", False) and param.metavar is None:
                param.metavar = " "
        return params

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401
        """Write the help, and below it the examples."""
        below, self.epilog = self.epilog, None
        super().format_help(ctx, formatter)  # type: ignore[misc]
        self.epilog = below
        width = max(shutil.get_terminal_size().columns - 2, _MIN_WIDTH)
        print(textwrap.indent(fold(below or "", width), " ") + "\n")


class HelpfulCommand(_Helpful, TyperCommand):
    """A command whose help ends with examples."""


class HelpfulGroup(_Helpful, TyperGroup):
    """A group of commands whose help ends with examples."""


def add_command(
    app: typer.Typer,
    name: str,
    command: Callable[..., int],
    *,
    epilog: str | None = None,
) -> None:
    """Let an application have a command, and the command the option ``--debug``."""
    help_text = _flowing(command.__doc__ or "")
    add = app.command(name, epilog=epilog, help=help_text, cls=HelpfulCommand)
    add(_passing_on(_with_debug(command)))


def _flowing(text: str) -> str:
    """Return a docstring as paragraphs of one line each, for any width."""
    paragraphs = inspect.cleandoc(text).split("\n\n")
    return "\n\n".join(" ".join(part.split()) for part in paragraphs)


def _with_debug(command: Callable[..., int]) -> Callable[..., int]:
    """Return a command that takes ``--debug``, which ``main`` has read already."""
    signature = inspect.signature(command, eval_str=True)
    if "debug" in signature.parameters:
        return command
    debug = inspect.Parameter(
        "debug", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=_Debug
    )

    @functools.wraps(command)
    def run(*, debug: bool, **given: Any) -> int:  # noqa: ANN401, ARG001
        return command(**given)

    options = [*signature.parameters.values(), debug]
    run.__signature__ = signature.replace(parameters=options)  # type: ignore[attr-defined]
    return run


# ---- Warnings as notes on the screen, once each; those of other packages only to
# debug.


_ABOUT_COLUMNS = (
    "\nOn the command line --kind COLUMN=KIND says what a column is, and --ignore "
    "COLUMN keeps it from being learned."
)


@contextmanager
def told_warnings(
    screen: Screen,
    *,
    everything: bool = False,
    told_before: type[TapWarning] | None = None,
) -> Iterator[list[str]]:
    """Show our warnings as notes while something runs; give the list of those shown.

    ``told_before`` is a warning that is not shown, for its owner has told it already.
    """
    told: list[str] = []

    def tell(message: Any, *about: Any, **more: Any) -> None:  # noqa: ANN401
        del about, more
        told.append(str(message))
        screen.note(f"{message}{_more(message)}")

    with warnings.catch_warnings():
        warnings.simplefilter("default" if everything else "ignore")
        warnings.simplefilter("always", TapWarning)
        if told_before is not None:
            warnings.simplefilter("ignore", told_before)
        warnings.showwarning = tell
        yield told


def tell_rest(screen: Screen, notes: Collection[str], told: Collection[str]) -> None:
    """Show the notes of a run that no warning has told already."""
    for note in notes:
        if not any(note in text for text in told):  # a warning may list several
            screen.note(note)


def _more(message: object) -> str:
    is_about_columns = isinstance(message, (ColumnLostWarning, TargetCopyWarning))
    return _ABOUT_COLUMNS if is_about_columns else ""


# ---- Ctrl-C and requests to end: the first ends a run in order, the second at once.


_SHOW_CURSOR = "\x1b[?25h"
_WATCHED = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def interruptible() -> Iterator[None]:
    """Turn a first signal into KeyboardInterrupt and a second into the end.

    A terminal that is closed counts as a first signal, unless nohup was asked for.
    """
    before = {number: signal.signal(number, _first) for number in _WATCHED}
    closed = getattr(signal, "SIGHUP", None)  # Windows has none
    if closed is not None and signal.getsignal(closed) is not signal.SIG_IGN:
        before[closed] = signal.signal(closed, _terminal_closed)
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


def _terminal_closed(number: int, frame: FrameType | None) -> None:
    """End as if asked to; system and shell may each say it, so once is enough."""
    del frame
    signal.signal(number, signal.SIG_IGN)
    signal.raise_signal(signal.SIGTERM)


def _second(number: int, frame: FrameType | None) -> None:
    del number, frame
    if sys.stderr.isatty():
        os.write(sys.stderr.fileno(), _SHOW_CURSOR.encode())
    os._exit(INTERRUPTED)


# ---- What the number means that a command leaves to the shell.


YES: Final = 0
"""It is done, and the answer is yes: augmented, rules hold, all as certified."""

OUR_MISTAKE: Final = 1
"""A mistake in tabtap itself."""

BAD_INPUT: Final = 2
"""Something that was passed cannot be used."""

NO: Final = 3
"""It is done, and the answer is no: no gain, a rule is broken, not as certified."""

INTERRUPTED: Final = 130
"""Ctrl-C, or a request to end."""

NO_READER: Final = 141
"""Whoever read the output went away, as ``head`` does."""


# ---- What ends a command early: one paragraph on the error stream and an exit code.
#
# The user's mistake has its sentence already.  Ours asks for a second run with --debug,
# which shows where it happened.


_ON_THE_COMMAND_LINE = (
    "On the command line --kind COLUMN=KIND says what a column is, --ignore COLUMN "
    "keeps a column from being learned, and --task says what the target is."
)
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class _ReaderGoneError(Exception):
    """A broken pipe, which typer would answer with a code of its own."""


class _InterruptedError(Exception):
    """Ctrl-C, which typer would swallow."""


def _passing_on(command: Callable[..., int]) -> Callable[..., int]:
    """Return a command whose interruptions reach ``explain``."""

    @functools.wraps(command)
    def run(**given: Any) -> int:  # noqa: ANN401
        try:
            return command(**given)
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
        print(plain("".join(traceback.format_exception(error))), file=sys.stderr)
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
    if sys.stdout is None:
        return
    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, sys.stdout.fileno())
    os.close(sink)
