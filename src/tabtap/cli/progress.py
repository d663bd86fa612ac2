"""How far a run or a comparison is, and how that is shown on a terminal.

On a terminal two lines are drawn over and over; elsewhere a few plain lines are
written.  An observer sees values and cannot change the run.
"""

from __future__ import annotations

import _thread
import json
import math
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from tabtap.cli.terminal import Screen
from tabtap.wording import counted, time_words

if TYPE_CHECKING:
    from rich.live import Live

    from tabtap.api.progress import RunPlan
    from tabtap.compare.runner import Finished
    from tabtap.diffusion.train import TrainingProgress
    from tabtap.domain import Bound, StepRecord, WindowRecord


# ---- How far a comparison is: cells done and failed, time left, where the time goes.


_BAR_WIDTH = 24
_SHOWN_METHODS = 4
_QUIET_SECONDS = 30.0
"""Without a terminal, so long is waited between two lines."""


@dataclass(slots=True)
class CellsProgress:
    """Where a comparison stands, as far as it has told."""

    stage: ClassVar[str] = ""
    """Cells of all sorts are done side by side."""

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
        return _live(self, per_second=4)

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

    @property
    def share(self) -> float:
        """How much of it is done, from 0 to 1."""
        return self.n_done / max(self.n_cells, 1)

    def line(self) -> str:
        """Return where it stands as a line."""
        left = self.seconds_left()
        tail = "" if left is None else f", about {time_words(left)} left"
        failed = f", {self.n_failed} failed" if self.n_failed else ""
        return f"{self.n_done} of {self.n_cells} cells{failed}{tail}"

    def second_line(self) -> str:
        """Return where the time goes: the dearest methods first."""
        sums = {name: sum(part) for name, part in self.seconds.items()}
        total = sum(sums.values())
        if not total:
            return "Ctrl-C stops it; the same command goes on."
        dearest = sorted(sums, key=lambda name: -sums[name])[:_SHOWN_METHODS]
        shares = [f"{name} {sums[name] / total:.0%}" for name in dearest]
        return "time went to " + ", ".join(shares)


# ---- How far a run is: what it has told so far, and how that is shown on a terminal.


_STAGE_WIDTH = 20


def _nothing() -> None:
    """Draw nothing: there is no terminal."""


@dataclass(slots=True)
class Progress:
    """Where a run stands, as far as it has told."""

    screen: Screen
    stage: str = "learning the table"
    share: float = 0.0
    plan: RunPlan | None = None
    n_steps: int = 0
    n_committed: int = 0
    n_refused: int = 0
    n_rows: int = 0
    gain: Bound | None = None
    left: tuple[float, float] | None = None
    """Seconds that may be left, and when that was said."""

    clock: Callable[[], float] = time.monotonic
    redraw: Callable[[], None] = _nothing
    """Draws at once what is otherwise drawn a few times a second."""

    feed: Feed | None = field(default_factory=lambda: Feed.asked_for())
    """Where a program that started the run reads how far it is."""

    def watched(self) -> AbstractContextManager[object]:
        """Draw it until the run is over, if there is a terminal to draw on."""
        if not self.screen.is_lively:
            self.screen.say("Learning the table ...")
            return nullcontext() if self.feed is None else self.feed.watched(self)
        live = _live(self, per_second=8)
        self.redraw = live.refresh
        return live

    def on_training(self, progress: TrainingProgress) -> None:
        """Take note of how far the training is."""
        self.share = progress.step / progress.n_steps
        self.left = progress.seconds_left, self.clock()
        self._tell()
        self.redraw()

    def on_plan(self, plan: RunPlan) -> None:
        """Take note of how far the run may go; windows begin."""
        self.plan, self.stage, self.left = plan, "generating rows", None
        self.n_rows = plan.n_committed
        self.n_steps = plan.n_windows * plan.window_length
        self.share = self._share()
        if plan.teacher:
            self._say(f"Teacher: {plan.teacher}")
        if plan.n_windows:
            done = counted(plan.n_windows, "window")
            self._say(f"Going on after {done}, {plan.n_committed} rows so far.")
        self._tell(at_once=True)
        self.redraw()

    def on_step(self, record: StepRecord) -> None:
        """One action was taken and judged."""
        self.n_steps = record.step + 1
        self.share = self._share()
        length = 0 if self.plan is None else self.plan.window_length
        at_end = bool(length) and self.n_steps % length == 0
        self.stage = "judging them" if at_end else "generating rows"
        self._tell(at_once=at_end)
        if at_end:
            self.redraw()

    def on_window(self, record: WindowRecord) -> None:
        """One pool was checked."""
        certificate = record.certificate
        self.stage = "generating rows"
        self.n_rows = record.n_committed
        self.left = record.seconds_left, self.clock()
        bound = certificate.over_real or certificate.over_incumbent
        if certificate.committed:
            self.n_committed += 1
            self.gain = bound
        else:
            self.n_refused += 1
        self.share = self._share()
        told = "let in" if certificate.committed else "refused"
        self._say(
            f"Window {certificate.window + 1}: {certificate.n_rows} rows {told}, "
            f"{gain_words(bound)}; {record.n_committed} of {record.budget} rows so far."
        )
        self._tell(at_once=True)

    def _say(self, text: str) -> None:
        self.screen.say(text)
        if self.feed is not None:
            self.feed.said.append(text)

    def _tell(self, *, at_once: bool = False) -> None:
        if self.feed is not None:
            self.feed.tell(self, at_once=at_once)

    def seconds_left(self) -> float | None:
        """Return what may be left by now; None where it is not known."""
        if self.left is None:
            return None
        seconds, said = self.left
        return max(seconds - (self.clock() - said), 0.0)

    def line(self) -> str:
        """Return where it stands as a line."""
        left = self.seconds_left()
        tail = "" if left is None else f", at most {time_words(left)} left"
        if self.plan is None:
            return f"{self.share:.0%}{tail}"
        return f"step {self.n_steps} of {self.plan.n_steps}{tail}"

    def second_line(self) -> str:
        """Return what has come of it so far."""
        if self.plan is None:
            return "Ctrl-C stops it in order; pressed twice, at once."
        return (
            f"{self.n_committed} let in, {self.n_refused} refused; {self.n_rows} of "
            f"{self.plan.budget} rows; {gain_words(self.gain)}"
        )

    def _share(self) -> float:
        if self.plan is None:
            return 0.0
        by_steps = self.n_steps / self.plan.n_steps
        return max(by_steps, self.n_rows / max(self.plan.budget, 1))


