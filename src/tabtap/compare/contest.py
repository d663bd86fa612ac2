"""Methods compared on the user's own table: who helps, by how much, and surely so.

Every row that tests is asked of predictors trained with each method's rows and without:
so each has a fair pair, and the mean of the pairs an interval.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.special import stdtrit

from tabtap.api.choices import copies_of
from tabtap.compare.predictors import row_losses
from tabtap.compare.runner import Cluster, RunObserver, attempt, run_cells
from tabtap.compare.store import Cell, Record, Store, Terms
from tabtap.domain.judgement import one_sided
from tabtap.rivals import method_named
from tabtap.rng import stream
from tabtap.stopwatch import Stopwatch
from tabtap.table.schema import FloatArray, IntArray, Task
from tabtap.table.split import folds
from tabtap.table.table import Table, concat


@dataclass(frozen=True, slots=True, eq=False)
class MethodComparison:
    """Rows to train on and rows to test on, for each repeat."""

    table: Table
    repeats: int
    test: Table | None
    """Rows of a file of their own; None cuts them from the table."""

    fold: IntArray | None
    """Which repeat tests a row, where they are cut from the table."""

    groups: IntArray | None = None
    """Whom each row of the table belongs to."""

    test_groups: IntArray | None = None
    """Whom each row of the test file belongs to."""

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
    ) -> MethodComparison:
        """Prepare the repeats: folds of the table, or one test file for all.

        Groups are those of the table's rows and, after them, of the test rows.
        Without groups, exact copies of a row are kept together.
        """
        test_groups = None
        if groups is None:
            groups = copies_of(table, repeats)
        elif test is not None:
            groups, test_groups = np.split(groups, [len(table)])
        fold = None
        if test is None:
            rng = stream(seed, "contest")
            fold = folds(table.condition, repeats, rng, groups=groups)
        return cls(table, repeats, test, fold, groups, test_groups, tuple(predictors))

    @property
    def asked_groups(self) -> IntArray | None:
        """Whom each row that is asked belongs to, by its number."""
        return self.groups if self.test is None else self.test_groups

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
            return _number_rows(self.table), self.test
        train = self.table.take(self.taught(repeat))
        return _number_rows(train), self.table.take(self.asked(repeat))

    def taught(self, repeat: int) -> IntArray:
        """Return the numbers of the rows that a repeat trains on."""
        if self.fold is None:
            return np.arange(len(self.table))
        return np.flatnonzero(self.fold != repeat)

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
        groups = None if self.groups is None else self.groups[self.taught(cell.split)]
        rows, failure = attempt(method, train, cell, watch, groups)
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

    groups: IntArray | None = None
    """Whom every asked row belongs to."""

    def of(self, method: str) -> Standing:
        """Return how one method did."""
        return next(s for s in self.standings if s.method == method)

    @property
    def others(self) -> list[Standing]:
        """All methods but real rows alone."""
        return [s for s in self.standings if s.method != "Real"]

    @property
    def gain_unit(self) -> float:
        """What a gain is multiplied by: points, or percent of the squared error."""
        if self.task == "classification":
            return 100.0
        return 100.0 / max(self.of("Real").loss, 1e-300)


def summarise(
    records: Sequence[Record], task: Task, groups: IntArray | None = None
) -> Comparison:
    """Put the records of all cells of a contest together.

    The records come from ``MethodComparison.record``; real rows alone (``Real``) must
    be among them.  ``groups`` says whom each row that may be asked belongs to; rows of
    one group count as one.
    """
    real = {r["cell"]["split"]: r for r in records if r["cell"]["method"] == "Real"}
    by_method: dict[str, list[Record]] = {}
    for record in records:
        whole = record if "losses" in record else _without_rows(record, real)
        by_method.setdefault(record["cell"]["method"], []).append(whole)
    losses = {name: _losses(part) for name, part in by_method.items()}
    pairs = {name: _mean(part) for name, part in losses.items()}
    if groups is not None:
        groups = groups[_asked_rows(by_method["Real"])[0]]
    gained = intervals(
        np.column_stack([pairs["Real"] - part for part in pairs.values()]), groups
    )
    standings = [
        _standing(by_method[name], losses[name], losses["Real"], gain)
        for name, gain in zip(pairs, gained, strict=True)
    ]
    return Comparison(
        task,
        tuple(sorted(standings, key=lambda standing: standing.loss)),
        len(pairs["Real"]),
        pairs,
        groups,
    )


def _standing(
    records: Sequence[Record],
    losses: dict[str, FloatArray],
    base: dict[str, FloatArray],
    gained: FloatArray,
) -> Standing:
    gain, low, high = map(float, gained)
    seconds = [r["costs"]["cpu_seconds"].get("method", 0.0) for r in records]
    failed = [r["failure"]["reason"] for r in records if r["failure"]]
    return Standing(
        records[0]["cell"]["method"],
        float(_mean(losses).mean()),
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
    rows, row_index = _asked_rows(records)
    times = np.bincount(row_index, minlength=len(rows))
    return {
        name: np.bincount(
            row_index, np.concatenate([r["losses"][name] for r in records]), len(rows)
        )
        / times
        for name in records[0]["losses"]
    }


def _asked_rows(records: Sequence[Record]) -> tuple[IntArray, IntArray]:
    """Return the rows that were asked, and which of them each answer is about."""
    asked = np.concatenate([np.asarray(r["asked"], dtype=np.int64) for r in records])
    rows, row_index = np.unique(asked, return_inverse=True)
    return rows, row_index


def _mean(losses: dict[str, FloatArray]) -> FloatArray:
    return np.asarray(np.mean(list(losses.values()), axis=0))


def _number_rows(rows: Table) -> Table:
    """Return rows numbered from 0, as a user's are."""
    return replace(rows, origin=np.arange(len(rows), dtype=np.int64))


