"""Methods compared on the user's own table: who helps, by how much, and surely so.

Every row that tests is asked of learners trained with each method's rows and without,
on the folds of ``tabtap augment``, as often as there: so each has a fair pair, and the
mean of the pairs an interval.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tabtap.api.choices import choose_referee, copies_of, task_of
from tabtap.api.run import lineages_of
from tabtap.compare.runner import Cluster, RunObserver, attempt, run_cells
from tabtap.compare.standings import BEST, AskedRows, Comparison, summarise
from tabtap.compare.store import Cell, Record, Store, Terms
from tabtap.config import changed_preset, preset_named
from tabtap.domain import ClassPrediction, LearnerPrediction, Lineages, Prediction
from tabtap.domain.judgement import PANEL_MEAN
from tabtap.evaluate.evaluators import PanelEvaluator, PanelPrediction
from tabtap.evaluate.judging import ask, described_learners
from tabtap.rivals import method_named
from tabtap.rivals.ladder import request_for
from tabtap.rng import stream
from tabtap.stages import Evaluator
from tabtap.stopwatch import Stopwatch
from tabtap.table.schema import FloatArray, IntArray, Task
from tabtap.table.split import even_sample, folds
from tabtap.table.table import Table, concat

# ---- Who is trained.


@dataclass(frozen=True, slots=True, eq=False)
class Judges:
    """The learners that are trained, and whom of them the answer is about."""

    panel: PanelEvaluator = field(default_factory=PanelEvaluator)

    own: Evaluator | None = None
    """A learner that was named and that the panel lacks."""

    promise: str = BEST
    """The best of the panel, its mean, or the learner that was named."""

    choice: Any = "auto"
    """The same as the user said it, for a method that judges its own rows."""

    everyone: bool = False
    """Whether all are trained with every method's rows, or only whom it is about."""

    @classmethod
    def of(
        cls,
        choice: Any,  # noqa: ANN401  a name, a learner or an evaluator
        task: Task,
        *,
        n_folds: int | None,
    ) -> Judges:
        """Return who is trained if ``choice`` is what the user will train.

        ``n_folds`` are those of which one is left out of the training rows; the leaves
        of boosters shrink with what is left.
        """
        chosen = choose_referee(
            choice, task, license_policy="open", n_jobs=1, n_folds=n_folds or 2
        ).evaluator
        panel = PanelEvaluator(share=1.0 if n_folds is None else 1.0 - 1.0 / n_folds)
        own = None if isinstance(chosen, PanelEvaluator) else chosen
        return cls(panel, own, chosen.name, choice)

    def asked(self, method: str) -> list[Evaluator]:
        """Return those that are trained with the rows of a method.

        All of them see real rows alone: another learner may do without new rows.
        """
        own = [] if self.own is None else [self.own]
        if method == "Real" or self.everyone or self.promise in (BEST, PANEL_MEAN):
            return [self.panel, *own]
        return own or [self.panel.only((self.promise,))]

    def described(self, real: Table) -> dict[str, str]:
        """Return class, settings and version of every learner."""
        own = {} if self.own is None else described_learners(self.own, real)
        return {**described_learners(self.panel, real), **own}


# ---- What is trained on and what is asked, time after time.


MOST_ROWS = 3000
"""Rows that compete; as many as ``tabtap augment`` learns."""


def competing_rows(table: Table, seed: int) -> IntArray:
    """Return the numbers of the rows that compete: all, or an even sample of many."""
    if len(table) <= MOST_ROWS:
        return np.arange(len(table))
    return even_sample(table.condition, MOST_ROWS, stream(seed, "competing rows"))


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTerms:
    """What a run of ``tabtap augment`` is told as well, so that both mean the same."""

    seed: int = 0
    """Of what methods draw, and of folds of test rows."""

    preset: str = "default"
    """How often the table is cut, and how TAP runs."""

    min_gain: float | None = None
    """Smallest gain worth having; None: the usual one."""

    @property
    def changes(self) -> dict[str, Any]:
        """What of a run's settings differs from those of the preset."""
        if self.min_gain is None:
            return {}
        return {"commit": {"min_gain": self.min_gain}}


