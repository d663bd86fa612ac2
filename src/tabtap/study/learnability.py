"""Informative and learnable: two diagnostics of rows that were made (section 4.2).

A row is informative where a learner of the real rows is unsure (equation 21), and
learnable where that learner agrees with its target (equation 22).  Neither is known to
a run: they are computed afterwards, of rows that are there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from sklearn.neighbors import NearestNeighbors

from tabtap.compare.printing import TextTable, as_markdown
from tabtap.compare.store import MAIN, Cell, Record, Store, Terms
from tabtap.domain.prediction import MIN_PROBABILITY, TargetUnit, ValuePrediction
from tabtap.evaluate import EnsembleEvaluator
from tabtap.evaluate.learners import encode
from tabtap.stages import Evaluator
from tabtap.study import main
from tabtap.study.cell import made_rows, repetition_of
from tabtap.study.protocol import Repetition
from tabtap.study.sources import SOURCES
from tabtap.study.studies import Study, StudyOptions
from tabtap.study.tables import (
    MISSING,
    Interval,
    finding_of_several,
    in_paper_order,
    mean_interval,
    method_label,
    show_interval,
)
from tabtap.table.schema import FloatArray, IntArray
from tabtap.table.table import Table, concat

N_NEIGHBOURS = 5
"""Of a row, among the real ones; the paper does not say how many, its KNN has five."""

TAIL_SHARE = 0.2
"""Share of the rows, the least learnable, that tail risk is about."""


def boundary_score(
    stated: FloatArray, neighbours: IntArray | None = None
) -> FloatArray:
    """Return how near each row is to the learner's decision boundary (equation 21).

    Parameters
    ----------
    stated : array
        Probabilities that the learner gives to the classes of each row, shape (n_rows,
        n_classes); or the numbers that it predicts for the real rows, shape (n_real,).
    neighbours : array of shape (n_rows, k), optional
        Numbers of the real rows nearest to each row; of a regression only.

    Returns
    -------
    array of shape (n_rows,)
        Entropy in nats, or the variance of what is predicted for the neighbours.

    Examples
    --------
    >>> boundary_score(np.array([[0.5, 0.5], [1.0, 0.0]])).round(4)
    array([0.6931, 0.    ])
    >>> boundary_score(np.array([1.0, 3.0, 8.0]), np.array([[0, 1], [1, 1]]))
    array([1., 0.])
    """
    if neighbours is not None:
        return np.asarray(np.var(stated[neighbours], axis=1))
    positive = np.where(stated > 0, stated, 1.0)
    return np.asarray(-(positive * np.log(positive)).sum(axis=1) + 0.0)


def inconsistency(stated: FloatArray, target: FloatArray | IntArray) -> FloatArray:
    """Return how much each row's target surprises the learner (equation 22).

    Smaller is more learnable.

    Parameters
    ----------
    stated : array
        Probabilities of the classes, shape (n_rows, n_classes); or the number predicted
        for each row, shape (n_rows,).
    target : array of shape (n_rows,)
        Class codes, or numbers.

    Returns
    -------
    array of shape (n_rows,)
        -log p of the row's own class, in nats; or its squared residual.

    Examples
    --------
    >>> inconsistency(np.array([[0.25, 0.75]]), np.array([0])).round(4)
    array([1.3863])
    >>> inconsistency(np.array([1.5]), np.array([1.0]))
    array([0.25])
    """
    if stated.ndim == 1:
        return np.asarray((target - stated) ** 2)
    own = stated[np.arange(len(stated)), np.asarray(target, dtype=np.int64)]
    return np.asarray(-np.log(np.clip(own, MIN_PROBABILITY, 1.0)) + 0.0)


def percentiles(values: FloatArray, reference: FloatArray) -> FloatArray:
    """Return the share of reference values below each value, in percent; ties half.

    Examples
    --------
    >>> percentiles(np.array([0.0, 2.0, 9.0]), np.array([1.0, 2.0, 3.0, 4.0]))
    array([  0. ,  37.5, 100. ])
    """
    ordered = np.sort(reference)
    below = np.searchsorted(ordered, values, side="left")
    upto = np.searchsorted(ordered, values, side="right")
    return np.asarray(100.0 * (below + upto) / 2.0 / len(ordered))


def bucket_of(percentile: FloatArray, n_buckets: int) -> IntArray:
    """Return the number, from 0, of the bucket of equal width that a percentile is in.

    Examples
    --------
    >>> bucket_of(np.array([0.0, 19.9, 20.0, 100.0]), 5)
    array([0, 0, 1, 4])
    """
    bucket = np.floor(percentile / 100.0 * n_buckets).astype(np.int64)
    return np.minimum(bucket, n_buckets - 1)


def equal_bins(values: FloatArray, n_bins: int) -> IntArray:
    """Return the bin of each value, from 0 for the smallest; bins hold as many each.

    Equal values keep their order, and may lie in two bins.

    Examples
    --------
    >>> equal_bins(np.array([5.0, 1.0, 3.0, 2.0, 4.0, 0.0]), 3)
    array([2, 0, 1, 1, 2, 0])
    """
    rank = np.empty(len(values), dtype=np.int64)
    rank[np.argsort(values, kind="stable")] = np.arange(len(values))
    return np.asarray(rank * n_bins // max(len(values), 1))


def tail_mean(values: FloatArray, share: float = TAIL_SHARE) -> float:
    """Return the mean of the largest values: the tail risk of Table 2, of percentiles.

    Examples
    --------
    >>> tail_mean(np.array([1.0, 9.0, 2.0, 7.0, 3.0, 4.0, 5.0, 6.0, 0.0, 8.0]))
    8.5
    """
    n_tail = max(1, round(share * len(values)))
    return float(np.sort(values)[-n_tail:].mean())


class Diagnostics(NamedTuple):
    """Both scores of some rows; of each, shape (n_rows,)."""

    boundary: FloatArray
    inconsistency: FloatArray


def diagnose(
    rows: Table,
    seen: Table,
    judge: Evaluator | None = None,
    *,
    real: Table | None = None,
) -> Diagnostics:
    """Score rows by what a learner of other rows says of them.

    Parameters
    ----------
    rows : Table
        What is scored.
    seen : Table
        What the learner is fitted on, and among which neighbours are looked for.
    judge : Evaluator, optional
        The learner; by default the mean of a forest, a linear model and a network.
    real : Table, optional
        In whose unit a regression target is counted; by default ``seen``.
    """
    judge = EnsembleEvaluator() if judge is None else judge
    # In one question, so that the learner is fitted once.
    (answer,) = judge.predict([seen], [concat([rows, seen])])
    n_rows = len(rows)
    if not isinstance(answer, ValuePrediction):
        stated = answer.probabilities[:n_rows]  # type: ignore[attr-defined]
        return Diagnostics(
            boundary_score(stated), inconsistency(stated, rows.target.astype(np.int64))
        )
    unit = TargetUnit.of(seen if real is None else real)
    predicted = unit.standardise(answer.mean)
    return Diagnostics(
        boundary_score(predicted[n_rows:], nearest_rows(rows, seen)),
        inconsistency(predicted[:n_rows], unit.standardise(rows.target_values)),
    )


def nearest_rows(
    rows: Table, seen: Table, n_neighbours: int = N_NEIGHBOURS
) -> IntArray:
    """Return the numbers of the seen rows nearest to each row, as predictors see them.

    Shape (n_rows, k), k being ``n_neighbours`` or all that there are.
    """
    matrix, (asked,) = encode(seen, [rows])
    k = min(n_neighbours, len(seen))
    found = NearestNeighbors(n_neighbors=k).fit(matrix).kneighbors(asked)[1]
    return np.asarray(found, dtype=np.int64)


# ---- The study: how learnable the rows of each method are, at equal informativeness.
#
# Percentiles are among real rows that no method has seen, so that methods need not be
# measured together: a row at 50 is as unsure, or as surprising, as a usual real row.


N_BUCKETS = 5

JUDGES = {
    "learner": "a learner of the real training rows, which the paper's equations name",
    "stranger": "a learner of half of the test rows, which knows none of the rows that "
    "others were made from",
}


def plan(options: StudyOptions) -> Iterator[Cell]:
    """Yield every method that makes rows, on every table."""
    names = main.QUICK_METHODS if options.quick else main.METHODS
    taps = main.taps_of(options)
    if options.quick:
        taps = ({"name": "TAP", "preset": "fast"},)
    methods = [*({"name": name} for name in names if name != "Real"), *taps]
    tables = main.QUICK_TABLES if options.quick else tuple(SOURCES)
    sizes, splits = ((20,), 1) if options.quick else ((50,), 3)
    terms = Terms(seed=options.seed, budget=100 if options.quick else 500)
    for split, n_real, table in options.repetitions(tables, sizes, splits):
        for method in methods:
            settings = {key: part for key, part in method.items() if key != "name"}
            yield Cell(
                dataset=table,
                n_real=n_real,
                split=split,
                method=str(method["name"]),
                settings=settings,
                terms=terms,
                study="learnability",
            )


def measure(cell: Cell, store: Store | None) -> Record:
    """Score the rows that a method made, and those that the table has beside them."""
    rows = made_rows(replace(cell, study=MAIN), store)
    if rows is None or not len(rows):
        return {"n_rows": 0, "judges": {}}
    part = repetition_of(cell)
    return {
        "n_rows": len(rows),
        "judges": {
            "learner": _profile(rows, part, part.real, part.test),
            "stranger": _profile(rows, part, *_halves(part.test)),
        },
    }


def _halves(rows: Table) -> tuple[Table, Table]:
    even = np.arange(len(rows)) % 2 == 0
    return rows.take(np.flatnonzero(even)), rows.take(np.flatnonzero(~even))


def _profile(
    rows: Table, part: Repetition, seen: Table, unseen: Table
) -> dict[str, Any]:
    """Return where some rows stand among real ones, bucket by bucket."""
    found = diagnose(rows, seen, real=part.real)
    usual = diagnose(unseen, seen, real=part.real)
    informative = percentiles(found.boundary, usual.boundary)
    surprising = percentiles(found.inconsistency, usual.inconsistency)
    bucket = bucket_of(informative, N_BUCKETS)
    inside = [surprising[bucket == number] for number in range(N_BUCKETS)]
    return {
        "n": [len(values) for values in inside],
        "learnability": [
            float(100.0 - values.mean()) if len(values) else None for values in inside
        ],
        "informativeness": float(informative.mean()),
        "inconsistency": float(surprising.mean()),
        "tail_risk": tail_mean(surprising),
        "harmful": float((surprising >= HARMFUL).mean()),
    }


HARMFUL = 95.0
"""A row beyond this percentile of real rows counts as severely inconsistent."""


# ---- The page.


def page(records: Sequence[Record]) -> str:
    """Return learnability bucket by bucket, and whether TAP's is the best."""
    parts = [
        "Percentiles are among real rows that no method has seen: 50 is a usual real "
        "row. *Informativeness* is the percentile of equation 21, *learnability* 100 "
        "less that of equation 22; bucket 0 is the least informative. *Tail risk* "
        "is the mean percentile of the least learnable fifth of a method's rows, and "
        f"*harmful* the share of its rows beyond percentile {HARMFUL:.0f}.",
        "![Learnability at equal informativeness](learnability.svg)",
    ]
    for judge, words in JUDGES.items():
        frame = bucket_frame(records, judge)
        apart = differences(frame)
        parts += [
            f"## Judged by the {judge}: {words}",
            "\n".join(f"- {said}" for said in findings(apart)),
            *([as_markdown(_difference_table(apart))] if apart else []),
            as_markdown(_bucket_table(frame, judge)),
            as_markdown(_summary_table(records, judge)),
        ]
    return "\n\n".join(parts)


