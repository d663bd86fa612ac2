"""TabPFN v1 as an evaluator: a trained network that learns a context by reading it.

All contexts of a call share forwards.  The network is loaded at the first question and
kept; nothing else is.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tabtap.domain import ClassPrediction, Prediction
from tabtap.errors import EvaluatorLimitWarning, UserInputError, bad_setting
from tabtap.evaluate.learners import codes_of, numbers_of, task_of
from tabtap.evaluate.tabpfn_v1_network import N_CLASSES, N_FEATURES, Batch, Network
from tabtap.evaluate.weights import load_weights
from tabtap.rng import stream
from tabtap.table.schema import BoolArray, CodeArray, FloatArray, IntArray
from tabtap.table.split import allot
from tabtap.table.table import Table
from tabtap.torch_device import (
    choose_device,
    fast_bfloat16,
    multiplies_bfloat16,
    one_thread,
)

Precision = Literal["auto", "float32", "bfloat16"]

_DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}
_SMALL_WORK = 2048
"""Rows below which threads cost more than they save.  On two busy cores two threads
took 12 times the CPU time for five folds of 40 rows, 2.6 times for 300, and still 1.4
times for twenty of 300, never less by the clock; idle cores are kinder."""


class TabPFNv1:
    """Predicts class labels with the network of TabPFN v1 (Hollmann et al., 2023).

    Answers are averaged over ``n_permutations`` orders of columns and labels, each as
    costly as the first.  ``precision="auto"`` is bfloat16 where the device computes
    with it natively, which moves probabilities by less than 0.01; ``device="auto"``
    is CUDA, else MPS, else the CPU.  ``seed`` fixes the permutations, and the rows kept
    of a context that is too large.  Without ``weights``, those that
    ``fetch_weights("tabpfn-v1")`` brought are loaded when the first question comes.

    Made for up to 1,000 rows, 100 columns (a category counts once for each of its
    levels) and 10 classes.  A larger context is cut to 1,000 rows, classes keeping
    their shares; of more columns the 100 are read that say most about the label in the
    context; more classes are asked one against the rest.  Each is announced with an
    ``EvaluatorLimitWarning``.
    """

    name = "tabpfn-v1"

    def __init__(
        self,
        *,
        n_permutations: int = 1,
        precision: Precision = "auto",
        device: str = "auto",
        seed: int = 0,
        weights: Mapping[str, Tensor] | None = None,
    ) -> None:
        if n_permutations < 1:
            raise bad_setting(
                "n_permutations", n_permutations, "be at least 1", "Try 1."
            )
        if precision != "auto" and precision not in _DTYPES:
            names = "be 'auto', 'float32' or 'bfloat16'"
            raise bad_setting("precision", precision, names, "Try 'auto'.")
        self.n_permutations = n_permutations
        self.precision = precision
        self.device = device
        self.seed = seed
        self._weights = weights

    def predict(
        self, contexts: Sequence[Table], queries: Sequence[Table]
    ) -> list[Prediction]:
        """Return class probabilities for each context's queries, in the order given.

        A class that a context does not have gets probability 0.  The queries' labels
        are not read.
        """
        _check(contexts, queries)
        prepared = [
            prepare_rows(context, asked, self.seed)
            for context, asked in zip(contexts, queries, strict=True)
        ]
        for sentence in _limits_met(prepared):
            warnings.warn(sentence, EvaluatorLimitWarning, stacklevel=2)
        answers = self._answers(prepared)
        return [
            ClassPrediction(_spread(rows, some, context.schema.n_conditions))
            for rows, some, context in zip(prepared, answers, contexts, strict=True)
        ]

    def _answers(self, prepared: Sequence[Rows]) -> list[FloatArray]:
        asked = [ask(rows, self.n_permutations, self.seed) for rows in prepared]
        flat = [question for pair in asked for member in pair for question in member]
        with self._threads(flat):
            answers = iter(answer(self._network, flat))
        parts = [[[next(answers) for _ in member] for member in pair] for pair in asked]
        return [
            conclude(rows, some, self.n_permutations, self.seed)
            for rows, some in zip(prepared, parts, strict=True)
        ]

    @cached_property
    def _network(self) -> Network:
        device = choose_device(self.device)
        precision = self.precision
        if precision == "auto":
            precision = "bfloat16" if fast_bfloat16(device) else "float32"
        elif precision == "bfloat16" and not _is_possible(device):
            must = "be one in which this CPU can multiply matrices"
            raise bad_setting("precision", precision, must, "Try 'auto'.")
        weights = load_weights(self.name) if self._weights is None else self._weights
        return Network(weights, device, _DTYPES[precision])

    def _threads(self, questions: Sequence[Question]) -> AbstractContextManager[None]:
        n_rows = sum(len(q.context) + len(q.queries) for q in questions)
        small = n_rows < _SMALL_WORK
        return one_thread(self._network.device) if small else nullcontext()


def _is_possible(device: torch.device) -> bool:
    return device.type != "cpu" or multiplies_bfloat16()


def _check(contexts: Sequence[Table], queries: Sequence[Table]) -> None:
    if task_of(contexts, queries) != "classification":
        raise UserInputError(
            "TabPFN v1 predicts class labels, and this table's target is a number. "
            "Use an evaluator for regression: choose_evaluator('auto', "
            "task='regression') finds one."
        )


def _limits_met(prepared: Sequence[Rows]) -> list[str]:
    """Return a sentence per limit, the same each time so that it is shown once."""
    sentences = []
    if any(rows.is_cut for rows in prepared):
        sentences.append(
            f"TabPFN v1 reads at most {MAX_ROWS} context rows; larger contexts are cut "
            "to that many, each class by its share."
        )
    if any(rows.is_narrowed for rows in prepared):
        sentences.append(
            f"TabPFN v1 reads at most {MAX_COLUMNS} columns, a category counting once "
            "per level; of more it reads those that say most about the label."
        )
    if any(len(rows.classes) > N_CLASSES for rows in prepared):
        sentences.append(
            f"TabPFN v1 knows at most {N_CLASSES} classes; more are asked one against "
            "the rest, at one forward per class."
        )
    return sentences


def _spread(rows: Rows, probabilities: FloatArray, n_classes: int) -> FloatArray:
    """Put the probabilities of a context's classes among those of all classes."""
    everything = np.zeros((len(probabilities), n_classes))
    everything[:, rows.classes] = probabilities
    return everything


