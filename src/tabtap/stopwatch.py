"""Where the time of a run goes, stage by stage."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar, cast

Stage = TypeVar("Stage")


class Stopwatch:
    """Adds up CPU and wall seconds by name."""

    def __init__(self) -> None:
        self.cpu_seconds: dict[str, float] = {}
        self.seconds: dict[str, float] = {}

    @contextmanager
    def running(self, name: str) -> Iterator[None]:
        """Count the time of a block under a name."""
        cpu, wall = time.process_time(), time.perf_counter()
        try:
            yield
        finally:
            spent = time.process_time() - cpu
            passed = time.perf_counter() - wall
            self.cpu_seconds[name] = self.cpu_seconds.get(name, 0.0) + spent
            self.seconds[name] = self.seconds.get(name, 0.0) + passed

    def timed(self, name: str, stage: Stage) -> Stage:
        """Return the same stage, whose methods are counted under a name."""
        return cast("Stage", _Timed(self, name, stage))


class _Timed:
    def __init__(self, watch: Stopwatch, name: str, stage: object) -> None:
        self._watch, self._label, self._stage = watch, name, stage

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  whatever the stage has
        part = getattr(self._stage, name)
        return self._wrapped(part) if callable(part) else part

    def _wrapped(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*given: Any, **named: Any) -> Any:  # noqa: ANN401
            with self._watch.running(self._label):
                return method(*given, **named)

        return timed
