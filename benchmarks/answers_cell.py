"""One run of ``answers.py``: its table, its verdict, and what was true of its rows.

The truth is asked on rows that nobody saw, of every pool that the run was offered and
not only of those that it let in: what a refusal cost is known too.
"""

from __future__ import annotations

import importlib
import json
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import torch
from records import Record
from sklearn import datasets
from threadpoolctl import threadpool_limits

import tabtap
from tabtap.api.run import make_context
from tabtap.compare.predictors import CLASSIFIERS, REGRESSORS, row_losses
from tabtap.config import PRESETS, CommitConfig, DiffusionConfig, Preset, UtilityConfig
from tabtap.domain import Bound, Certificate, ClassPrediction, CommitRequest, Decision
from tabtap.domain.judgement import PANEL_MEAN
from tabtap.errors import UserInputError
from tabtap.evaluate.evaluators import BOOSTERS, PANEL, booster, panel_learners
from tabtap.evaluate.learners import Learners, answer_with
from tabtap.result import AugmentResult
from tabtap.rivals.simple import Copies, Jitter
from tabtap.rng import stream
from tabtap.stages import Commitment
from tabtap.stopwatch import Stopwatch
from tabtap.study.protocol import repetition
from tabtap.study.sources import (
    INDEX_NAME,
    SOURCES,
    SourceTable,
    data_folder,
    load_source,
)
from tabtap.table import Table, read_frame
from tabtap.table.frame import write_frame
from tabtap.table.schema import FloatArray, Task
from tabtap.table.split import MAX_TEST_ROWS
from tabtap.table.table import concat

# ---- The tables, by name.


BUILT_IN = {
    "iris": datasets.load_iris,
    "wine": datasets.load_wine,
    "cancer": datasets.load_breast_cancer,
    "digits": datasets.load_digits,
    "diabetes": datasets.load_diabetes,
}
FRIEDMAN = {
    "friedman1": datasets.make_friedman1,
    "friedman2": datasets.make_friedman2,
    "friedman3": datasets.make_friedman3,
}
MORE = (
    *("glass", "hepatitis", "credit-approval", "vehicle"),
    *("yacht", "airfoil", "concrete", "auto-mpg"),
)
"""Those of the folder ``more`` in the one that ``TABTAP_DATA`` names."""

ORIGINS = {
    "the paper's": tuple(SOURCES),
    "scikit-learn's": tuple(BUILT_IN),
    "Friedman's": tuple(FRIEDMAN),
    "more": MORE,
}
"""Names of the tables by where they come from."""

TABLES = tuple(name for names in ORIGINS.values() for name in names)
N_FRIEDMAN, FRIEDMAN_NOISE = 2000, 0.1
REGRESSION = "regression"


@lru_cache(maxsize=4)
def load(name: str) -> SourceTable:
    """Read a table by its name; rows without a target are left out."""
    if name in SOURCES:
        found = load_source(name)
    elif name in BUILT_IN:
        frame = BUILT_IN[name](as_frame=True).frame
        task: Task = "regression" if name == "diabetes" else "classification"
        found = SourceTable(name, frame, "target", task, ())
    elif name in FRIEDMAN:
        features, target = FRIEDMAN[name](
            n_samples=N_FRIEDMAN, noise=FRIEDMAN_NOISE, random_state=0
        )
        frame = pd.DataFrame(features).add_prefix("x").assign(y=target)
        found = SourceTable(name, frame, "y", "regression", ())
    else:
        found = _load_from_folder(name)
    kept = found.frame[found.frame[found.target].notna()]
    return replace(found, frame=kept.reset_index(drop=True))


def _load_from_folder(name: str) -> SourceTable:
    """Read a table that an index lists: the folder's own, or that of ``more``."""
    home = data_folder()
    for folder in () if home is None else (home, home / "more"):
        for entry in _listed(folder / INDEX_NAME):
            path = folder / f"{name}.parquet"
            if entry["name"] == name and path.is_file():
                task: Task = "classification"
                if entry["task"] == REGRESSION:
                    task = "regression"
                frame = pd.read_parquet(path)
                return SourceTable(name, frame, entry["target"], task, ())
    raise UserInputError(
        f"No table is called {name!r}. Set TABTAP_DATA to a folder that has it."
    )


