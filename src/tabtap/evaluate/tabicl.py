"""TabICL as an evaluator, through the package that its authors publish.

The package would fetch weights that it does not find.  Here it is told not to: what is
not on this machine is said, with the way to get it, and no network is asked.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from tabtap.domain import Prediction
from tabtap.errors import UserInputError, WeightsError, bad_setting
from tabtap.evaluate.in_context import Asked, answer_in_context, smallest_question
from tabtap.table.schema import FloatArray, IntArray, Task
from tabtap.table.table import Table
from tabtap.torch_device import choose_device

_INSTALL = "the package tabicl is not installed. Run pip install 'tabtap[tabicl]'."

_LEVELS = (np.arange(100) + 0.5) / 100

Model = Any
"""An estimator of the package, which is optional."""


class TabICL:
    """Predicts labels or numbers with the ``tabicl`` package, one context at a time.

    Parameters
    ----------
    n_estimators : int, default=1
        Views of the table that answers are averaged over; each costs as much as the
        first.
    model_path : str or Path, optional
        A checkpoint file, of the kind that the table asks for (labels or numbers).
        Default: what the package has fetched before.
    device : str, default="auto"
        A torch device; ``auto`` takes CUDA, then MPS, then the CPU.
    seed : int, default=0
        Fixes the package's shuffles.

    Notes
    -----
    A missing number is the context's mean and a missing category a level of its own:
    the package leaves out a column that is missing in all queries, so its answer to a
    query with holes would depend on the other queries.  The variance of a predicted
    number is that of 100 quantiles.  Weights are read anew for each context.
    """

    name = "tabicl"

    def __init__(
        self,
        *,
        n_estimators: int = 1,
        model_path: str | Path | None = None,
        device: str = "auto",
        seed: int = 0,
    ) -> None:
        if n_estimators < 1:
            raise bad_setting("n_estimators", n_estimators, "be at least 1", "Try 1.")
        self.n_estimators = n_estimators
        self.model_path = model_path
        self.device = device
        self.seed = seed
        self._found: set[Task] = set()

    def predict(
        self, contexts: Sequence[Table], queries: Sequence[Table]
    ) -> list[Prediction]:
        """Return one prediction per (context, queries) pair, in the order given.

        Raises
        ------
        UserInputError
            If the package refuses the rows.
        WeightsError
            If package or weights are not on this machine; nothing is fetched.
        """
        return answer_in_context(
            contexts, queries, classify=self._classify, estimate=self._estimate
        )

    def missing_part(self, task: Task) -> str | None:
        """Say what is lacking here, and the way to get it; None if nothing is.

        Nothing is fetched, and no network is asked.
        """
        if find_spec("tabicl") is None:
            return _INSTALL
        question = smallest_question(task)
        try:
            self._estimator(task).fit(question.context, question.target)
        except ValueError:  # the only one that this question can meet
            return self._how_to_get(task)
        return None

    def _classify(self, asked: Asked) -> FloatArray:
        context, queries = _filled(asked)
        model = self._fitted("classification", context, asked.target)
        return np.asarray(model.predict_proba(queries))

    def _estimate(self, asked: Asked) -> tuple[FloatArray, FloatArray]:
        context, queries = _filled(asked)
        model = self._fitted("regression", context, asked.target)
        wanted = ["mean", "quantiles"]
        told = model.predict(queries, output_type=wanted, alphas=list(_LEVELS))
        mean, quantiles = (np.asarray(told[key], np.float64) for key in wanted)
        return mean, np.asarray(quantiles.var(axis=1))

    def _fitted(
        self, task: Task, context: FloatArray, target: FloatArray | IntArray
    ) -> Model:
        if task not in self._found:
            if (lacking := self.missing_part(task)) is not None:
                raise WeightsError(f"{self.name} cannot be used: {lacking}")
            self._found.add(task)
        try:
            return self._estimator(task).fit(context, target)
        except ValueError as error:
            raise UserInputError(
                f"{self.name} cannot learn a context of {len(context)} rows: {error} "
                "Choose another evaluator for this table."
            ) from error

    def _estimator(self, task: Task) -> Model:
        return getattr(importlib.import_module("tabicl"), _class_name(task))(
            n_estimators=self.n_estimators,
            model_path=self.model_path,
            allow_auto_download=False,
            device=str(choose_device(self.device)),
            random_state=self.seed,
        )

    def _how_to_get(self, task: Task) -> str:
        if self.model_path is not None:
            return (
                f"there is no file {str(self.model_path)!r}. Pass the path of a TabICL "
                "checkpoint, or none to use what the package has fetched."
            )
        return (
            "its weights are not on this machine. Have the package fetch them once: "
            f"tabicl.{_class_name(task)}().fit([[0.0], [1.0]], [0, 1])."
        )


def _class_name(task: Task) -> str:
    return "TabICLClassifier" if task == "classification" else "TabICLRegressor"


def _filled(asked: Asked) -> tuple[FloatArray, FloatArray]:
    """Return both matrices without holes."""
    whole = ~np.isnan(asked.context)
    total = np.where(whole, asked.context, 0.0).sum(axis=0)
    stand_in = total / np.maximum(whole.sum(axis=0), 1)
    stand_in[asked.categorical] = -1.0
    context = np.where(whole, asked.context, stand_in)
    return context, np.where(np.isnan(asked.queries), stand_in, asked.queries)