# ---- From rows to questions the network can answer at once, and back to probabilities.
#
# One context asks one question for each permutation it is averaged over, and with more
# classes than the network knows one for each class against all others.


_TEMPERATURE = 0.8
"""Scores are divided by this; the authors' classifier does the same."""

_MAX_QUERIES = 2048
_MAX_BATCH_ROWS = 2**14
"""Most queries and most rows of one forward; bounds its memory."""

_MAX_WASTE = 1.25
"""Contexts share a batch if the longest is at most this much longer."""


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """One forward's worth: a labelled context and queries about it."""

    context: FloatArray
    labels: IntArray
    n_labels: int
    queries: FloatArray


def ask(rows: Rows, n_permutations: int, seed: int) -> list[list[Question]]:
    """Return the questions of one context, one list per permutation."""
    n_columns, n_classes = rows.context.shape[1], len(rows.classes)
    return [
        _questions(rows, roll, shift)
        for roll, shift in permutations(n_columns, n_classes, n_permutations, seed)
    ]


def conclude(
    rows: Rows, answers: Sequence[Sequence[FloatArray]], n_permutations: int, seed: int
) -> FloatArray:
    """Return class probabilities from the answers to the questions of ``ask``."""
    n_columns, n_classes = rows.context.shape[1], len(rows.classes)
    members = permutations(n_columns, n_classes, n_permutations, seed)
    probabilities = [
        _undo_permutation(answer, n_classes, shift)
        for answer, (_, shift) in zip(answers, members, strict=True)
    ]
    return np.asarray(np.mean(probabilities, axis=0))


def permutations(
    n_columns: int, n_classes: int, n_wanted: int, seed: int
) -> list[tuple[int, int]]:
    """Return distinct rolls of columns and shifts of labels; the first is neither.

    There are as many as wanted or as many as there are.
    """
    n_columns, n_shifts = max(n_columns, 1), min(n_classes, N_CLASSES)
    rng = stream(seed, "tabpfn-v1 permutations", n_columns, n_shifts)
    others = 1 + rng.permutation(n_columns * n_shifts - 1)
    chosen = [0, *others[: n_wanted - 1].tolist()]
    return [divmod(number, n_shifts) for number in chosen]


def answer(network: Network, questions: Sequence[Question]) -> list[FloatArray]:
    """Return label probabilities per question, of shape (n_queries, n_labels)."""
    pieces = [_pieces(question) for question in questions]
    flat = [piece for some in pieces for piece in some]
    probabilities: list[FloatArray] = [np.empty(0)] * len(flat)
    for numbers in _groups(flat):
        batch = [flat[number] for number in numbers]
        logits = network.logits(_batch(batch)).cpu().numpy().astype(np.float64)
        for number, question, scores in zip(numbers, batch, logits, strict=True):
            rows, columns = len(question.queries), question.n_labels
            probabilities[number] = _softmax(scores[:rows, :columns] / _TEMPERATURE)
    answers = iter(probabilities)
    return [np.concatenate([next(answers) for _ in some]) for some in pieces]


