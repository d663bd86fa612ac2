"""From rows to questions the network can answer at once, and back to probabilities.

One context asks one question for each permutation it is averaged over, and with more
classes than the network knows one for each class against all others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from tabtap.evaluate.tabpfn_v1_network import N_CLASSES, N_FEATURES, Batch, Network
from tabtap.evaluate.tabpfn_v1_rows import Rows
from tabtap.rng import stream
from tabtap.table.schema import FloatArray, IntArray

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
    found = [
        _unpermuted(answer, n_classes, shift)
        for answer, (_, shift) in zip(answers, members, strict=True)
    ]
    return np.asarray(np.mean(found, axis=0))


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
    found: list[FloatArray] = [np.empty(0)] * len(flat)
    for numbers in _groups(flat):
        batch = [flat[number] for number in numbers]
        logits = network.logits(_batch(batch)).cpu().numpy().astype(np.float64)
        for number, question, scores in zip(numbers, batch, logits, strict=True):
            rows, columns = len(question.queries), question.n_labels
            found[number] = _softmax(scores[:rows, :columns] / _TEMPERATURE)
    answers = iter(found)
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


def _unpermuted(
    answers: Sequence[FloatArray], n_classes: int, shift: int
) -> FloatArray:
    if n_classes <= N_CLASSES:
        return np.roll(answers[0], -shift, axis=1)
    alone = np.column_stack([found[:, (1 + shift) % 2] for found in answers])
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
    for place, question in enumerate(questions):
        labels[place, : len(question.labels)] = question.labels
        is_row[place, : len(question.labels)] = True
    return Batch(
        context=torch.from_numpy(_filled([q.context for q in questions], n_context)),
        labels=torch.from_numpy(labels),
        is_row=torch.from_numpy(is_row),
        queries=torch.from_numpy(_filled([q.queries for q in questions], n_queries)),
    )


def _filled(matrices: Sequence[FloatArray], n_rows: int) -> NDArray[np.float32]:
    """Stack matrices, filled up with zeros to a common shape."""
    stacked = np.zeros((len(matrices), n_rows, N_FEATURES), dtype=np.float32)
    for place, matrix in enumerate(matrices):
        stacked[place, : matrix.shape[0], : matrix.shape[1]] = matrix
    return stacked


def _softmax(scores: FloatArray) -> FloatArray:
    likely = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(likely / likely.sum(axis=1, keepdims=True))