# ---- Runs a contest on one's own table from its cells to its ranking.


def run_contest(
    contest: MethodComparison,
    methods: Sequence[str],
    terms: Terms | None = None,
    *,
    cluster: Cluster | None = None,
    observer: RunObserver | None = None,
) -> Comparison:
    """Let methods of the catalogue compete on a table; the smallest loss comes first.

    Real rows alone always compete.  By default the work is done in processes of this
    machine.  The observer is told of every cell as it comes back.
    """
    target = contest.table.schema.target
    if target is None:
        raise AssertionError("a contest has a target")
    named = ["Real", *(name for name in methods if name != "Real")]
    cells = contest.cells(named, terms or Terms())
    with tempfile.TemporaryDirectory(prefix="tabtap-compare-") as folder:
        store = Store(folder)
        run_cells(cells, contest.work(), store, cluster=cluster, observer=observer)
        records = list(store.records())
        return summarise(records, target.task, contest.asked_groups)


# ---- Intervals of several mean differences that hold together.
#
# Of seven methods that change nothing, one looks good by chance far more often than a
# single one would. So the intervals are widened until all of them hold at once, by what
# their differences have in common: methods that are wrong about the same rows are
# hardly more than one.


CONFIDENCE = 0.9
"""That all of the two-sided intervals hold."""

_N_DRAWS = 20_000


def intervals(differences: FloatArray, clusters: IntArray | None = None) -> FloatArray:
    """Return mean, low and high of each column, as an array of shape (n_columns, 3).

    ``differences`` tells how much smaller the loss of each row is, one column for each
    method.  Rows of one cluster say the same thing again, and count as one.  All
    intervals hold together with ``CONFIDENCE``.

    Examples
    --------
    >>> together = intervals(np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]))
    >>> alone = intervals(np.array([[0.0], [1.0], [1.0]]))
    >>> bool(together[0, 1] < alone[0, 1] < alone[0, 0])
    True
    """
    # One standard error: the margin of a one-sided bound over its quantile.
    one = (1 + CONFIDENCE) / 2
    bounds = [one_sided(column, one, clusters) for column in differences.T]
    count = len(differences) if clusters is None else len(np.unique(clusters))
    means = np.array([bound.gain for bound in bounds])
    margins = np.array([bound.margin for bound in bounds])
    if count > 1:
        centred = _totals(differences - means, clusters)
        margins *= _critical(centred, count - 1) / stdtrit(count - 1, one)
    return np.column_stack([means, means - margins, means + margins])


def _totals(centred: FloatArray, clusters: IntArray | None) -> FloatArray:
    if clusters is None:
        return centred
    names, cluster_index = np.unique(clusters, return_inverse=True)
    totals = np.zeros((len(names), centred.shape[1]))
    np.add.at(totals, cluster_index, centred)
    return totals


def _critical(centred: FloatArray, freedom: int) -> float:
    """Return how many standard errors the largest of several t values reaches."""
    size = np.sqrt((centred**2).sum(axis=0))
    varied = size > 0
    alone = float(stdtrit(freedom, (1 + CONFIDENCE) / 2))
    if varied.sum() < 2:
        return alone
    unit = centred[:, varied] / size[varied]
    # Rotated noise has the columns' correlation, whatever their number.
    rng = np.random.default_rng(0)
    root = np.asarray(np.linalg.qr(unit, mode="r"))
    noise = rng.standard_normal((_N_DRAWS, root.shape[0])) @ root
    scale = np.sqrt(rng.chisquare(freedom, _N_DRAWS) / freedom)
    largest = np.abs(noise).max(axis=1) / scale
    return max(alone, float(np.quantile(largest, CONFIDENCE)))
