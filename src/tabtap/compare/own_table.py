"""Methods compared on the user's own table: who helps, by how much, and surely so.

Reads from: api.stopwatch, rng, table, compare.cells, methods, predictors, store, work.
Read by: cli, compare.advice.

Every row that tests is asked of predictors trained with each method's rows and without:
so each has a fair pair, and the mean of the pairs an interval.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy import stats

from tabtap.api.stopwatch import Stopwatch
from tabtap.compare.cells import Cell, Terms
from tabtap.compare.methods.catalogue import method_named
from tabtap.compare.predictors import row_losses
from tabtap.compare.store import Record
from tabtap.compare.work import attempt
from tabtap.rng import stream
from tabtap.table.schema import FloatArray, IntArray, Task
from tabtap.table.split import folds
from tabtap.table.table import Table, concat

CONFIDENCE = 0.9
"""Of the two-sided intervals; each end holds with 95 percent."""


@dataclass(frozen=True, slots=True, eq=False)
class Contest:
    """Rows to train on and rows to test on, for each repeat."""

    table: Table
    repeats: int
    test: Table | None
    """Rows of a file of their own; None cuts them from the table."""

    fold: IntArray | None
    """Which repeat tests a row, where they are cut from the table."""

    predictors: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        table: Table,
        repeats: int,
        *,
        test: Table | None = None,
        groups: IntArray | None = None,
        seed: int = 0,
        predictors: Sequence[str] = (),
    ) -> Contest:
        """Prepare the repeats: folds of the table, or one test file for all."""
        chosen = tuple(predictors)
        if test is not None:
            return cls(table, repeats, test, None, chosen)
        rng = stream(seed, "contest")
        fold = folds(table.condition, repeats, rng, groups=groups)
        return cls(table, repeats, None, fold, chosen)

    def cells(self, methods: Sequence[str], terms: Terms) -> list[Cell]:
        """Return what is to be done: every method in every repeat."""
        return [
            Cell(
                dataset="own table",
                n_real=len(self.table),
                split=repeat,
                method=method,
                terms=terms,
            )
            for repeat in range(self.repeats)
            for method in methods
        ]

    def parts(self, repeat: int) -> tuple[Table, Table]:
        """Return the training and the test rows of a repeat."""
        if self.fold is None:
            if self.test is None:
                raise AssertionError("neither folds nor a test table")
            return _numbered(self.table), self.test
        train = self.table.take(np.flatnonzero(self.fold != repeat))
        return _numbered(train), self.table.take(self.asked(repeat))

    def asked(self, repeat: int) -> IntArray:
        """Return the numbers of the rows that a repeat tests."""
        if self.fold is None:
            return np.arange(0 if self.test is None else len(self.test))
        return np.flatnonzero(self.fold == repeat)

    def work(self) -> Callable[[Cell], Record]:
        """Return the work of a cell, which takes the rows along to its worker."""

        def work(cell: Cell) -> Record:
            return self.record(cell)

        return work

    def record(self, cell: Cell) -> Record:
        """Let a method make rows for one repeat, and tell what each test row cost."""
        watch = Stopwatch()
        train, asked = self.parts(cell.split)
        method = method_named(cell.method, **cell.settings)
        rows, failure = attempt(method, train, cell, watch)
        everything = train if rows is None else concat([train, rows])
        with watch.running("score"):
            losses = row_losses(
                everything, asked, self.predictors or None, reference=train
            )
        return {
            "cell": cell.written(),
            "n_rows": 0 if rows is None else len(rows),
            "asked": self.asked(cell.split).tolist(),
            "losses": {name: part.tolist() for name, part in losses.items()},
            "scores": {},
            "failure": failure,
            "costs": {"cpu_seconds": watch.cpu_seconds, "seconds": watch.seconds},
        }


@dataclass(frozen=True, slots=True)
class Standing:
    """How a method did."""

    method: str
    loss: float
    """Mean share of wrong answers, or mean squared error."""

    gain: float
    """How much smaller the loss is than that of real rows alone."""

    low: float
    high: float
    """Interval of the gain."""

    n_rows: float
    """Rows added, mean over repeats."""

    cpu_seconds: float
    """Of making them, mean over repeats."""

    failures: tuple[str, ...] = ()
    """Why it failed, once for each repeat in which it did."""

    by_predictor: dict[str, float] = field(default_factory=dict)
    """Gain for each predictor."""


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """All methods, the smallest loss first."""

    task: Task
    standings: tuple[Standing, ...]
    n_test: int
    """Rows that were asked."""

    pairs: dict[str, FloatArray]
    """Loss of every asked row, mean over predictors, by method."""

    def of(self, method: str) -> Standing:
        """Return how one method did."""
        return next(s for s in self.standings if s.method == method)


def summarise(records: Sequence[Record], task: Task) -> Comparison:
    """Put the records of all cells of a contest together.

    Parameters
    ----------
    records : sequence of dict
        From ``Contest.record``; real rows alone (``Real``) must be among them.
    task : {"classification", "regression"}
        Of the table.
    """
    real = {r["cell"]["split"]: r for r in records if r["cell"]["method"] == "Real"}
    by_method: dict[str, list[Record]] = {}
    for record in records:
        whole = record if "losses" in record else _without_rows(record, real)
        by_method.setdefault(record["cell"]["method"], []).append(whole)
    losses = {name: _losses(part) for name, part in by_method.items()}
    base = losses["Real"]
    standings = [
        _standing(name, by_method[name], losses[name], base) for name in by_method
    ]
    return Comparison(
        task,
        tuple(sorted(standings, key=lambda standing: standing.loss)),
        len(next(iter(base.values()))),
        {name: _mean(part) for name, part in losses.items()},
    )


def interval(difference: FloatArray) -> tuple[float, float, float]:
    """Return the mean of paired differences, and both ends of its interval."""
    mean = float(difference.mean())
    if len(difference) < 2:
        return mean, -np.inf, np.inf
    error = float(stats.sem(difference))
    reach = error * float(stats.t.ppf((1 + CONFIDENCE) / 2, len(difference) - 1))
    return mean, mean - reach, mean + reach


def _standing(
    name: str,
    records: Sequence[Record],
    losses: dict[str, FloatArray],
    base: dict[str, FloatArray],
) -> Standing:
    own, real = _mean(losses), _mean(base)
    gain, low, high = interval(real - own)
    seconds = [r["costs"]["cpu_seconds"].get("method", 0.0) for r in records]
    failed = [r["failure"]["reason"] for r in records if r["failure"]]
    return Standing(
        name,
        float(own.mean()),
        gain,
        low,
        high,
        float(np.mean([r["n_rows"] for r in records])),
        float(np.mean(seconds)),
        tuple(map(str, failed)),
        {p: float((base[p] - part).mean()) for p, part in losses.items() if p in base},
    )


def _without_rows(record: Record, real: dict[int, Record]) -> Record:
    """Return a record of a worker's death as that of a method that added nothing."""
    alike = real[record["cell"]["split"]]
    return {**alike, "cell": record["cell"], "failure": record["failure"], "n_rows": 0}


def _losses(records: Sequence[Record]) -> dict[str, FloatArray]:
    """Return, by predictor, the loss of every row that was asked; mean over repeats."""
    asked = np.concatenate([np.asarray(r["asked"], dtype=np.int64) for r in records])
    rows, place = np.unique(asked, return_inverse=True)
    times = np.bincount(place, minlength=len(rows))
    return {
        name: np.bincount(
            place, np.concatenate([r["losses"][name] for r in records]), len(rows)
        )
        / times
        for name in records[0]["losses"]
    }


def _mean(losses: dict[str, FloatArray]) -> FloatArray:
    return np.asarray(np.mean(list(losses.values()), axis=0))


def _numbered(rows: Table) -> Table:
    """Return rows numbered from 0, as a user's are."""
    return replace(rows, origin=np.arange(len(rows), dtype=np.int64))
