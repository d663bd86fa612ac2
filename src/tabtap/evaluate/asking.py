"""Ask an evaluator and trust nothing: a foreign one may raise or answer nonsense.

Reads from: errors, domain, stages, table.  Read by: evaluate.utility, evaluate.referee.
"""

from __future__ import annotations

from collections.abc import Sequence

from tabtap.domain import Prediction
from tabtap.errors import EvaluatorError, UserInputError
from tabtap.stages import Evaluator
from tabtap.table.table import Table


def ask(
    evaluator: Evaluator, contexts: Sequence[Table], queries: Sequence[Table]
) -> list[Prediction]:
    """Return an evaluator's predictions, one per pair.

    Raises
    ------
    EvaluatorError
        If it raises, or answers with another number of predictions.
    """
    try:
        answers = list(evaluator.predict(contexts, queries))
        lengths = [len(answer) for answer in answers]
    except (UserInputError, MemoryError):
        raise
    except Exception as error:
        raise EvaluatorError(
            f"The evaluator {evaluator.name!r} failed on {len(contexts)} contexts of "
            f"{min(map(len, contexts))} to {max(map(len, contexts))} rows: "
            f"{type(error).__name__}: {error}. Use another one, such as "
            "evaluator='ensemble'."
        ) from error
    wanted = [len(asked) for asked in queries]
    if lengths != wanted:
        raise EvaluatorError(
            f"The evaluator {evaluator.name!r} answered {lengths} queries when it was "
            f"asked {wanted}. It must return one prediction per pair, in their order."
        )
    return answers
