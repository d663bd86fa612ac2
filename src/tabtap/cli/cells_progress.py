"""How far a comparison is: cells done and failed, time left, where the time goes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tabtap.cli.progress import time_words
from tabtap.cli.screen import Screen

if TYPE_CHECKING:
    from tabtap.compare.run import Finished

_BAR_WIDTH = 24
_SHOWN_METHODS = 4
_QUIET_SECONDS = 30.0
"""Without a terminal, so long is waited between two lines."""


@dataclass(slots=True)
class CellsProgress:
    """Where a comparison stands, as far as it has told."""

    screen: Screen
    waiting: dict[str, int]
    """Cells to be done, by method; those with records are taken off by the runner."""

    n_cells: int = 0
    n_done: int = 0
    n_failed: int = 0
    n_jobs: int = 1
    seconds: dict[str, list[float]] = field(default_factory=dict)
    """Time of each finished cell, by method."""

    clock: Callable[[], float] = time.monotonic
    said: float = 0.0

    def watched(self) -> AbstractContextManager[object]:
        """Draw it until the comparison is over, if there is a terminal to draw on."""
        if not self.screen.is_lively:
            return nullcontext()
        from rich.live import Live

        return Live(
            _Picture(self),
            console=self.screen.console,
            refresh_per_second=4,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def on_start(self, n_cells: int, n_done: int, n_jobs: int) -> None:
        """Take note of how much there is to do."""
        self.n_cells, self.n_done, self.n_jobs = n_cells, n_done, n_jobs
        workers = "the workers of the cluster" if n_jobs < 0 else f"{n_jobs} workers"
        self.screen.say(
            f"{n_cells} cells, {n_done} of them done already, by {workers}."
        )
        self.said = self.clock()

    def on_cell(self, finished: Finished) -> None:
        """Take note of a cell that came back."""
        if finished.status in ("again", "elsewhere"):
            return
        self.n_done += 1
        self.n_failed += finished.status == "failed"
        method = finished.cell.method
        self.waiting[method] = self.waiting.get(method, 1) - 1
        self.seconds.setdefault(method, []).append(finished.seconds)
        quiet = not self.screen.is_lively
        if quiet and self.clock() - self.said > _QUIET_SECONDS:
            self.said = self.clock()
            self.screen.say(self.line())

    def seconds_left(self) -> float | None:
        """Return what may be left: cells to do, at their methods' mean time."""
        every = [spent for part in self.seconds.values() for spent in part]
        if not every:
            return None
        usual = sum(every) / len(every)
        work = 0.0
        for method, n_cells in self.waiting.items():
            known = self.seconds.get(method)
            each = sum(known) / len(known) if known else usual
            work += n_cells * each
        return work / max(self.n_jobs, 1)

    def line(self) -> str:
        """Return where it stands as a line."""
        left = self.seconds_left()
        tail = "" if left is None else f", about {time_words(left)} left"
        failed = f", {self.n_failed} failed" if self.n_failed else ""
        return f"{self.n_done} of {self.n_cells} cells{failed}{tail}"

    def spent(self) -> str:
        """Return where the time goes: the dearest methods first."""
        sums = {name: sum(part) for name, part in self.seconds.items()}
        total = sum(sums.values())
        if not total:
            return "Ctrl-C stops it; the same command goes on."
        dearest = sorted(sums, key=lambda name: -sums[name])[:_SHOWN_METHODS]
        shares = [f"{name} {sums[name] / total:.0%}" for name in dearest]
        return "time went to " + ", ".join(shares)


@dataclass(frozen=True, slots=True)
class _Picture:
    """Two lines of a terminal, made anew each time they are drawn."""

    progress: CellsProgress

    def __rich_console__(self, console: Any, options: Any) -> Iterator[Any]:  # noqa: ANN401
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        del console
        now = self.progress
        line = Table.grid(padding=(0, 2))
        share = now.n_done / max(now.n_cells, 1)
        bar = ProgressBar(total=1.0, completed=share, width=_BAR_WIDTH)
        line.add_row(bar, Text(now.line()))
        yield line
        text = Text(now.spent(), style="dim", no_wrap=True, overflow="ellipsis")
        text.truncate(options.max_width, overflow="ellipsis")
        yield text
