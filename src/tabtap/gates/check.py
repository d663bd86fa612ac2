"""Admission: every gate asked about every candidate, and the refusals counted.

A refusal is counted under the first gate that refuses, so the counts add up to the
candidates that were not admitted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from tabtap.config import GateConfig
from tabtap.domain import Admission, Candidates, GateContext
from tabtap.errors import TapError, UserInputError
from tabtap.gates.diversity import NewRow
from tabtap.gates.plausibility import Plausible
from tabtap.gates.rules import Rules
from tabtap.gates.validity import InRange, ValidTypes
from tabtap.stages import Gate
from tabtap.table.schema import BoolArray, FloatArray
from tabtap.table.table import Table

Answer = TypeVar("Answer")


@runtime_checkable
class ScoringGate(Gate, Protocol):
    """A gate that can say how well a row did."""

    def scores(self, candidates: Table, context: GateContext) -> dict[str, FloatArray]:
        """Return named figures, one per row."""


@runtime_checkable
class BatchGate(Gate, Protocol):
    """A gate that also compares the rows of a batch with each other."""

    def firsts(self, candidates: Table, context: GateContext) -> BoolArray:
        """Return which rows stay beside those before them."""


@dataclass(frozen=True, slots=True)
class Gates:
    """Every gate in turn; what the loop asks.

    Parameters
    ----------
    gates : tuple of Gate
        Asked about all candidates alike; their order decides who counts a refusal.
    """

    gates: tuple[Gate, ...]

    @property
    def needs_prediction(self) -> bool:
        """Whether a gate reads ``GateContext.prediction``; it may say so itself."""
        return any(getattr(gate, "needs_prediction", False) for gate in self.gates)

    def admit(self, candidates: Candidates, context: GateContext) -> Admission:
        """Return the candidates of one lineage that pass, and who refused the rest."""
        return admit(candidates, context, self.gates)


def standard_gates(config: GateConfig, rules: Rules | None = None) -> tuple[Gate, ...]:
    """Return the paper's gates in its order, with the user's rules among them."""
    gates: list[Gate] = [ValidTypes(), InRange(config.range_quantiles)]
    if rules is not None and len(rules):
        gates.append(rules)
    if config.plausibility:
        gates.append(
            Plausible(
                min_probability=config.min_probability,
                min_margin=config.min_margin,
                residual_percentile=config.residual_percentile,
            )
        )
    return (*gates, NewRow(config.min_distance))


def admit(
    candidates: Candidates, context: GateContext, gates: Sequence[Gate]
) -> Admission:
    """Ask every gate about the candidates of one lineage.

    Parameters
    ----------
    candidates : Candidates
        Rows of one lineage, in the order in which they were proposed.
    context : GateContext
        What the lineage knows; its prediction has one entry per candidate.
    gates : sequence of Gate
        Asked about all candidates alike; their order decides who counts a refusal.

    Returns
    -------
    Admission
        The rows admitted, with what the gates measured of them.  Of candidates that
        are near copies of each other the first is admitted.

    Raises
    ------
    UserInputError
        If a gate raises, or gives anything but one bool per row.

    Notes
    -----
    The admitted set is S_t of the paper (appendix C.2.4).
    """
    rows = candidates.rows
    passed = np.ones(len(candidates), dtype=np.bool_)
    refused: dict[str, int] = {}
    for gate in gates:
        before = passed
        passed = passed & _verdict(gate, rows, context)
        refused[gate.name] = refused.get(gate.name, 0) + _fewer(before, passed)
    # Last: a row that is refused anyway must not take its near copy with it.
    for gate in gates:
        if isinstance(gate, BatchGate):
            before = passed
            passed = _keep_firsts(gate, rows, context, passed)
            refused[gate.name] += _fewer(before, passed)
    measured = dict(candidates.scores)
    for gate in gates:
        if isinstance(gate, ScoringGate):
            measured |= _scores(gate, rows, context)
    return Admission(replace(candidates, scores=measured).take(passed), refused)


def _verdict(gate: Gate, rows: Table, context: GateContext) -> BoolArray:
    verdict = np.asarray(_asked(gate, gate.passes, rows, context))
    if verdict.shape != (len(rows),) or verdict.dtype != np.bool_:
        raise _not_one_per_row(gate, verdict, len(rows), "bool")
    return verdict


def _scores(
    gate: ScoringGate, rows: Table, context: GateContext
) -> dict[str, FloatArray]:
    told = _asked(gate, gate.scores, rows, context)
    figures = {name: np.asarray(figure) for name, figure in told.items()}
    for figure in figures.values():
        if figure.shape != (len(rows),) or figure.dtype.kind not in "fiu":
            raise _not_one_per_row(gate, figure, len(rows), "number")
    return {name: figure.astype(np.float64) for name, figure in figures.items()}


def _asked(
    gate: Gate,
    question: Callable[[Table, GateContext], Answer],
    rows: Table,
    context: GateContext,
) -> Answer:
    try:
        return question(rows, context)
    except TapError:
        raise
    except Exception as error:
        raise UserInputError(
            f"The gate {gate.name!r} raised {type(error).__name__}: {error}. A gate "
            "returns False for a bad row and raises nothing."
        ) from error


def _not_one_per_row(
    gate: Gate, got: NDArray[Any], n_rows: int, wanted: str
) -> UserInputError:
    return UserInputError(
        f"The gate {gate.name!r} returned an array of shape {got.shape} and dtype "
        f"{got.dtype} for {n_rows} rows. It must return one {wanted} per row."
    )


def _keep_firsts(
    gate: BatchGate, rows: Table, context: GateContext, passed: BoolArray
) -> BoolArray:
    chosen = np.flatnonzero(passed)
    stays = _asked(gate, gate.firsts, rows.take(chosen), context)
    kept = np.zeros(len(passed), dtype=np.bool_)
    kept[chosen[stays]] = True
    return kept


def _fewer(before: BoolArray, after: BoolArray) -> int:
    return int(before.sum() - after.sum())