@dataclass(frozen=True, slots=True, eq=False)
class MethodComparison:
    """Rows to train on and rows to test on, for each repeat."""

    table: Table
    repeats: int
    """Times that every method makes rows: once for each fold of every partition."""

    test: Table | None
    """Rows of a file of their own; None cuts them from the table."""

    lineages: Lineages | None
    """Which repeats test a row, where they are cut from the table."""

    groups: IntArray | None = None
    """Whom each row of the table belongs to."""

    test_groups: IntArray | None = None
    """Whom each row of the test file belongs to."""

    judges: Judges = field(default_factory=Judges)

    run: RunTerms = field(default_factory=RunTerms)

    @classmethod
    def of(
        cls,
        table: Table,
        repeats: int,
        *,
        test: Table | None = None,
        groups: IntArray | None = None,
        learner: Any = "auto",  # noqa: ANN401
        run: RunTerms | None = None,
    ) -> MethodComparison:
        """Prepare the repeats: folds of the table, or one test file for all.

        Parameters
        ----------
        table : Table
            The user's rows.
        repeats : int
            Folds of one partition, of which there are as many as ``tabtap augment``
            has; with a test file, times that methods draw rows.
        test : Table, optional
            Rows to test on.
        groups : array, optional
            Whom the table's rows and, after them, the test rows belong to.  Without
            groups, exact copies of a row are kept together.
        learner : str or object, default="auto"
            What the user will train, as ``TabularAugmenter`` takes it.
        run : RunTerms, optional
            What else ``tabtap augment`` would be told.
        """
        run = run or RunTerms()
        changes = {"utility": {"n_folds": repeats}, **run.changes}
        preset = changed_preset(preset_named(run.preset), {"augment": changes})
        test_groups = lineages = n_folds = None
        if test is None:
            numbered = _number_rows(table)
            request = request_for(numbered, preset, run.seed, groups, learner=learner)
            groups, lineages = request.groups, lineages_of(request)
            repeats, n_folds = lineages.n_folds, lineages.n_folds_each
        elif groups is None:
            groups = copies_of(table, repeats)
        else:
            groups, test_groups = np.split(groups, [len(table)])
        judges = Judges.of(learner, task_of(table), n_folds=n_folds)
        return cls(table, repeats, test, lineages, groups, test_groups, judges, run)

    def with_everyone(self) -> MethodComparison:
        """Return one that trains all learners with every method's rows."""
        return replace(self, judges=replace(self.judges, everyone=True))

    @property
    def asked_rows(self) -> AskedRows:
        """The rows that are asked, by their number."""
        if self.test is not None:
            fold = self._choice_folds(self.test)
            return AskedRows(self.test, fold, None, self.test_groups)
        if self.lineages is None:
            raise AssertionError("neither folds nor a test table")
        n_folds = self.lineages.n_folds_each
        return AskedRows(self.table, self.lineages.fold, n_folds, self.groups)

    def _choice_folds(self, test: Table) -> IntArray:
        """Cut the test rows, so that a learner is chosen by others than it answers."""
        groups = self.test_groups
        n_units = len(test) if groups is None else len(np.unique(groups))
        if n_units < 2:
            return np.zeros(len(test), dtype=np.int64)
        n_folds = min(N_CHOICE_FOLDS, n_units)
        return folds(test.condition, n_folds, stream(self.run.seed, "choice"), groups)

    def cells(self, methods: Sequence[str], terms: Terms) -> list[Cell]:
        """Return what is to be done: every method in every repeat."""
        return [
            Cell(
                dataset="own table",
                n_real=len(self.table),
                split=repeat,
                method=method,
                settings=self._settings(method, self.judges.promise),
                terms=terms,
            )
            for repeat in range(self.repeats)
            for method in methods
        ]

    def _settings(self, method: str, learner: Any) -> dict[str, Any]:  # noqa: ANN401
        """Return what a method is told: the one that judges, what the user asked."""
        if method not in ("TAP", "TAP + teacher"):
            return {}
        settings: dict[str, Any] = {"learner": learner}
        if self.run.preset != "default":
            settings["preset"] = self.run.preset
        if self.run.changes:
            settings["augment"] = self.run.changes
        return settings

    def parts(self, repeat: int) -> tuple[Table, Table]:
        """Return the training and the test rows of a repeat."""
        if self.lineages is None:
            if self.test is None:
                raise AssertionError("neither folds nor a test table")
            return _number_rows(self.table), self.test
        train = self.table.take(self.taught(repeat))
        return _number_rows(train), self.table.take(self.asked(repeat))

    def taught(self, repeat: int) -> IntArray:
        """Return the numbers of the rows that a repeat trains on."""
        if self.lineages is None:
            return np.arange(len(self.table))
        return self.lineages.seen(repeat)

    def asked(self, repeat: int) -> IntArray:
        """Return the numbers of the rows that a repeat tests."""
        if self.lineages is None:
            return np.arange(0 if self.test is None else len(self.test))
        return self.lineages.asked(repeat)

    def work(self) -> Callable[[Cell], Record]:
        """Return the work of a cell, which takes the rows along to its worker."""

        def work(cell: Cell) -> Record:
            return self.record(cell)

        return work

    def record(self, cell: Cell) -> Record:
        """Let a method make rows for one repeat, and keep what learners then answer."""
        watch = Stopwatch()
        train, asked = self.parts(cell.split)
        settings = self._settings(cell.method, self.judges.choice)
        method = method_named(cell.method, **{**cell.settings, **settings})
        groups = None if self.groups is None else self.groups[self.taught(cell.split)]
        rows, failure = attempt(method, train, cell, watch, groups)
        everything = train if rows is None else concat([train, rows])
        with watch.running("score"):
            answers = self._answers(cell.method, everything, asked)
        return {
            "cell": cell.written(),
            "n_rows": 0 if rows is None else len(rows),
            "asked": self.asked(cell.split).tolist(),
            "answers": {name: said.tolist() for name, said in answers.items()},
            "scores": {},
            "failure": failure,
            "costs": {"cpu_seconds": watch.cpu_seconds, "seconds": watch.seconds},
        }

    def check_learner(self) -> None:
        """Let a learner of the user's fail now rather than in every cell."""
        if self.judges.own is not None:
            train, asked = self.parts(0)
            ask(self.judges.own, [train], [asked], self.table, "referee")

    def _answers(
        self, method: str, train: Table, asked: Table
    ) -> dict[str, FloatArray]:
        found: dict[str, FloatArray] = {}
        for judge in self.judges.asked(method):
            (answer,) = ask(judge, [train], [asked], self.table, "referee")
            found |= _by_learner(answer, judge.name)
        return found


N_CHOICE_FOLDS = 5
"""Parts of a test file: in each, learners are chosen by the others."""


def _by_learner(answer: Prediction, name: str) -> dict[str, FloatArray]:
    """Return what each learner said: probabilities of classes, or values."""
    members: dict[str, LearnerPrediction] = {name: answer}  # type: ignore[dict-item]
    if isinstance(answer, PanelPrediction):
        members = dict(answer.members)
    return {
        name: part.probabilities if isinstance(part, ClassPrediction) else part.mean
        for name, part in members.items()
    }


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
    """Let methods of the catalogue compete on a table; the best score comes first.

    Real rows alone always compete.  By default the work is done in processes of this
    machine.  The observer is told of every cell as it comes back.
    """
    contest.check_learner()
    named = ["Real", *(name for name in methods if name != "Real")]
    cells = contest.cells(named, terms or Terms())
    with tempfile.TemporaryDirectory(prefix="tabtap-compare-") as folder:
        store = Store(folder)
        run_cells(cells, contest.work(), store, cluster=cluster, observer=observer)
        records = list(store.records())
    judges = contest.judges
    described = judges.described(contest.table)
    told = (records, contest.asked_rows, judges.promise, described)
    return summarise(*told, min_gain=contest.run.min_gain)
