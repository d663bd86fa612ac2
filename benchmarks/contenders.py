"""The evaluators that are measured, and how an answer is scored.

Read by: evaluators.

What is not on this machine is left out with the reason, so that a page of measurements
says what it lacks.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from package_v2 import PackageRegressor
from questions import Question
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from threadpoolctl import threadpool_limits

from tabtap.domain import Prediction
from tabtap.errors import UserInputError, WeightsError
from tabtap.evaluate import EstimatorEvaluator, choose_evaluator, metric_of
from tabtap.evaluate.tabpfn_v1 import TabPFNv1
from tabtap.stages import Evaluator
from tabtap.table.schema import Task
from tabtap.torch_device import choose_device, fast_bfloat16

NO_BFLOAT16 = (
    "this CPU has no bfloat16 instructions; what emulates them says nothing about one "
    "that has"
)
MAX_SECONDS = 5.0
"""CPU seconds after which a question is not asked again."""

METRICS: Mapping[Task, tuple[str, str]] = {
    "classification": ("accuracy", "accuracy"),
    "regression": ("rmse", "neg_mean_squared_error"),
}
"""What a score is called, and the scikit-learn scorer it is made from."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What one evaluator said, and the CPU seconds it took at best."""

    predictions: tuple[Prediction, ...]
    seconds: float


def contenders(task: Task) -> tuple[dict[str, Evaluator], dict[str, str]]:
    """Return evaluators by name, and for those that are not here the reason."""
    found: dict[str, Evaluator] = {}
    absent: dict[str, str] = {}
    for name, make in _makers(task).items():
        try:
            found[name] = make()
        except (UserInputError, WeightsError) as error:
            absent[name] = str(error)
    return found, absent


def ask(evaluator: Evaluator, question: Question, repeats: int) -> Answer:
    """Ask again and again on one thread; keep the least CPU time.

    Slow evaluators are asked less often: not again once ``MAX_SECONDS`` are spent.
    """
    predictions: list[Prediction] = []
    spent: list[float] = []
    with threadpool_limits(1):
        while len(spent) < repeats and sum(spent) < MAX_SECONDS:
            started = time.process_time()
            predictions = evaluator.predict(question.contexts, question.queries)
            spent.append(time.process_time() - started)
    return Answer(tuple(predictions), min(spent))


def score(question: Question, predictions: tuple[Prediction, ...], task: Task) -> float:
    """Return accuracy, or root mean squared error in the target's own unit."""
    name, scorer = METRICS[task]
    parts = [
        metric_of(scorer).score(prediction, asked)
        for prediction, asked in zip(predictions, question.queries, strict=True)
    ]
    mean = float(np.mean(np.concatenate(parts)))
    return mean if name == "accuracy" else float(np.sqrt(-mean))


def _makers(task: Task) -> dict[str, Callable[[], Evaluator]]:
    makers: dict[str, Callable[[], Evaluator]] = {}
    if task == "classification":
        makers["tabpfn-v1 float32"] = lambda: _tabpfn_v1("float32")
        makers["tabpfn-v1 float32, 3 permutations"] = lambda: _tabpfn_v1("float32", 3)
        makers["tabpfn-v1 bfloat16"] = lambda: _tabpfn_v1("bfloat16")
    else:
        makers["tabpfn's own regressor, v2"] = PackageRegressor
    for name in ("tabpfn-v2", "tabicl", "ensemble", "panel", "holdout"):
        makers[name] = lambda name=name: choose_evaluator(name, task=task).evaluator
    linear, forest = _learners(task)
    makers[type(linear).__name__] = lambda: EstimatorEvaluator(linear)
    makers[type(forest).__name__] = lambda: EstimatorEvaluator(forest)
    return makers


def _learners(task: Task) -> tuple[object, object]:
    if task == "classification":
        return LogisticRegression(max_iter=1000), RandomForestClassifier(random_state=0)
    return Ridge(), RandomForestRegressor(random_state=0)


def _tabpfn_v1(precision: str, n_permutations: int = 1) -> Evaluator:
    if precision == "bfloat16" and not fast_bfloat16(choose_device("cpu")):
        raise UserInputError(NO_BFLOAT16)
    choose_evaluator("tabpfn-v1", task="classification")  # says if weights are absent
    return TabPFNv1(precision=precision, n_permutations=n_permutations, device="cpu")
