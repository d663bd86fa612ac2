"""What evaluators are asked, who is asked, and how an answer is scored.

A utility question is what every step of the method asks: of each of five folds, what
would a learner of the other rows predict for its hardest fifth?  Beside it stand small
contexts of real tables.

What is not on this machine is left out with the reason, so that a page of measurements
says what it lacks.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from backbone import made_up_table
from safetensors.torch import save_file
from sklearn import datasets
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

from tabtap.domain import ClassPrediction, Prediction, ValuePrediction
from tabtap.errors import UserInputError, WeightsError
from tabtap.evaluate import EstimatorEvaluator, choose_evaluator, metric_of
from tabtap.evaluate.learners import numbers_of
from tabtap.evaluate.tabpfn_v1 import TabPFNv1
from tabtap.evaluate.weights import load_weights, weights_path, weights_settings
from tabtap.stages import Evaluator
from tabtap.table import Table, read_frame
from tabtap.table.schema import Task
from tabtap.torch_device import choose_device, fast_bfloat16

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


# ---- The evaluators that are measured.


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


# ---- The package of TabPFN v1: its own estimator, in a process of its own.
#
# It gets the numbers as they are and prepares them itself, one fit for each fold, with
# the very weights that tabtap's evaluator reads.


SCRIPT = Path(__file__).with_name("packages.py")


def ask_package(
    python: Path, questions: Sequence[Question], n_members: int, repeats: int
) -> list[Answer]:
    """Return what the package says to each question, and the CPU seconds it took.

    Parameters
    ----------
    python : Path
        A Python that has the package; see packages.py.
    questions : sequence of Question
        Of class labels and numbers alone.
    n_members : int
        Members that the package averages.
    repeats : int
        Times each question is asked.
    """
    weights = weights_path("tabpfn-v1")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "questions.npz"
        np.savez(file, **as_arrays(questions))
        options = ["--members", str(n_members), "--repeats", str(repeats)]
        done = subprocess.run(
            [str(python), str(SCRIPT), "tabpfn", str(file), str(weights), *options],
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        raise SystemExit(f"{python} could not ask the package:\n{done.stderr}")
    told = json.loads(done.stdout.splitlines()[-1])
    return [
        Answer(_predictions(question, some["probabilities"]), some["seconds"])
        for question, some in zip(questions, told, strict=True)
    ]


def as_arrays(questions: Sequence[Question]) -> dict[str, np.ndarray]:
    """Return questions as arrays with names that the other process knows."""
    arrays = {"n_questions": np.array(len(questions))}
    for number, question in enumerate(questions):
        arrays[f"{number}/n_folds"] = np.array(len(question.contexts))
        pairs = zip(question.contexts, question.queries, strict=True)
        for fold, (context, asked) in enumerate(pairs):
            place = f"{number}/{fold}"
            arrays[f"{place}/rows"] = numbers_of(context)
            arrays[f"{place}/labels"] = context.target.astype(np.int64)
            arrays[f"{place}/asked"] = numbers_of(asked)
    return arrays


def _predictions(
    question: Question, told: Sequence[Sequence[Sequence[float]]]
) -> tuple[ClassPrediction, ...]:
    pairs = zip(question.contexts, told, strict=True)
    return tuple(_spread(context, np.asarray(some)) for context, some in pairs)


def _spread(context: Table, told: np.ndarray) -> ClassPrediction:
    """Put the probabilities of a context's classes among those of all classes."""
    everything = np.zeros((len(told), context.schema.n_conditions))
    everything[:, np.unique(context.target.astype(np.int64))] = told
    return ClassPrediction(everything)


# ---- The package of TabPFN v2: its regressor, used as its manual says.
#
# Beside it stands tabtap's evaluator, which asks the same package: the difference is
# what the evaluator adds or saves.


WEIGHTS = "tabpfn-v2-regressor"


class PackageRegressor:
    """Fits ``TabPFNRegressor(n_estimators=1)`` on each context, all else by default."""

    name = "tabpfn's own regressor, v2"

    def __init__(self) -> None:
        if find_spec("tabpfn") is None or weights_path(WEIGHTS) is None:
            raise UserInputError(
                "the package tabpfn (9 or later) or its v2 regressor weights are not "
                "here"
            )

    def predict(
        self, contexts: Sequence[Table], queries: Sequence[Table]
    ) -> list[Prediction]:
        """Return means; their variances are not asked for."""
        found: list[Prediction] = []
        for context, asked in zip(contexts, queries, strict=True):
            model = self._model.fit(numbers_of(context), context.target_values)
            mean = np.asarray(model.predict(numbers_of(asked)), np.float64)
            found.append(ValuePrediction(mean, np.zeros(len(mean))))
        return found

    @cached_property
    def _model(self) -> Any:  # noqa: ANN401  of a package that may not be here
        from tabpfn import TabPFNRegressor

        return TabPFNRegressor(
            model_path=str(self._file), n_estimators=1, device="cpu", random_state=0
        )

    @cached_property
    def _folder(self) -> tempfile.TemporaryDirectory[str]:
        return tempfile.TemporaryDirectory()

    @cached_property
    def _file(self) -> Path:
        path = Path(self._folder.name, f"{WEIGHTS}.safetensors")
        settings = json.dumps(weights_settings(WEIGHTS))
        save_file(load_weights(WEIGHTS), path, metadata={"config": settings})
        return path
