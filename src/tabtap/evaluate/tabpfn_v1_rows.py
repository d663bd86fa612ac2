"""What TabPFN v1 reads: one context and its queries as scaled, bounded matrices.

Scales, cuts and choices come from the context alone, so that a query's row does not
depend on the other queries.  Plain numpy and not scikit-learn's transformers: those
took 6 ms for each fold of each question.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tabtap.evaluate.encoding import codes_of, numbers_of
from tabtap.rng import stream
from tabtap.table.schema import BoolArray, CodeArray, FloatArray, IntArray
from tabtap.table.split import allot
from tabtap.table.table import Table

MAX_ROWS = 1000
"""Most context rows; the network was trained on about as many."""

MAX_COLUMNS = 100

_N_SIGMA = 4.0
_N_BINS = 8
_BOUND = 100.0


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """One context and its queries, ready for the network but for the filling up."""

    context: FloatArray
    labels: IntArray
    """Codes from 0, one per class that the context has."""

    classes: IntArray
    """Code in the table of each of those classes."""

    queries: FloatArray

    is_cut: bool
    """Whether the context was larger than the network reads."""

    is_narrowed: bool
    """Whether the table has more columns than the network reads."""


def prepare_rows(context: Table, queries: Table, seed: int) -> Rows:
    """Turn one context and its queries into what the network reads.

    Numbers are standardised and their outliers drawn in; categories are one-hot, a
    missing category one more level; a missing number is the context's mean.
    """
    is_cut = len(context) > MAX_ROWS
    if is_cut:
        context = context.take(_even_rows(context.condition, seed))
    classes, labels = np.unique(context.condition, return_inverse=True)
    known, asked = _matrices(context, queries)
    varies = np.ptp(known, axis=0) > 0
    is_narrowed = int(varies.sum()) > MAX_COLUMNS
    if is_narrowed:
        varies = _most_telling(known, labels, varies)
    known, asked = _scaled(known[:, varies], asked[:, varies])
    return Rows(known, labels, classes, asked, is_cut, is_narrowed)


def _matrices(context: Table, queries: Table) -> tuple[FloatArray, FloatArray]:
    """Return numbers without holes, then one column per level, for both tables."""
    numbers = _without_holes(numbers_of(context), numbers_of(queries))
    levels = _one_hot(codes_of(context), codes_of(queries))
    known, asked = (np.hstack(both) for both in zip(numbers, levels, strict=True))
    return known, asked


def _without_holes(
    known: FloatArray, asked: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Put the context's mean where a number is missing or infinite."""
    whole = np.isfinite(known)
    peak = np.where(whole, np.abs(known), 0.0).max(axis=0, initial=0.0)
    # Powers of two bring each column near 1: squares of 1e300 would overflow.
    exponent = -np.frexp(peak)[1]
    known, asked = np.ldexp(known, exponent), np.ldexp(asked, exponent)
    total = np.where(whole, known, 0.0).sum(axis=0)
    mean = total / np.maximum(whole.sum(axis=0), 1)
    return np.where(whole, known, mean), np.where(np.isfinite(asked), asked, mean)


def _one_hot(known: CodeArray, asked: CodeArray) -> tuple[FloatArray, FloatArray]:
    """Give each level of the context a column; -1, a hole, is a level too."""
    empty = np.empty((len(known), 0)), np.empty((len(asked), 0))
    blocks = [empty]
    for column, other in zip(known.T, asked.T, strict=True):
        levels = np.unique(column)
        blocks.append(
            (1.0 * (column[:, None] == levels), 1.0 * (other[:, None] == levels))
        )
    first, second = (np.hstack(parts) for parts in zip(*blocks, strict=True))
    return first, second


def _even_rows(condition: IntArray, seed: int) -> IntArray:
    """Return as many row numbers as may be kept, each class by its share."""
    rng = stream(seed, "tabpfn-v1 context", len(condition))
    _, code = np.unique(condition, return_inverse=True)
    counts = np.bincount(code)
    quota = allot(counts, MAX_ROWS, rng.random(len(counts)), counts, every_class=True)
    shuffled = rng.permutation(len(code))
    kept = [shuffled[code[shuffled] == k][:size] for k, size in enumerate(quota)]
    return np.sort(np.concatenate(kept))


def _most_telling(known: FloatArray, labels: IntArray, varies: BoolArray) -> BoolArray:
    """Keep the columns that say most about the label in the context."""
    told = np.where(varies, mutual_information(known, labels), -np.inf)
    kept = np.zeros(known.shape[1], dtype=np.bool_)
    kept[np.argsort(-told, kind="stable")[:MAX_COLUMNS]] = True
    return kept


def mutual_information(columns: FloatArray, labels: IntArray) -> FloatArray:
    """Estimate what each column says about the label, in nats.

    Columns are cut into bins of about equal counts.  What bins as many as a column has
    would say by chance alone is taken off, so that few-valued columns are not at a
    disadvantage; an estimate may be negative.
    """
    n_rows, n_columns = columns.shape
    marks = np.quantile(columns, np.linspace(0, 1, _N_BINS + 1)[1:-1], axis=0)
    bins = (columns[:, None, :] > marks[None]).sum(axis=1)
    is_class = np.eye(int(labels.max()) + 1)[labels]
    joint = np.zeros((n_columns, _N_BINS, is_class.shape[1]))
    for k in range(_N_BINS):
        joint[:, k] = (bins == k).T.astype(np.float64) @ is_class / n_rows
    apart = joint.sum(axis=2, keepdims=True) * joint.sum(axis=1, keepdims=True)
    ratio = np.divide(joint, apart, out=np.ones_like(joint), where=joint > 0)
    told = (joint * np.log(ratio)).sum(axis=(1, 2))
    n_used = (joint.sum(axis=2) > 0).sum(axis=1)
    chance = (n_used - 1) * (is_class.shape[1] - 1) / (2 * n_rows)
    return np.asarray(told - chance)


def _scaled(known: FloatArray, asked: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Standardise, draw outliers in, and make up for the columns that are not there."""
    if known.shape[1] == 0 or len(known) < 2:
        return known, asked
    center = known.mean(axis=0)
    spread = known.std(axis=0, ddof=1) + 1e-6
    known = np.clip((known - center) / spread, -_BOUND, _BOUND)
    asked = np.clip((asked - center) / spread, -_BOUND, _BOUND)
    low, high = _limits(known)
    share = MAX_COLUMNS / known.shape[1]
    return _drawn_in(known, low, high) * share, _drawn_in(asked, low, high) * share


def _limits(known: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return what is no outlier: 4 deviations, found without what lies beyond 4."""
    reach = _N_SIGMA * known.std(axis=0, ddof=1)
    center = known.mean(axis=0)
    inside = np.abs(known - center) <= reach
    n_inside = inside.sum(axis=0)
    center = np.where(inside, known, 0.0).sum(axis=0) / n_inside
    squares = np.where(inside, (known - center) ** 2, 0.0).sum(axis=0)
    reach = _N_SIGMA * np.sqrt(squares / np.maximum(n_inside - 1, 1))
    return center - reach, center + reach


def _drawn_in(rows: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Let values beyond the limits grow only as their logarithm."""
    rows = np.maximum(rows, low - np.log1p(np.abs(rows)))
    return np.asarray(np.minimum(rows, high + np.log1p(np.abs(rows))))
