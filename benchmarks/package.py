"""The v1 package's own estimator, asked the same questions in a process of its own.

Read by: evaluators.

It gets the numbers as they are and prepares them itself, one fit for each fold, with
the very weights that tabtap's evaluator reads.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from contenders import Answer
from questions import Question

from tabtap.domain import ClassPrediction
from tabtap.evaluate.learners import numbers_of
from tabtap.evaluate.weights import weights_path
from tabtap.table import Table

SCRIPT = Path(__file__).with_name("package_process.py")


def ask_package(
    python: Path, questions: Sequence[Question], n_members: int, repeats: int
) -> list[Answer]:
    """Return what the package says to each question, and the CPU seconds it took.

    Parameters
    ----------
    python : Path
        A Python that has the package; see package_process.
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
            [str(python), str(SCRIPT), str(file), str(weights), *options],
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