def _listed(index: Path) -> list[dict[str, Any]]:
    if not index.is_file():
        return []
    return list(json.loads(index.read_text(encoding="utf-8"))["datasets"])


def obstacle(name: str, n_real: int) -> str | None:
    """Return why a table cannot be measured with so many real rows; None if it can."""
    try:
        n_rows = len(load(name).frame)
    except UserInputError as error:
        return str(error)
    left = n_rows - min(n_rows // 2, MAX_TEST_ROWS)
    if n_real > left:
        return f"{left} rows are left beside those that test"
    return None


def split_frames(name: str, n_real: int, split: int) -> tuple[pd.DataFrame, ...]:
    """Return real rows as a user has them, and up to 500 that nobody sees."""
    source = load(name)
    table = read_frame(source.frame, source.target, task=source.task)
    part = repetition(table, n_real, split)
    return tuple(
        source.frame.iloc[rows.origin].reset_index(drop=True)
        for rows in (part.real, part.test)
    )


# ---- Runs, as a user has them.


QUICK = Preset(
    augment=replace(
        PRESETS["fast"].augment,
        n_steps=64,
        utility=UtilityConfig(n_partitions=1),
        commit=CommitConfig(confidence=0.1, min_gain=-1.0, patience=2),
    ),
    diffusion=DiffusionConfig(n_steps=20, width=16),
)
"""For trying the script out: hardly trained, and lets in nearly anything."""

NAMED: Mapping[str, str | Preset] = {
    **{"default": "default", "fast": "fast"},
    "quick": QUICK,
}
"""Presets by the name that records give them; the paper's names no learner."""


def run(
    frame: pd.DataFrame,
    target: str,
    task: Task,
    heading: Record,
    **more: Any,  # noqa: ANN401  settings of the augmenter
) -> AugmentResult:
    """Augment a frame as a record's heading says."""
    torch.set_num_threads(1)
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        return tabtap.augment(
            frame,
            target,
            task=task,
            preset=NAMED[heading["preset"]],
            learner=heading["learner"],
            budget=heading["budget"],
            random_state=heading["seed"],
            **more,
        )


Seen = list[tuple[CommitRequest, Decision]]


@dataclass(frozen=True, slots=True, eq=False)
class WatchedCommitment:
    """Decides as the commitment it wraps, and keeps what was decided about what."""

    inner: Commitment
    seen: Seen

    def check(self, trial: CommitRequest) -> Decision:
        """Let the commitment decide, and remember."""
        decision = self.inner.check(trial)
        self.seen.append((trial, decision))
        return decision


@contextmanager
def watching(
    wrap: Callable[[Commitment, Seen], Commitment] = WatchedCommitment,
) -> Iterator[Seen]:
    """Keep every pool that a run is offered: a result has none of the refused ones."""
    seen: Seen = []

    def watched(*given: Any) -> Any:  # noqa: ANN401  as make_context
        context = make_context(*given)
        commitment = wrap(context.stages.commitment, seen)
        return replace(context, stages=replace(context.stages, commitment=commitment))

    module = importlib.import_module("tabtap.api.run")
    with mock.patch.object(module, "make_context", watched):
        yield seen


def told(result: AugmentResult) -> Record:
    """Return what a run said, without what was true."""
    checks = result.certificates
    passed = [check for check in checks if check.committed]
    last = passed[-1] if passed else (checks[-1] if checks else None)
    return {
        "verdict": result.verdict,
        "n_added": len(result.delivered),
        "promised": "" if last is None else _named(last, last.learner),
        "best_alone": "" if last is None else _named(last, last.best_alone),
        "bound": None if last is None else _bound(last.over_real),
        "figures": [] if last is None else _figures(last),
        "confidence": result.about.settings["augment"]["commit"]["confidence"],
        "shown": any(check.shown for check in checks),
    }


def _named(certificate: Certificate, learner: str) -> str:
    """Return a learner's name; the mean of one learner is that learner."""
    known = list(certificate.learners)
    return known[0] if learner == PANEL_MEAN and len(known) == 1 else learner


def _finite(number: float) -> float | None:
    return float(number) if np.isfinite(number) else None


def _error(by_row: FloatArray) -> float:
    """Return the standard error of a mean over rows."""
    return float(np.std(by_row, ddof=1) / np.sqrt(len(by_row)))


def _bound(bound: Bound | None) -> dict[str, float] | None:
    if bound is None:
        return None
    return {
        "gain": float(bound.gain),
        "margin": float(bound.margin),
        "lower": float(bound.lower),
        "confidence": bound.confidence,
    }


def _figures(certificate: Certificate) -> list[Record]:
    parts = ("best_alone", "without", "with_rows", "change")
    return [
        {
            "name": figure.name,
            "larger_is_better": figure.larger_is_better,
            **{
                part: [getattr(figure, part).value, getattr(figure, part).margin]
                for part in parts
            },
        }
        for figure in certificate.figures
    ]


# ---- What was true: learners trained on all real rows, asked about rows nobody saw.


@dataclass(frozen=True, slots=True, eq=False)
class Answered:
    """What learners trained on one table make of the test rows."""

    losses: Mapping[str, FloatArray]
    """By learner, shape (n_test,): 1 where wrong, or squared errors of the target in
    variances of the real rows'."""

    scores: Mapping[str, FloatArray]
    """The yardstick likewise; the paper's predictors have none."""


@dataclass(frozen=True, slots=True, eq=False)
class Truth:
    """Trains learners on the real rows and others, and asks them about the test rows.

    Parts of one table, so that all are encoded alike.
    """

    real: Table
    test: Table
    learners: Learners
    known: dict[tuple[str, ...], Answered] = field(default_factory=dict)

    @property
    def task(self) -> Task:
        """What the table asks for."""
        target = self.real.schema.target
        return "classification" if target is None else target.task

    @property
    def alone(self) -> Answered:
        """All learners and predictors, trained on the real rows alone."""
        if () not in self.known:
            self.known[()] = self.ask_all(self.real.empty())
        return self.known[()]

    def ask_all(self, rows: Table) -> Answered:
        """Train every learner and every predictor of the paper's with some rows."""
        found = self.ask(rows, tuple(self.learners))
        context = concat([self.real, rows])
        names = predictor_names(self.task)
        losses = row_losses(context, self.test, names, reference=self.real)
        return Answered({**found.losses, **losses}, found.scores)

    def ask(self, rows: Table, names: Sequence[str]) -> Answered:
        """Train some of the learners with some rows."""
        asked = {name: self.learners[name] for name in names}
        context = concat([self.real, rows])
        (answers,) = answer_with(asked, [context], [self.test])
        losses, scores = {}, {}
        for name, answer in answers.items():
            stated = answer.in_unit_of(self.real)
            scores[name] = stated.scores(self.test)
            losses[name] = stated.losses(self.test)
            if isinstance(stated, ClassPrediction):
                losses[name] = 1.0 - stated.right(self.test)
        return Answered(losses, scores)

    def change(
        self, new: Answered, with_rows: Sequence[str], alone: Sequence[str]
    ) -> dict[str, float]:
        """Return what is gained by learners with rows over others without.

        ``change`` in points of accuracy or per cent of RMSE, ``score`` in that of the
        yardstick where there is one, ``share`` of its loss; larger is better.  Of
        several learners the mean is taken.  Errors are those of the test rows.
        """
        old = self.alone
        gained, error = plain_change(
            [new.losses[name] for name in with_rows],
            [old.losses[name] for name in alone],
            self.task,
        )
        found = {"change": round(gained, 4), "error": round(error, 4)}
        if all(name in old.scores for name in alone):
            before = np.mean([old.scores[name] for name in alone], axis=0)
            rise = np.mean([new.scores[name] for name in with_rows], axis=0) - before
            found["score"] = round(float(rise.mean()), 6)
            found["score_error"] = round(_error(rise), 6)
            # Of what was lost without rows; the error is that of a ratio.
            loss = max(float(np.mean(1.0 - before)), 1e-9)
            share = float(rise.mean()) / loss
            found["share"] = round(share, 6)
            spread = _error(rise - share * (1.0 - before)) / loss
            found["share_error"] = round(spread, 6)
        return found

    def levels(self, found: Answered) -> dict[str, dict[str, float]]:
        """Return accuracy or RMSE, and the mean yardstick, of every learner."""
        return {
            name: {"plain": round(self._plain(losses), 5)}
            | (
                {"score": round(float(found.scores[name].mean()), 5)}
                if name in found.scores
                else {}
            )
            for name, losses in found.losses.items()
        }

    def _plain(self, losses: FloatArray) -> float:
        mean = float(losses.mean())
        return float(np.sqrt(mean)) if self.task == REGRESSION else 1.0 - mean


def plain_change(
    new: Sequence[FloatArray], old: Sequence[FloatArray], task: Task
) -> tuple[float, float]:
    """Return points of accuracy or per cent of RMSE gained, and the error of that.

    Losses by learner, of the same test rows.  The error of a ratio of RMSEs is that of
    its linear part in the rows.

    Examples
    --------
    >>> wrong, right = np.array([1.0, 1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0, 0.0])
    >>> plain_change([right], [wrong], "classification")
    (25.0, 25.0)
    >>> plain_change([wrong / 4], [wrong], "regression")
    (50.0, 0.0)
    """
    if task != REGRESSION:
        rows = 100.0 * (np.mean(old, axis=0) - np.mean(new, axis=0))
        return float(rows.mean()), float(rows.std(ddof=1) / np.sqrt(len(rows)))
    (after, after_rows), (before, before_rows) = _root_mean(new), _root_mean(old)
    rows = 100.0 * (after * before_rows / before - after_rows) / before
    error = rows.std(ddof=1) / np.sqrt(len(rows))
    return 100.0 * (1.0 - after / before), float(error)


def _root_mean(losses: Sequence[FloatArray]) -> tuple[float, FloatArray]:
    """Return the mean RMSE of some learners, and how it hangs on each row."""
    tiny = np.finfo(np.float64).tiny
    roots = [float(np.sqrt(max(part.mean(), tiny))) for part in losses]
    pulls = [
        (part - part.mean()) / (2.0 * root)
        for part, root in zip(losses, roots, strict=True)
    ]
    return float(np.mean(roots)), np.asarray(np.mean(pulls, axis=0))


def predictor_names(task: Task) -> list[str]:
    """Return the paper's predictors whose packages are installed."""
    packages = {"XGB": "xgboost", "LGBM": "lightgbm"}
    known = CLASSIFIERS if task == "classification" else REGRESSORS
    return [n for n in known if n not in packages or find_spec(packages[n]) is not None]


# ---- A cell: a run, and what was true.


def follow(heading: Record) -> Record:
    """Run as a user would, and tell whether the verdict was good advice."""
    started = time.process_time()
    source = load(heading["table"])
    real, test = split_frames(source.name, heading["n_real"], heading["split"])
    running = time.process_time()
    with watching() as seen:
        result = run(real, source.target, source.task, heading)
    ran = time.process_time()
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        found = _truths(source, (real, test), result, seen, heading)
    seconds = {"run": ran - running, "all": time.process_time() - started}
    return {
        **heading,
        "task": source.task,
        "n_test": len(test),
        **told(result),
        **found,
        "seconds": {name: round(value, 2) for name, value in seconds.items()},
    }


def _truths(
    source: SourceTable,
    frames: tuple[pd.DataFrame, pd.DataFrame],
    result: AugmentResult,
    seen: Sequence[tuple[CommitRequest, Decision]],
    heading: Record,
) -> Record:
    offered = [offered_rows(trial, decision) for trial, decision in seen]
    rows_of = [*offered, result.delivered.rows]
    truth, (*pools, delivered) = truth_of(source, frames, rows_of, heading)
    checks = [
        check_record(trial, decision, rows, truth)
        for (trial, decision), rows in zip(seen, pools, strict=True)
    ]
    record: Record = {"checks": checks, "levels": {"alone": truth.levels(truth.alone)}}
    if not len(delivered):
        return record
    last = [c for c in result.certificates if c.committed][-1]
    rivals = {
        "new rows": delivered,
        "copies": _rival(Copies(), truth.real, len(delivered), heading),
        "jitter": _rival(Jitter(), truth.real, len(delivered), heading),
    }
    record["changes"] = {}
    for name, rows in rivals.items():
        answered = truth.ask_all(rows)
        record["levels"][name] = truth.levels(answered)
        record["changes"][name] = _changes(truth, answered, last)
    return record


def truth_of(
    source: SourceTable,
    frames: Sequence[pd.DataFrame],
    made: Sequence[Table],
    heading: Record,
) -> tuple[Truth, list[Table]]:
    """Return who tells the truth, and rows that were made, read beside the others."""
    tables = read_together([*frames, *map(write_frame, made)], source)
    learners = dict(panel_learners(source.task))
    if heading["learner"] in BOOSTERS:
        learners[heading["learner"]] = booster(heading["learner"], source.task)
    return Truth(tables[0], tables[1], learners), tables[2:]


def offered_rows(trial: CommitRequest, decision: Decision) -> Table:
    """Return what the user has if a pool, or the part judged of it, is let in."""
    everything = concat([trial.committed, trial.pool.take(decision.kept)])
    return everything.take(trial.lineages.delivered(everything))


def read_together(parts: Sequence[pd.DataFrame], source: SourceTable) -> list[Table]:
    """Read several frames as parts of one table."""
    together = pd.concat(parts, ignore_index=True)
    table = read_frame(together, source.target, task=source.task)
    ends = np.cumsum([len(part) for part in parts])
    return [
        table.take(np.arange(end - len(part), end))
        for part, end in zip(parts, ends, strict=True)
    ]


def _rival(method: Copies | Jitter, real: Table, n: int, heading: Record) -> Table:
    names = (heading["table"], heading["n_real"], heading["split"])
    rng = stream(heading["seed"], method.name, *names)
    return method.make(real, n, rng, Stopwatch())


def check_record(
    trial: CommitRequest, decision: Decision, rows: Table, truth: Truth
) -> Record:
    """Return what was said and decided about a pool, and what was true of it."""
    certificate = decision.certificate
    record = {
        "window": certificate.window,
        "look": certificate.look,
        "first": not len(trial.committed),
        "n_rows": len(rows),
        "committed": certificate.committed,
        "shown": certificate.shown,
        "promised": _named(certificate, certificate.learner),
        "best_alone": _named(certificate, certificate.best_alone),
        "over_real": _bound(certificate.over_real),
        "share_at_least": _finite(certificate.share_at_least),
        "over_incumbent": _bound(certificate.over_incumbent),
        "copies": _bound(certificate.copies),
        "truth": None,
    }
    if len(rows):
        promised, alone = _members(certificate)
        record["truth"] = truth.change(truth.ask(rows, promised), promised, alone)
    return record


def _members(certificate: Certificate) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the promised learner and the best one alone; all, if it is their mean."""
    named = (certificate.learner, certificate.best_alone)
    promised, alone = (
        PANEL if one == PANEL_MEAN else (one,)
        for one in (_named(certificate, name) for name in named)
    )
    return promised, alone


def _changes(truth: Truth, new: Answered, last: Certificate) -> Record:
    promised, alone = _members(last)
    names = predictor_names(truth.task)
    return {
        "followed": truth.change(new, promised, alone),
        "promised": truth.change(new, promised, promised),
        "best alone": truth.change(new, alone, alone),
        "predictors": truth.change(new, names, names),
    }
