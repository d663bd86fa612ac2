"""What evaluators are asked: made-up utility questions, and small real contexts.

Read by: evaluators, package, network_cost.

A utility question is what every step of the method asks: of each of five folds, what
would a learner of the other rows predict for its hardest fifth?
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from memory import made_up_table
from sklearn import datasets
from sklearn.model_selection import train_test_split

from tabtap.table import Table, read_frame
from tabtap.table.schema import Task

N_FOLDS = 5
FOCUS_FRACTION = 0.2
"""Share of a fold's rows that a utility question is about."""

N_CLASSES = 4
MAX_QUERIES = 200
"""Most rows of a real table that a context is tested on."""

MIN_QUERIES = 50
"""Fewer are no test, and no question is made."""

TABLES: Mapping[str, tuple[Task, Callable[..., Any]]] = {
    "breast cancer": ("classification", datasets.load_breast_cancer),
    "wine": ("classification", datasets.load_wine),
    "digits": ("classification", datasets.load_digits),
    "diabetes": ("regression", datasets.load_diabetes),
}


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """Contexts and what is asked of each."""

    contexts: tuple[Table, ...]
    queries: tuple[Table, ...]


def utility_question(n_context: int, n_features: int, task: Task) -> Question:
    """Return five folds of made-up numbers, each with a fifth of its rows as queries.

    Parameters
    ----------
    n_context : int
        Rows of each context: four fifths of the table.
    n_features : int
        Columns, all of them numbers.
    task : {"classification", "regression"}
        Four even classes, or the sum of the first numbers.
    """
    n_rows = n_context * N_FOLDS // (N_FOLDS - 1)
    table = made_up_table(
        n_rows, n_numbers=n_features, n_categories=0, n_classes=N_CLASSES
    )
    if task == "regression":
        target = table.numeric[:, :3].sum(axis=1)
        table = read_frame(table.numeric, y=target, task="regression")
    fold = np.arange(n_rows) % N_FOLDS
    n_queries = max(1, round(FOCUS_FRACTION * n_rows / N_FOLDS))
    return Question(
        tuple(table.take(np.flatnonzero(fold != k)) for k in range(N_FOLDS)),
        tuple(
            table.take(np.flatnonzero(fold == k)[:n_queries]) for k in range(N_FOLDS)
        ),
    )


def real_question(name: str, n_context: int, seed: int) -> Question | None:
    """Return one stratified context of a scikit-learn table, and other rows to ask.

    Returns
    -------
    Question or None
        None if the table has not enough rows.
    """
    table = load_table(name)
    n_queries = min(MAX_QUERIES, len(table) - n_context)
    if n_queries < MIN_QUERIES:
        return None
    context, asked = train_test_split(
        np.arange(len(table)),
        train_size=n_context,
        test_size=n_queries,
        stratify=table.condition,
        random_state=seed,
    )
    return Question((table.take(context),), (table.take(asked),))


@lru_cache
def load_table(name: str) -> Table:
    """Read one of scikit-learn's tables."""
    task, load = TABLES[name]
    found = load()
    return read_frame(found.data, y=found.target, task=task)