def bucket_frame(records: Sequence[Record], judge: str) -> pd.DataFrame:
    """Return one line per cell and bucket that has rows."""
    lines = []
    for record in records:
        cell, found = record["cell"], record["judges"].get(judge)
        if found is None:
            continue
        key = (cell["dataset"], cell["n_real"], cell["split"], method_label(cell))
        for bucket, value in enumerate(found["learnability"]):
            if value is not None:
                lines.append((*key, bucket, found["n"][bucket], value))
    columns = ["dataset", "n_real", "split", "method", "bucket", "n", "learnability"]
    return in_paper_order(pd.DataFrame(lines, columns=columns))


def matched(frame: pd.DataFrame, method: str, other: str) -> pd.DataFrame:
    """Return how much more learnable rows of one method are than another's.

    One line per cell: the mean over the buckets in which both have rows.
    """
    keys = ["dataset", "n_real", "split", "bucket"]
    wide = frame[frame["method"].isin([method, other])].pivot_table(
        "learnability", keys, "method"
    )
    if method not in wide or other not in wide:
        return pd.DataFrame(columns=["dataset", "difference"])
    apart = (wide[method] - wide[other]).dropna()
    return apart.groupby(keys[:3]).mean().rename("difference").reset_index()


def differences(frame: pd.DataFrame) -> dict[str, dict[str, Interval]]:
    """Return how much more learnable rows of each TAP are than each other method's."""
    methods = list(frame["method"].unique())
    found: dict[str, dict[str, Interval]] = {}
    for tap in (name for name in methods if name.startswith("TAP")):
        for other in (name for name in methods if not name.startswith("TAP")):
            apart = matched(frame, tap, other)
            if len(apart):
                values, tables = apart["difference"].to_list(), apart["dataset"]
                interval = mean_interval(values, tables.to_list())
                found.setdefault(tap, {})[other] = interval
    return found


