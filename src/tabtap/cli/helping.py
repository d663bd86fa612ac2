"""Help that reads well: paragraphs that flow, flags without a type, examples in lines.

Releases of typer differ in how they break the lines below the options, so these are
written here.
"""

from __future__ import annotations

import inspect
import shutil
import textwrap
from collections.abc import Callable
from typing import Any

from typer.core import TyperCommand, TyperGroup

from tabtap.cli.screen import fold


class HelpfulCommand(TyperCommand):
    """A command whose help ends with examples, a line each."""

    def get_params(self, ctx: Any) -> Any:  # noqa: ANN401  typer's own types vary
        """Return the parameters, and see to how flags are shown."""
        return _shown(super().get_params(ctx))

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401
        """Write the help, and below it the examples."""
        below, self.epilog = self.epilog, None
        super().format_help(ctx, formatter)
        self.epilog = below
        _write_below(below)


class HelpfulGroup(TyperGroup):
    """A group of commands whose help ends with examples, a line each."""

    def get_params(self, ctx: Any) -> Any:  # noqa: ANN401  typer's own types vary
        """Return the parameters, and see to how flags are shown."""
        return _shown(super().get_params(ctx))

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401
        """Write the help, and below it the examples."""
        below, self.epilog = self.epilog, None
        super().format_help(ctx, formatter)
        self.epilog = below
        _write_below(below)


def flowing(command: Callable[..., Any]) -> str:
    """Return a docstring as paragraphs of one line each, for any width."""
    paragraphs = inspect.cleandoc(command.__doc__ or "").split("\n\n")
    return "\n\n".join(" ".join(part.split()) for part in paragraphs)


def _write_below(text: str | None) -> None:
    width = shutil.get_terminal_size().columns - 2
    print(textwrap.indent(fold(text or "", width), " ") + "\n")


def _shown(params: Any) -> Any:  # noqa: ANN401
    for param in params:
        if getattr(param, "is_flag", False) and param.metavar is None:
            param.metavar = " "
    return params