def _questions(rows: Rows, roll: int, shift: int) -> list[Question]:
    context = np.roll(rows.context, roll, axis=1)
    queries = np.roll(rows.queries, roll, axis=1)
    n_classes = len(rows.classes)
    if n_classes <= N_CLASSES:
        labels = (rows.labels + shift) % n_classes
        return [Question(context, labels, n_classes, queries)]
    # Shifting the two labels of "one against the rest" swaps them, or does nothing.
    return [
        Question(context, ((rows.labels == k) + shift) % 2, 2, queries)
        for k in range(n_classes)
    ]


def _undo_permutation(
    answers: Sequence[FloatArray], n_classes: int, shift: int
) -> FloatArray:
    if n_classes <= N_CLASSES:
        return np.roll(answers[0], -shift, axis=1)
    alone = np.column_stack([each[:, (1 + shift) % 2] for each in answers])
    return np.asarray(alone / alone.sum(axis=1, keepdims=True))


def _pieces(question: Question) -> list[Question]:
    """Split a question with very many queries; there is at least one piece."""
    starts = range(0, max(len(question.queries), 1), _MAX_QUERIES)
    return [
        Question(
            question.context,
            question.labels,
            question.n_labels,
            question.queries[start : start + _MAX_QUERIES],
        )
        for start in starts
    ]


def _groups(questions: Sequence[Question]) -> Iterator[list[int]]:
    """Deal out question numbers so that little of a batch is filling."""
    sizes = [len(question.context) for question in questions]
    group: list[int] = []
    for number in sorted(range(len(sizes)), key=lambda n: (sizes[n], n)):
        if group and not _fits(questions, group, number):
            yield group
            group = []
        group.append(number)
    if group:
        yield group


def _fits(questions: Sequence[Question], group: Sequence[int], number: int) -> bool:
    longest = len(questions[number].context)
    shortest = len(questions[group[0]].context)
    asked = max(len(questions[n].queries) for n in (*group, number))
    n_rows = (longest + asked) * (len(group) + 1)
    return longest <= _MAX_WASTE * shortest + 1 and n_rows <= _MAX_BATCH_ROWS


def _batch(questions: Sequence[Question]) -> Batch:
    n_context = max(len(question.context) for question in questions)
    n_queries = max(len(question.queries) for question in questions)
    shape = (len(questions), n_context)
    labels = np.zeros(shape, dtype=np.float32)
    is_row = np.zeros(shape, dtype=np.bool_)
    for index, question in enumerate(questions):
        labels[index, : len(question.labels)] = question.labels
        is_row[index, : len(question.labels)] = True
    return Batch(
        context=torch.from_numpy(_stack([q.context for q in questions], n_context)),
        labels=torch.from_numpy(labels),
        is_row=torch.from_numpy(is_row),
        queries=torch.from_numpy(_stack([q.queries for q in questions], n_queries)),
    )


def _stack(matrices: Sequence[FloatArray], n_rows: int) -> NDArray[np.float32]:
    """Stack matrices, filled up with zeros to a common shape."""
    stacked = np.zeros((len(matrices), n_rows, N_FEATURES), dtype=np.float32)
    for index, matrix in enumerate(matrices):
        stacked[index, : matrix.shape[0], : matrix.shape[1]] = matrix
    return stacked


def _softmax(scores: FloatArray) -> FloatArray:
    likely = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(likely / likely.sum(axis=1, keepdims=True))


# ---- What TabPFN v1 reads: one context and its queries as scaled, bounded matrices.
#
# Scales, cuts and choices come from the context alone, so that a query's row does not
# depend on the other queries.  Plain numpy and not scikit-learn's transformers: those
# took 6 ms for each fold of each question.


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
    known, asked = _scale(known[:, varies], asked[:, varies])
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
    information = np.where(varies, mutual_information(known, labels), -np.inf)
    kept = np.zeros(known.shape[1], dtype=np.bool_)
    kept[np.argsort(-information, kind="stable")[:MAX_COLUMNS]] = True
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
    information = (joint * np.log(ratio)).sum(axis=(1, 2))
    n_used = (joint.sum(axis=2) > 0).sum(axis=1)
    chance = (n_used - 1) * (is_class.shape[1] - 1) / (2 * n_rows)
    return np.asarray(information - chance)


def _scale(known: FloatArray, asked: FloatArray) -> tuple[FloatArray, FloatArray]:
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