def findings(apart: Mapping[str, Mapping[str, Interval]]) -> list[str]:
    """Return what Figure 2 claims, found or not: a sentence for each TAP."""
    return [
        finding_of_several(f"rows of {tap} are more learnable than those of", others)
        for tap, others in apart.items()
    ] or ["No TAP among the records, so nothing to compare."]


def _difference_table(apart: Mapping[str, Mapping[str, Interval]]) -> TextTable:
    others = dict.fromkeys(name for found in apart.values() for name in found)
    none = mean_interval([])
    return TextTable(
        "How much more learnable at equal informativeness, percentiles, with the 95 % "
        "interval over tables",
        ("than", *apart),
        tuple(
            (name, *(show_interval(found.get(name, none)) for found in apart.values()))
            for name in others
        ),
    )


def _bucket_table(frame: pd.DataFrame, judge: str) -> TextTable:
    means = frame.groupby(["method", "bucket"], sort=False)["learnability"].mean()
    rows = []
    for method in frame["method"].unique():
        own = means[method]
        cells = [
            f"{own[bucket]:.0f}" if bucket in own.index else MISSING
            for bucket in range(N_BUCKETS)
        ]
        rows.append((str(method), *cells))
    return TextTable(
        f"Learnability percentile by bucket of informativeness, {judge}; mean of cells",
        ("method", *(str(bucket) for bucket in range(N_BUCKETS))),
        tuple(rows),
    )


