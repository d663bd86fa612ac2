"""Where cells are worked on: processes of this machine, or a cluster that is there.

joblib hands out the work in all cases.  Every worker computes with one thread: the
networks are too small to share among cores.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any

import joblib
from joblib.externals.loky.process_executor import BrokenProcessPool

from tabtap.errors import UserInputError, bad_setting
from tabtap.files.opening import available_bytes

CELL_BYTES = 1_500_000_000
"""Memory that a worker may come to need, torch and seven learners included."""

SLICE = 64
"""Cells that ray is given at a time; its idle workers wait for the last of them."""

BACKENDS = ("local", "dask", "ray")


@dataclass(frozen=True, slots=True)
class Cluster:
    """Where work is done.

    Parameters
    ----------
    backend : {"local", "dask", "ray"}
        Processes of this machine, or an existing cluster.
    address : str, optional
        Of the cluster's scheduler.
    jobs : int, optional
        Workers.  Default: one per core as far as memory goes, or all of a cluster's.
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
            with joblib.parallel_config("loky", n_jobs=jobs, inner_max_num_threads=1):
                yield
        elif self.backend == "dask":
            distributed = _needed("distributed", "dask")
            with (
                distributed.Client(self.address) as client,
                joblib.parallel_config("dask", n_jobs=self.n_jobs, client=client),
            ):
                yield
        else:
            ray = _needed("ray", "ray")
            ray.init(address=self.address, ignore_reinit_error=True)
            _needed("ray.util.joblib", "ray").register_ray()
            with joblib.parallel_config("ray", n_jobs=self.n_jobs):
                yield

    def deaths(self) -> tuple[type[BaseException], ...]:
        """Return the errors by which a dead worker makes itself known."""
        if self.backend == "dask":
            distributed = _needed("distributed", "dask")
            return (BrokenProcessPool, distributed.KilledWorker)
        if self.backend == "ray":
            return (BrokenProcessPool, _needed("ray.exceptions", "ray").RayError)
        return (BrokenProcessPool,)


def _needed(module: str, extra: str) -> Any:  # noqa: ANN401
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise UserInputError(
            f"backend={extra!r} needs {extra}, which is not installed. "
            f'Run: pip install "tabtap[{extra}]"'
        ) from error
