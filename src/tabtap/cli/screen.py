"""What people read: on the error stream, wrapped to their terminal.

Standard output is for tables and JSON alone.  Text that comes from the user's files is
never read as markup, and characters that steer terminals are taken out of it.
"""

from __future__ import annotations

import sys
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.console import Console

_MAX_WIDTH = 100
"""Longer lines are hard to read, however wide the terminal is."""

_KEPT_INDENT = 4
"""Lines that begin with so many spaces show a place and stay as they are."""


def console_on(stream: TextIO) -> Console:
    """Return a console on a stream, plain where the stream is not a terminal."""
    from rich.console import Console

    class HonestConsole(Console):
        """Says that nobody reads any more, where rich would end the process."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    return HonestConsole(file=stream, highlight=False, markup=False, emoji=False)


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

        width = min(self.console.width, _MAX_WIDTH)
        wrapped = Text(fold(text, width), style=style)
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


def plain(text: str) -> str:
    r"""Return text without what could steer a terminal.

    Examples
    --------
    >>> plain("a\x1b[31mb")
    'a?[31mb'
    """
    return "".join(c if c.isprintable() or c == "\n" else "?" for c in text)


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
