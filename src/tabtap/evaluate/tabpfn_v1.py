"""TabPFN v1 as an evaluator: a trained network that learns a context by reading it.

All contexts of a call share forwards.  The network is loaded at the first question and
kept; nothing else is.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from tabtap.domain import ClassPrediction, Prediction
from tabtap.errors import EvaluatorLimitWarning, UserInputError, bad_setting
from tabtap.evaluate.fitting import task_of
from tabtap.evaluate.tabpfn_v1_network import N_CLASSES, Network
from tabtap.evaluate.tabpfn_v1_questions import Question, answer, ask, conclude
from tabtap.evaluate.tabpfn_v1_rows import MAX_COLUMNS, MAX_ROWS, Rows, prepare_rows
from tabtap.evaluate.weights import load_weights
from tabtap.table.schema import FloatArray
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

    Parameters
    ----------
    n_permutations : int, default=1
        Orders of columns and labels that answers are averaged over; each costs as much
        as the first.
    precision : {"auto", "float32", "bfloat16"}, default="auto"
        ``auto`` takes bfloat16 where the device computes with it natively; it moves
        probabilities by less than 0.01.
    device : str, default="auto"
        A torch device; ``auto`` takes CUDA, then MPS, then the CPU.
    seed : int, default=0
        Fixes the permutations, and the rows kept of a context that is too large.
    weights : mapping of str to Tensor, optional
        Tensors by name; by default those that ``fetch_weights("tabpfn-v1")`` brought
        are loaded when the first question comes.

    Notes
    -----
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

        Parameters
        ----------
        contexts : sequence of Table
            Labelled rows to learn from.
        queries : sequence of Table
            Rows to predict, one table per context; their labels are not read.

        Returns
        -------
        list of ClassPrediction
            A class that a context does not have gets probability 0.

        Raises
        ------
        UserInputError
            If the target is not a class label, or a context has no rows.
        WeightsError
            If the weights have not been fetched.
        """
        _check(contexts, queries)
        prepared = [
            prepare_rows(context, asked, self.seed)
            for context, asked in zip(contexts, queries, strict=True)
        ]
        for sentence in _limits_met(prepared):
            warnings.warn(sentence, EvaluatorLimitWarning, stacklevel=2)
        found = self._answers(prepared)
        return [
            ClassPrediction(_spread(rows, some, context.schema.n_conditions))
            for rows, some, context in zip(prepared, found, contexts, strict=True)
        ]

    def _answers(self, prepared: Sequence[Rows]) -> list[FloatArray]:
        asked = [ask(rows, self.n_permutations, self.seed) for rows in prepared]
        flat = [question for pair in asked for member in pair for question in member]
        with self._threads(flat):
            answers = iter(answer(self._network, flat))
        found = [[[next(answers) for _ in member] for member in pair] for pair in asked]
        return [
            conclude(rows, some, self.n_permutations, self.seed)
            for rows, some in zip(prepared, found, strict=True)
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
    told = []
    if any(rows.is_cut for rows in prepared):
        told.append(
            f"TabPFN v1 reads at most {MAX_ROWS} context rows; larger contexts are cut "
            "to that many, each class by its share."
        )
    if any(rows.is_narrowed for rows in prepared):
        told.append(
            f"TabPFN v1 reads at most {MAX_COLUMNS} columns, a category counting once "
            "per level; of more it reads those that say most about the label."
        )
    if any(len(rows.classes) > N_CLASSES for rows in prepared):
        told.append(
            f"TabPFN v1 knows at most {N_CLASSES} classes; more are asked one against "
            "the rest, at one forward per class."
        )
    return told


def _spread(rows: Rows, found: FloatArray, n_classes: int) -> FloatArray:
    """Put the probabilities of a context's classes among those of all classes."""
    everything = np.zeros((len(found), n_classes))
    everything[:, rows.classes] = found
    return everything
