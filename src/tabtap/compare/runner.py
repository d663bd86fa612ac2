"""Runs the cells of a comparison, here or on a cluster, each to the end once.

Workers write their records themselves, so what is done stays done whoever dies.  A
worker that dies takes its pool along; then the cells that were in hand are run one at a
time, so that the guilty one is known.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import platform
import re
import secrets
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

import joblib
from joblib.externals.loky.process_executor import BrokenProcessPool

from tabtap.compare.store import Cell, Record, Store, without
from tabtap.errors import TapError, UserInputError, bad_setting
from tabtap.files.opening import available_bytes
from tabtap.rivals import Method, MindsGroups
from tabtap.rng import stream
from tabtap.stopwatch import Stopwatch
from tabtap.table import Table
from tabtap.table.schema import IntArray

MOST_ATTEMPTS = 3
"""Times a cell is begun; then it is recorded as failed."""

Work = Callable[[Cell], Record]


@dataclass(frozen=True, slots=True)
class Finished:
    """What a worker says of a cell."""

    cell: Cell
    status: str
    """``done``, ``failed`` (the method, or for good), ``again`` or ``elsewhere``."""

    seconds: float = 0.0
    costs: dict[str, float] = field(default_factory=dict)
    """CPU seconds by stage."""


class RunObserver(Protocol):
    """Watches a comparison."""

    def on_start(self, n_cells: int, n_done: int, n_jobs: int) -> None:
        """All cells there are, those with records already, and workers."""

    def on_cell(self, finished: Finished) -> None:
        """One cell came back."""


class _Nobody:
    def on_start(self, n_cells: int, n_done: int, n_jobs: int) -> None:
        pass

    def on_cell(self, finished: Finished) -> None:
        pass


@dataclass(frozen=True, slots=True)
class RunSummary:
    """How a run of a comparison ended."""

    n_cells: int
    n_done: int
    """Cells that have a record now."""

    n_elsewhere: int
    """Cells that another runner is at work on."""


def run_cells(
    cells: Sequence[Cell],
    work: Work,
    store: Store,
    *,
    cluster: Cluster | None = None,
    observer: RunObserver | None = None,
) -> RunSummary:
    """Do every cell that has no record yet.

    ``work`` returns the record of a cell and must be importable by workers, by default
    processes of this machine.  The observer is told of every cell as it comes back.
    Raises ``TapError`` if workers die again and again before they begin a cell.
    """
    cluster = cluster or Cluster()
    watcher = observer or _Nobody()
    # Containers may share a name and a number.
    runner = f"{platform.node()}-{os.getpid()}-{secrets.token_hex(4)}"
    watcher.on_start(len(cells), len(cells) - len(_open(cells, store)), cluster.n_jobs)
    elsewhere: set[str] = set()
    stages: list[tuple[int, dict[str, int]]] = []
    with _alive(store, runner):
        while left := without(_open(cells, store), elsewhere):
            suspects = store.claimed(runner)
            stages.append((len(left), suspects))
            batches = [[cell] for cell in left if cell.key in suspects] or [left]
            for batch in batches:
                others, death = _round(batch, work, store, runner, cluster, watcher)
                elsewhere |= others
            if death is not None:
                _check_begun(stages, death)
    n_done = len(cells) - len(_open(cells, store))
    return RunSummary(len(cells), n_done, len(elsewhere))


def attend(cell: Cell, work: Work, store: Store, runner: str) -> Finished:
    """Do one cell, in a worker: claim it, work, write the record."""
    started = time.perf_counter()
    tried = store.claim(cell.key, runner)
    if tried is None:
        return Finished(cell, "elsewhere")
    if tried > MOST_ATTEMPTS:
        reason = f"the worker died {tried - 1} times, perhaps for want of memory"
        store.write(cell.key, _failure_record(cell, reason, ""))
        return Finished(cell, "failed")
    try:
        record = work(cell)
    except Exception as error:  # noqa: BLE001  a cell must not end a comparison
        if tried < MOST_ATTEMPTS:
            return Finished(cell, "again", time.perf_counter() - started)
        reason = f"{type(error).__name__}: {error}"
        record = _failure_record(cell, reason, _portable_traceback(error))
    try:
        store.write(cell.key, record)
    except OSError:  # no room for the record, which is no fault of the cell
        store.give_up(cell.key)
        raise
    spent = time.perf_counter() - started
    costs = dict(record.get("costs", {}).get("cpu_seconds", {}))
    return Finished(cell, "failed" if record["failure"] else "done", spent, costs)


def _round(
    cells: Sequence[Cell],
    work: Work,
    store: Store,
    runner: str,
    cluster: Cluster,
    watcher: RunObserver,
) -> tuple[set[str], BaseException | None]:
    """Hand out cells once; return the keys that others work on, and how it ended."""
    elsewhere: set[str] = set()
    tasks = (joblib.delayed(attend)(cell, work, store, runner) for cell in cells)
    try:
        with cluster.workers() as parallel:
            for finished in parallel(tasks):
                watcher.on_cell(finished)
                if finished.status == "elsewhere" and not store.has(finished.cell.key):
                    elsewhere.add(finished.cell.key)
    except cluster.deaths() as death:
        # The pool is gone with its worker.  What was in hand has a claim of ours.
        return elsewhere, death
    return elsewhere, None


def _check_begun(
    stages: Sequence[tuple[int, dict[str, int]]], death: BaseException
) -> None:
    """Raise if the last rounds began no cell: the next would not either."""
    last = stages[-MOST_ATTEMPTS:]
    if len(last) == MOST_ATTEMPTS and all(stage == last[0] for stage in last):
        raise TapError(
            f"Workers ended {MOST_ATTEMPTS} times before they began a cell: {death} "
            "Try one cell in this process: tabtap.study.cell.run_cell."
        ) from death


def _open(cells: Sequence[Cell], store: Store) -> list[Cell]:
    return without(cells, store.keys())


def _failure_record(cell: Cell, reason: str, trace: str) -> Record:
    return {
        "cell": cell.written(),
        "scores": {},
        "failure": {"reason": reason, "traceback": trace},
    }


def _portable_traceback(error: BaseException) -> str:
    """Return a traceback that names files as modules, not by one machine's folders."""
    text = "".join(traceback.format_exception(error))
    return re.sub(r'(?<=File ")[^"]+', lambda found: _from_module(found[0]), text)


