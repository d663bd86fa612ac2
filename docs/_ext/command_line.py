"""The directive ``command-line-help``: what every command says of itself.

The text is asked of the program when the pages are built, so it is never out of date.
"""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Iterator, Mapping
from typing import Any

import typer
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from tabtap.cli.app import app, main

_PLAIN = {"COLUMNS": "80", "TERMINAL_WIDTH": "80", "NO_COLOR": "1"}


class CommandLineHelp(SphinxDirective):
    """One section for each command, with its help as the terminal shows it."""

    def run(self) -> list[nodes.Node]:
        """Return the sections."""
        return [self._section(path) for path in command_paths()]

    def _section(self, path: tuple[str, ...]) -> nodes.section:
        name = " ".join(("tabtap", *path))
        section = nodes.section(ids=[nodes.make_id(name)], names=[name])
        section += nodes.title(text=name)
        section += nodes.literal_block(text=help_of(path), language="none")
        return section


def command_paths() -> list[tuple[str, ...]]:
    """Return the words that lead to each command, the program itself first."""
    return list(_walk((), typer.main.get_command(app)))


def _walk(path: tuple[str, ...], command: Any) -> Iterator[tuple[str, ...]]:  # noqa: ANN401
    yield path
    inner: Mapping[str, Any] = getattr(command, "commands", {})
    for name, part in inner.items():
        yield from _walk((*path, name), part)


def help_of(path: tuple[str, ...]) -> str:
    """Return what a command says of itself, in 80 columns and without colours."""
    before = {name: os.environ.get(name) for name in _PLAIN}
    os.environ.update(_PLAIN)
    shown = io.StringIO()
    try:
        with contextlib.redirect_stdout(shown):
            main([*path, "--help"])
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
    lines = [line.rstrip() for line in shown.getvalue().splitlines()]
    return "\n".join(lines).strip("\n")


def setup(app: Sphinx) -> dict[str, bool]:
    """Tell Sphinx."""
    app.add_directive("command-line-help", CommandLineHelp)
    return {"parallel_read_safe": True}
