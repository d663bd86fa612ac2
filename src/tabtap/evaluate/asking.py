"""Ask an evaluator and trust nothing: a foreign one may raise or answer nonsense."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np

from tabtap.domain import ClassPrediction, Prediction, ValuePrediction
from tabtap.errors import EvaluatorError, UserInputError
from tabtap.evaluate.panel import PanelPrediction
from tabtap.stages import Evaluator
from tabtap.table.schema import FloatArray
from tabtap.table.table import Table

Role = Literal["evaluator", "referee"]


def ask(
    evaluator: Evaluator,
    contexts: Sequence[Table],
    queries: Sequence[Table],
    real: Table,
    role: Role = "evaluator",
) -> list[Prediction]:
    """Return an evaluator's predictions, one per pair, in the unit of the real rows.

    Parameters
    ----------
    evaluator : Evaluator
        Who is asked.
    contexts, queries : sequences of Table
        What each question is answered from, and what it is about.
    real : Table
        The real rows, in whose deviations errors are counted.
    role : {"evaluator", "referee"}, default="evaluator"
        The setting that it was passed as, for messages.

    Raises
    ------
    EvaluatorError
        If it raises, or answers with what is no prediction of the queries.
    """
    try:
        answers = list(evaluator.predict(contexts, queries))
        fault = next(_faults(answers, queries, real), None)
        if fault is None:
            return [answer.in_unit_of(real) for answer in answers]
    except (UserInputError, MemoryError):
        raise
    except Exception as error:
        raise EvaluatorError(
            f"The {role} {evaluator.name!r} failed on {_counted(contexts)}: "
            f"{type(error).__name__}: {error}. {_way_out(evaluator, role)}"
        ) from error
    raise EvaluatorError(
        f"The {role} {evaluator.name!r} {fault}. It must return one prediction per "
        "pair, in their order: a tabtap.domain.ClassPrediction or ValuePrediction. "
        f"{_way_out(evaluator, role)}"
    )


def _counted(contexts: Sequence[Table]) -> str:
    sizes = sorted(map(len, contexts))
    if len(sizes) == 1:
        return f"a context of {sizes[0]} rows"
    return f"{len(sizes)} contexts of {sizes[0]} to {sizes[-1]} rows"


def _faults(
    answers: Sequence[Prediction], queries: Sequence[Table], real: Table
) -> Iterator[str]:
    """Say what is wrong with some answers, as the rest of a sentence."""
    for answer in answers:
        if not hasattr(answer, "in_unit_of"):
            yield f"answered a {type(answer).__name__}, which is no prediction"
    lengths, wanted = [list(map(len, parts)) for parts in (answers, queries)]
    if lengths != wanted:
        yield f"answered {lengths} queries when it was asked {wanted}"
    for answer in answers:
        parts = answer.members if isinstance(answer, PanelPrediction) else {"": answer}
        for part in parts.values():
            yield from _faults_of_learner(part, real)


def _faults_of_learner(answer: Prediction, real: Table) -> Iterator[str]:
    target = real.schema.target
    levels = None
    if target is not None and target.task == "classification":
        levels = target.column.levels
    if isinstance(answer, ClassPrediction):
        yield from _faults_of_classes(answer, levels)
    if isinstance(answer, ValuePrediction):
        if levels is not None:
            yield "answered numbers when it was asked for probabilities of classes"
        yield from _faults_of_values("mean", answer.mean)
        yield from _faults_of_values("variance", answer.variance)


def _faults_of_classes(
    answer: ClassPrediction, levels: Sequence[object] | None
) -> Iterator[str]:
    found = answer.probabilities
    if levels is None:
        yield "answered probabilities of classes when it was asked for numbers"
    elif found.ndim != 2 or found.shape[1] != len(levels):
        yield (
            f"answered probabilities of shape {found.shape}, but there are "
            f"{len(levels)} classes and each needs a column"
        )
    elif np.isnan(found).any():
        yield "answered NaN as a probability"


def _faults_of_values(name: str, numbers: FloatArray) -> Iterator[str]:
    if numbers.ndim != 1:
        yield f"answered a {name} of shape {numbers.shape}, not one number per query"
    elif np.isnan(numbers).any():
        yield f"answered NaN as a {name}"


def _way_out(evaluator: Evaluator, role: Role) -> str:
    others = ("panel" if role == "referee" else "ensemble", "holdout")
    other = next(name for name in others if name != evaluator.name)
    return f"Use another one, such as {role}={other!r}."