def _from_module(name: str) -> str:
    path = Path(name)
    roots = [Path(root) for root in sys.path if root and path.is_relative_to(root)]
    if not roots:
        return path.name
    return path.relative_to(max(roots, key=lambda root: len(root.parts))).as_posix()


@contextmanager
def _alive(store: Store, runner: str) -> Iterator[None]:
    """Show life until the block ends."""
    over = threading.Event()

    def beat() -> None:
        while not over.wait(store.silence_seconds / 4):
            # Where there is no room now there may be some at the next beat.
            with contextlib.suppress(OSError):
                store.show_life(runner)

    store.show_life(runner)
    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield
    except BaseException:  # Ctrl-C, no room: no fault of the cells in hand
        for key in store.claimed(runner):
            store.give_up(key)
        raise
    finally:
        over.set()
        thread.join()
        store.leave(runner)


def attempt(
    method: Method,
    real: Table,
    cell: Cell,
    watch: Stopwatch,
    groups: IntArray | None = None,
) -> tuple[Table | None, dict[str, str] | None]:
    """Let a method make rows; if it fails: no rows, and why.

    Groups, of the real rows, are told to methods that mind them.
    """
    make = method.make
    if groups is not None and isinstance(method, MindsGroups):
        make = partial(method.make_for_groups, groups=groups)
    rng = stream(cell.terms.seed, "method", cell.dataset, cell.n_real, cell.split)
    try:
        with watch.running("method"):
            rows = make(real, cell.terms.budget, rng, watch)
    # Whatever goes wrong inside a method is a fact about the method.
    except Exception as error:  # noqa: BLE001
        reason = str(error) or type(error).__name__
        if isinstance(error, UserInputError):
            return None, {"reason": reason, "traceback": ""}
        return None, {"reason": reason, "traceback": _portable_traceback(error)}
    return (rows if len(rows) else None), None


# ---- Where cells are worked on: processes of this machine, or a cluster that is there.
#
# joblib hands out the work in all cases.  Every worker computes with one thread: the
# networks are too small to share among cores.