def _summary_table(records: Sequence[Record], judge: str) -> TextTable:
    names = ("informativeness", "inconsistency", "tail_risk", "harmful")
    lines = [
        {
            "dataset": record["cell"]["dataset"],
            "n_real": record["cell"]["n_real"],
            "split": record["cell"]["split"],
            "method": method_label(record["cell"]),
            **{name: record["judges"][judge][name] for name in names},
        }
        for record in records
        if judge in record["judges"]
    ]
    frame = in_paper_order(pd.DataFrame(lines))
    rows = []
    for method, part in frame.groupby("method", sort=False):
        shown = [f"{part[name].mean():.1f}" for name in names[:3]]
        rows.append((str(method), *shown, f"{100 * part['harmful'].mean():.1f}"))
    return TextTable(
        f"All rows, {judge}: mean percentiles, and % of rows that are harmful",
        ("method", "informativeness", "inconsistency", "tail risk", "harmful %"),
        tuple(rows),
    )


def figures(records: Sequence[Record]) -> Mapping[str, Figure]:
    """Draw learnability against informativeness, a panel for each judge."""
    figure = Figure(figsize=(11, 4.8), layout="constrained")
    axes = figure.subplots(1, len(JUDGES), squeeze=False, sharey=True)[0]
    for axis, judge in zip(axes, JUDGES, strict=True):
        frame = bucket_frame(records, judge)
        means = frame.groupby(["method", "bucket"], sort=False)["learnability"].mean()
        for method in frame["method"].unique():
            line = means[method].sort_index()
            bold = method.startswith("TAP")
            axis.plot(
                line.index,
                line.to_numpy(),
                marker="o",
                markersize=4,
                linewidth=2.2 if bold else 0.9,
                label=method,
            )
        axis.set_title(f"judged by the {judge}", fontsize=10)
        axis.set_xlabel("bucket of informativeness")
        axis.set_xticks(range(N_BUCKETS))
    axes[0].set_ylabel("learnability percentile")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right center", fontsize=8)
    return {"learnability.svg": figure}


STUDY = Study(
    name="learnability",
    title="Informative and learnable",
    question="Are the rows of TAP more learnable than others that are as informative?",
    paper="Figure 2",
    plan=plan,
    measure=measure,
    page=page,
    figures=figures,
)
