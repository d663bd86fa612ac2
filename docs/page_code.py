"""The code of the pages: found, run in order, and its output written back.

``python docs/page_code.py docs/tutorial.md docs/howto/*.md`` runs pages and replaces
each output shown, a block ``text`` right after a block of code, by what the code
printed: outputs are produced, never typed.  The tutorial comes first, because others go
on with its files.  ``tests/test_docs.py`` runs every page.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

_FENCE = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_NO_RUN = "no-run"
_EXIT_CODES = (0, 3)
"""What a command of a page may end with: done, or no gain."""

Shell = Callable[[str], str]
"""Runs one command of a page and returns what it printed."""


@dataclass(frozen=True)
class Block:
    """One fenced block of a page."""

    language: str
    is_run: bool
    code: str

    line: int
    """Of the page, on which the code begins."""

    span: tuple[int, int]
    """Of the code in the page."""


def read_blocks(page: str) -> list[Block]:
    """Return the fenced blocks of a page, in order."""
    return [
        Block(
            found[1],
            found[1] in ("python", "console") and _NO_RUN not in found[2].split(),
            found[3],
            page[: found.start(3)].count("\n") + 1,
            found.span(3),
        )
        for found in _FENCE.finditer(page)
    ]


def run_page(path: Path, shell: Shell) -> Iterator[tuple[Block, str]]:
    """Run the blocks of a page one after the other; yield each with what it printed."""
    names: dict[str, Any] = {"__name__": "page"}
    for block in read_blocks(path.read_text(encoding="utf-8")):
        if not block.is_run:
            continue
        if block.language == "console":
            yield block, "".join(shell(command) for command in commands(block))
            continue
        printed = io.StringIO()
        code = compile("\n" * (block.line - 1) + block.code, str(path), "exec")
        with contextlib.redirect_stdout(printed):
            exec(code, names)
        yield block, printed.getvalue()


def commands(block: Block) -> list[str]:
    """Return the commands of a console block: what stands after a dollar sign."""
    joined = block.code.replace("\\\n", " ")
    return [line[2:] for line in joined.splitlines() if line.startswith("$ ")]


def run_command(command: str) -> str:
    """Run a command as a user would, and return all that it printed."""
    done = subprocess.run(
        command,
        shell=True,
        check=False,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, "COLUMNS": "80", "NO_COLOR": "1"},
    )
    if done.returncode not in _EXIT_CODES:
        raise RuntimeError(f"{command!r} ended with {done.returncode}: {done.stdout}")
    return done.stdout


def with_outputs(page: str, printed: dict[tuple[int, int], str]) -> str:
    """Return a page in which the outputs shown are those printed, by span of code."""
    blocks = read_blocks(page)
    for code, shown in reversed(list(pairwise(blocks))):
        between = page[code.span[1] : shown.span[0]]
        follows = between.removeprefix("```").strip() == "```text"
        if follows and code.span in printed:
            start, end = shown.span
            output = printed[code.span].strip("\n") + "\n"
            page = page[:start] + output + page[end:]
    return page


def main(paths: list[str]) -> None:
    """Run some pages in one new folder, in order, and write what they printed."""
    pages = [Path(name).resolve() for name in paths]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for path in pages:
            ran = run_page(path, run_command)
            printed = {block.span: output for block, output in ran}
            page = path.read_text(encoding="utf-8")
            path.write_text(with_outputs(page, printed), encoding="utf-8")
        os.chdir(pages[0].parent)


if __name__ == "__main__":
    main(sys.argv[1:])