CELL_BYTES = 1_500_000_000
"""Memory that a worker may come to need, torch and seven learners included."""

SLICE = 64
"""Cells that ray is given at a time; its idle workers wait for the last of them."""

BACKENDS = ("local", "dask", "ray")


@dataclass(frozen=True, slots=True)
class Cluster:
    """Where work is done: processes of this machine, or a cluster that exists already.

    ``address`` is that of the cluster's scheduler.  ``jobs`` counts workers; by default
    one per core as far as memory goes, or all of a cluster's.
    """

    backend: str = "local"
    address: str | None = None
    jobs: int | None = None

    def __post_init__(self) -> None:
        if self.backend not in BACKENDS:
            must = f"be one of {', '.join(BACKENDS)}"
            raise bad_setting("backend", self.backend, must, "Try 'local'.")

    @property
    def n_jobs(self) -> int:
        """Workers that are asked for; -1 are all of a cluster."""
        if self.jobs is not None:
            return self.jobs
        if self.backend != "local":
            return -1
        room = available_bytes()
        fit = os.cpu_count() or 1 if room is None else max(1, room // CELL_BYTES)
        return int(min(os.cpu_count() or 1, fit))

    @contextmanager
    def workers(self) -> Iterator[Callable[[Iterable[Any]], Iterator[Any]]]:
        """Give a function that does delayed calls and yields what they return."""
        with self._configured():
            yield self._in_slices if self.backend == "ray" else self._as_they_come

    def _as_they_come(self, tasks: Iterable[Any]) -> Iterator[Any]:
        one = self.backend == "local" and self.n_jobs == 1
        ahead = 1 if one else "2 * n_jobs"
        parallel = joblib.Parallel(return_as="generator_unordered", pre_dispatch=ahead)
        return iter(parallel(tasks))

    def _in_slices(self, tasks: Iterable[Any]) -> Iterator[Any]:
        """Do many at a time: ray gives nothing back before all of them are done."""
        waiting = iter(tasks)
        while part := list(islice(waiting, SLICE)):
            yield from joblib.Parallel()(part)

    @contextmanager
    def _configured(self) -> Iterator[None]:
        if self.backend == "local":
            # joblib does a single job in this process, which a cell might take along.
            jobs = max(2, self.n_jobs)
            local = joblib.parallel_config("loky", n_jobs=jobs, inner_max_num_threads=1)
            with local, warnings.catch_warnings():
                # Of a replaced worker loky warns in the thread that manages workers:
                # where warnings are errors the thread would end, and the run never.
                warnings.filterwarnings("ignore", "A worker stopped", UserWarning)
                yield
        elif self.backend == "dask":
            distributed = _import_extra("distributed", "dask")
            with (
                distributed.Client(self.address) as client,
                joblib.parallel_config("dask", n_jobs=self.n_jobs, client=client),
            ):
                yield
        else:
            ray = _import_extra("ray", "ray")
            ray.init(address=self.address, ignore_reinit_error=True)
            _import_extra("ray.util.joblib", "ray").register_ray()
            with joblib.parallel_config("ray", n_jobs=self.n_jobs):
                yield

    def deaths(self) -> tuple[type[BaseException], ...]:
        """Return the errors by which a dead worker makes itself known."""
        if self.backend == "dask":
            distributed = _import_extra("distributed", "dask")
            return (BrokenProcessPool, distributed.KilledWorker)
        if self.backend == "ray":
            return (BrokenProcessPool, _import_extra("ray.exceptions", "ray").RayError)
        return (BrokenProcessPool,)


def _import_extra(module: str, extra: str) -> Any:  # noqa: ANN401
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise UserInputError(
            f"backend={extra!r} needs {extra}, which is not installed. "
            f'Run: pip install "tabtap[{extra}]"'
        ) from error


# ---- How much memory a piece of work has held at most.


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
        match = re.search(r"VmHWM:\s+(\d+) kB", _STATUS.read_text(encoding="ascii"))
    except OSError:
        return _peak_since_start()
    return int(match[1]) * 1024 if match else _peak_since_start()


def _peak_since_start() -> int | None:
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # macOS counts bytes, others kilobytes.
    return int(peak if os.uname().sysname == "Darwin" else peak * 1024)