def gain_words(bound: Bound | None) -> str:
    """Return a gain and what it is at least, where that is one."""
    if bound is None:
        return "no gain shown yet"
    if not math.isfinite(bound.gain):
        return "gain not measurable"
    if not math.isfinite(bound.margin):
        return f"gain {bound.gain:+.3f}, how sure cannot be told"
    if bound.lower <= 0:
        return f"gain {bound.gain:+.3f}, not shown"
    return f"gain {bound.gain:+.3f}, at least {bound.lower:+.3f}"


# ---- For a program that has started the run: a file that says how far it is.


_FEED = "TABTAP_PROGRESS"
"""The variable of the environment that names the file."""

_FEED_SECONDS = 0.25


@dataclass(slots=True)
class Feed:
    """A file with all that is known of a run, as one JSON object, always whole.

    Whoever asks for it holds the other end of standard input.  Once that is closed, by
    will or because its holder is no more, the run ends in order, as with Ctrl-C.
    """

    path: Path
    said: list[str] = field(default_factory=list)
    """What was said on the screen so far."""

    told: float = -math.inf
    is_over: bool = False

    @classmethod
    def asked_for(cls) -> Feed | None:
        """Return the feed that the environment names; None if it names none."""
        place = os.environ.get(_FEED)
        return cls(Path(place)) if place else None

    @contextmanager
    def watched(self, progress: Progress) -> Iterator[None]:
        """Tell from the first moment on, and end when nobody listens any more."""
        self.tell(progress, at_once=True)
        threading.Thread(target=self._listen, daemon=True).start()
        try:
            yield
        finally:
            self.is_over = True
            progress.stage, progress.share, progress.left = "writing", 1.0, None
            self.tell(progress, at_once=True)

    def tell(self, progress: Progress, *, at_once: bool) -> None:
        """Write where the run stands, a few times a second at most."""
        now = time.monotonic()
        if not at_once and now - self.told < _FEED_SECONDS:
            return
        self.told = now
        text = json.dumps(
            {
                "stage": progress.stage,
                "share": min(progress.share, 1.0),
                "line": progress.line(),
                "seconds_left": progress.seconds_left(),
                "n_rows": progress.n_rows,
                "budget": None if progress.plan is None else progress.plan.budget,
                "said": self.said,
            }
        )
        beside = self.path.with_name(f"{self.path.name}.new")
        # A run does not end because nobody can read how far it is.
        with suppress(OSError):
            beside.write_text(text, encoding="utf-8")
            beside.replace(self.path)

    def _listen(self) -> None:
        # Not by sys.stdin, whose lock would be held when the process ends.
        with suppress(OSError):
            while os.read(0, 1):
                pass
        if self.is_over:
            return
        if hasattr(signal, "pthread_kill"):  # which also ends what waits
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        else:
            _thread.interrupt_main()


# ---- Both on a terminal: a bar with what stands beside it, and a line below.


def _live(progress: CellsProgress | Progress, per_second: int) -> Live:
    from rich.live import Live

    return Live(
        _Picture(progress),
        console=progress.screen.console,
        refresh_per_second=per_second,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )


@dataclass(frozen=True, slots=True)
class _Picture:
    """Two lines of a terminal, made anew each time they are drawn."""

    progress: CellsProgress | Progress

    def __rich_console__(self, console: Any, options: Any) -> Iterator[Any]:  # noqa: ANN401
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        del console
        now = self.progress
        line = Table.grid(padding=(0, 2))
        bar = ProgressBar(total=1.0, completed=min(now.share, 1.0), width=_BAR_WIDTH)
        stage = Text(f"{now.stage:<{_STAGE_WIDTH}}", style="bold")
        line.add_row(*([stage] if now.stage else []), bar, Text(now.line()))
        yield line
        text = Text(now.second_line(), style="dim", no_wrap=True, overflow="ellipsis")
        text.truncate(options.max_width, overflow="ellipsis")
        yield text
