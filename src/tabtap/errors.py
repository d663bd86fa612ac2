"""Every error and warning a user can meet, each with the way out in its text.

The caller's mistake is a ``UserInputError`` whose message says what was found, where,
what is accepted and how to fix it.  Our own mistake is a plain traceback.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


class TapError(Exception):
    """Root of every error tabtap raises on purpose."""


class UserInputError(TapError, ValueError):
    """Something the caller passed cannot be used; the message says how to mend it."""


class FileFormatError(UserInputError):
    """A saved file is damaged, foreign, or of a version this release cannot read."""


class WeightsError(UserInputError):
    """Weights are missing, damaged, or cannot be fetched or kept here."""


class EvaluatorError(TapError):
    """An evaluator or a referee failed, or answered what cannot be used."""


class RunInterrupted(KeyboardInterrupt):
    """A run was interrupted; what it had committed until then is in ``result``."""

    def __init__(self, message: str, result: object) -> None:
        super().__init__(message)
        self.result = result


class TapWarning(UserWarning):
    """Root of every warning: the run goes on with a result the user may not want."""


class TrainingRestartWarning(TapWarning):
    """The training loss became NaN or infinite; training began again, more slowly."""


class SmallerBatchWarning(TapWarning):
    """A batch of rows did not fit into memory; they are drawn in smaller ones."""


class EvaluatorFallbackWarning(TapWarning):
    """The best evaluator for this task is not at hand; a lesser one was taken."""


class EvaluatorLimitWarning(TapWarning):
    """A table is beyond what an evaluator reads; it answers from a part of it."""


class TeacherConditionWarning(TapWarning):
    """What a teacher's licence asks of a model that learns from its answers."""


class LargeTableWarning(TapWarning):
    """A table has so many rows that some are learned only, or that no run is made."""


class LongRunWarning(TapWarning):
    """Settings were chosen with which a run takes an hour and not a minute."""


class RuleBrokenWarning(TapWarning):
    """Real rows break a rule that synthetic rows must keep."""


class RuleIdleWarning(TapWarning):
    """No real row meets the condition of an if-then rule, so it may never apply."""


class PartNotComparedWarning(TapWarning):
    """Whether a part of one's own is that of a kept run cannot be told."""


class ColumnLostWarning(TapWarning):
    """A column of numbers or times written as text is not learned as what it is."""


class TargetCopyWarning(TapWarning):
    """A feature equals the target in every row, so there is nothing to predict."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a table: where, what was found, and the fix."""

    column: str | None
    found: str
    fix: str

    option: str = ""
    """The fix on the command line, where that is another one."""

    def __str__(self) -> str:
        """Return the problem as one line, beginning with the place."""
        place = "table" if self.column is None else f"column {self.column}"
        return f"{place}: {self.found}. {self.fix}"


class BadTableError(UserInputError):
    """A table that cannot be used, with all of its problems reported together."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        count = len(self.problems)
        noun = "1 problem" if count == 1 else f"{count} problems"
        lines = "\n".join(f"  - {problem}" for problem in self.problems)
        super().__init__(f"This table cannot be used, {noun} found:\n{lines}")


def bad_setting(name: str, got: object, must: str, fix: str) -> UserInputError:
    """Return the error for one setting: what it is, what it must be, and the fix."""
    return UserInputError(f"{name}={got!r} is not usable: it must {must}. {fix}")


# ---- Optional packages, imported when first used, with the way to install them.


def require(
    module: str, *, extra: str = "bench", purpose: str = "The comparison"
) -> Any:  # noqa: ANN401  a module has no narrower type here
    """Import a module of an extra, or raise how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise UserInputError(
            f"{purpose} needs {package}, which is not installed. "
            f'Run: pip install "tabtap[{extra}]"'
        ) from error
