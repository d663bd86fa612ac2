"""Whether a gate, an evaluator or an inpainter of the user's own keeps its promises.

The promises are those of ``tests/contracts``, held to on a few rows of the user's own
table before anything is trained.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import numpy as np

from tabtap.domain import (
    ClassPrediction,
    GateContext,
    Lineages,
    Prediction,
    TargetUnit,
    ValuePrediction,
)
from tabtap.errors import TapError, UserInputError
from tabtap.evaluate.judging import Role, ask
from tabtap.gates.gates import verdict_of
from tabtap.stages import Evaluator, Gate, Inpainter, UnfittedInpainter
from tabtap.table.schema import BoolArray, FloatArray, IntArray, Kind
from tabtap.table.table import Table

_N_CANDIDATES, _N_LEARNED = 6, 60
"""Rows that a part is tried on: to be judged or redrawn, and to learn from."""

_TOLERANCE = 1e-6
"""Answers that differ by less are the same; sums of floats depend on their order."""

Answer = TypeVar("Answer")


def check_gate(
    gate: Gate, candidates: Table, context_of: Callable[[IntArray], GateContext]
) -> None:
    """Hold a gate to its promises; ``context_of`` gives the context of some rows."""
    rows = np.arange(len(candidates))

    def judged(chosen: IntArray) -> BoolArray:
        return verdict_of(gate, candidates.take(chosen), context_of(chosen))

    who = f"The gate {gate.name!r}"
    context = context_of(rows)
    before = _contents(candidates, context.real, context.kept)
    together = verdict_of(gate, candidates, context)
    if _contents(candidates, context.real, context.kept) != before:
        raise UserInputError(f"{who} changes the rows it is given. {_COPY_FIRST}")
    if not np.array_equal(judged(rows), together):
        raise UserInputError(
            f"{who} judges the same rows differently when it is asked again. Remember "
            "nothing between calls, and draw no random numbers."
        )
    alone = [judged(rows[[row]])[0] for row in rows]
    if alone != together.tolist() or judged(rows[::-1]).tolist() != alone[::-1]:
        raise UserInputError(
            f"{who} judges a row differently when others stand beside it. Compare a "
            "row with context.real and context.kept, never with other candidates."
        )


def check_gates(gates: tuple[Gate, ...], real: Table, lineages: Lineages) -> None:
    """Hold own gates to their promises, on rows of a fold that the lineage lacks."""
    seen, candidates = _two_sides(real, lineages)
    # A gate that does not ask for a prediction may meet a run in which nobody does.
    for gate in gates:
        asks = getattr(gate, "needs_prediction", False)

        def context_of(rows: IntArray, *, asks: bool = asks) -> GateContext:
            if not asks:
                return GateContext(seen, real.empty())
            guess = _guess(real, len(rows))
            return GateContext(seen, real.empty(), guess, np.ones(len(seen)))

        check_gate(gate, candidates, context_of)


def check_evaluator(
    evaluator: Evaluator, context: Table, queries: Table, role: Role = "evaluator"
) -> None:
    """Hold a judge to its promises, on one question asked in several ways."""
    rows = np.arange(len(queries))

    def told(asked: Table, truth: Table) -> FloatArray:
        return _facts(ask(evaluator, [context], [asked], context, role)[0], truth)

    who = f"The {role} {evaluator.name!r}"
    before = _contents(context, queries)
    first = told(queries, queries)
    if _contents(context, queries) != before:
        raise UserInputError(f"{who} changes the rows it is given. {_COPY_FIRST}")
    if not _same(told(queries, queries), first):
        raise UserInputError(
            f"{who} answers the same question differently when it is asked again. "
            "Remember nothing between calls, and fix its random state."
        )
    check_unread(who, first, lambda asked: told(asked, queries), queries)
    backwards = queries.take(rows[::-1])
    alone = queries.take(rows[:1])
    in_company = _same(told(backwards, backwards)[::-1], first)
    if not in_company or not _same(told(alone, alone), first[:1]):
        raise UserInputError(
            f"{who} answers a query differently when others stand beside it. Take "
            "means, scales and levels from the context alone."
        )
    half = context.take(np.arange(0, len(context), 2))
    both = ask(evaluator, [half, context], [alone, queries], context, role)
    if not _same(_facts(both[1], queries), first):
        raise UserInputError(
            f"{who} answers a pair differently when it is asked two at once. Answer "
            "queries[i] from contexts[i] and nothing else, in the order given."
        )


def check_unread(
    who: str,
    first: FloatArray,
    told: Callable[[Table], FloatArray],
    queries: Table,
) -> None:
    """Refuse a judge whose answers follow the targets that it is to predict."""
    target = np.roll(queries.target, 1)
    schema = queries.schema
    if schema.target is not None and schema.target.task == "classification":
        target = ((queries.target + 1) % schema.n_conditions).astype(target.dtype)
    if not _same(told(replace(queries, target=target)), first):
        raise UserInputError(
            f"{who} reads the targets of the queries, which it is to predict. Read "
            "those of the contexts only."
        )


def check_own_judge(
    evaluator: Evaluator, real: Table, lineages: Lineages, role: Role
) -> None:
    """Hold a judge to its promises: some rows of a fold, answered from other folds."""
    context, queries = _two_sides(real, lineages)
    check_evaluator(evaluator, context, queries, role)


def check_redrawn(anchors: Table, regenerate: BoolArray, redrawn: Table) -> None:
    """Refuse rows that are not the anchors with the chosen cells redrawn."""
    if not isinstance(redrawn, Table):
        raise _bad_rows(f"returned a {type(redrawn).__name__}, no Table")
    if len(redrawn) != len(anchors):
        raise _bad_rows(f"returned {len(redrawn)} rows for {len(anchors)} anchors")
    if redrawn.schema != anchors.schema or redrawn.missing.shape != regenerate.shape:
        raise _bad_rows("returned other columns than the anchors have")
    for name in ("target", "origin", "unseen_fold"):
        if getattr(redrawn, name).tobytes() != getattr(anchors, name).tobytes():
            raise _bad_rows(f"changed the {name} of an anchor")
    for place in range(len(anchors.schema.features)):
        _check_column(anchors, regenerate, redrawn, place)


def _check_column(
    anchors: Table, regenerate: BoolArray, redrawn: Table, place: int
) -> None:
    column, chosen = anchors.schema.features[place], regenerate[:, place]
    after, before = redrawn.cells[place], anchors.cells[place]
    holes = redrawn.missing[:, place]
    if after.dtype != before.dtype:
        raise _bad_rows(
            f"returned column {column.name!r} as {after.dtype}, not {before.dtype}"
        )
    kept_holes = np.array_equal(holes[~chosen], anchors.missing[~chosen, place])
    if not kept_holes or after[~chosen].tobytes() != before[~chosen].tobytes():
        raise _bad_rows(f"changed kept cells of column {column.name!r}")
    if column.kind is Kind.IDENTIFIER and not (holes[chosen] > 0).all():
        raise _bad_rows(f"passed on the identifier {column.name!r} of an anchor")


def check_inpainter(own: UnfittedInpainter, real: Table, lineages: Lineages) -> None:
    """Hold an inpainter to its promises, fitted on some rows of two lineages."""
    members = lineages.members
    learned = [_spread(real, lineages.seen(m), _N_LEARNED) for m in members]
    rows, others = learned[0], learned[-1]
    anchors = _spread(rows, np.arange(len(rows)), _N_CANDIDATES)
    rng = np.random.default_rng(0)
    regenerate = rng.random(anchors.missing.shape) < 0.5
    for place, column in enumerate(real.schema.features):
        if column.kind in (Kind.IDENTIFIER, Kind.CONSTANT):
            regenerate[:, place] = column.kind is Kind.IDENTIFIER
    before = _contents(rows, anchors), regenerate.tobytes()
    inpainter = _tried("inpainter", lambda: fitted(own, rows, rng))

    def drawn(mask: BoolArray) -> Table:
        rng = np.random.default_rng(1)
        made = _tried("inpainter", lambda: inpainter.inpaint(anchors, mask, rng))
        check_redrawn(anchors, mask, made)
        return made

    first = drawn(regenerate)
    if (_contents(rows, anchors), regenerate.tobytes()) != before:
        raise UserInputError(f"The inpainter changes what it is given. {_COPY_FIRST}")
    drawn(np.zeros_like(regenerate))
    if _contents(drawn(regenerate)) != _contents(first):
        raise UserInputError(
            "The inpainter draws other rows from an equal generator. Take all chance "
            "from the rng it is given, and remember nothing between calls."
        )
    _tried("inpainter", lambda: fitted(own, others, rng))
    if _contents(drawn(regenerate)) != _contents(first):
        raise UserInputError(
            "The inpainter of one lineage changes when that of another is fitted, so "
            "it would see the rows it is judged by. Keep what fit learns on self, not "
            "on the class or in the module."
        )


def fitted(own: UnfittedInpainter, rows: Table, rng: np.random.Generator) -> Inpainter:
    """Return what a copy of the user's object learned of some rows."""
    inpainter = copy.deepcopy(own).fit(rows, rng)
    if not isinstance(inpainter, Inpainter):
        raise UserInputError(
            f"fit of the inpainter returned a {type(inpainter).__name__}. It must "
            "return an object with inpaint(anchors, regenerate, rng), such as self."
        )
    return inpainter


_COPY_FIRST = "Work on copies: rows.cells[0].copy(), or tabtap.table.write_frame(rows)."


def _tried(what: str, attempt: Callable[[], Answer]) -> Answer:
    try:
        return attempt()
    except TapError:
        raise
    except Exception as error:
        raise UserInputError(
            f"The {what} raised {type(error).__name__}: {error} when it was tried on a "
            "few of your rows. Mend it, or leave it out."
        ) from error


def _bad_rows(found: str) -> UserInputError:
    return UserInputError(
        f"The inpainter {found}. It must return the anchors with only the chosen cells "
        "redrawn: anchors.redrawn(regenerate, numeric, categorical) does so."
    )


def _two_sides(real: Table, lineages: Lineages) -> tuple[Table, Table]:
    """Return rows to learn from and rows of a fold that is not among them."""
    known, asked = np.flatnonzero(lineages.fold != 0), lineages.asked(0)
    return _spread(real, known, _N_LEARNED), _spread(real, asked, _N_CANDIDATES)


def _spread(table: Table, rows: IntArray, n_rows: int) -> Table:
    places = np.linspace(0, len(rows) - 1, min(n_rows, len(rows)))
    return table.take(rows[places.round().astype(np.int64)])


def _guess(real: Table, n_rows: int) -> Prediction:
    """Return what one who knows the targets only would say of any row."""
    target = real.schema.target
    if target is not None and target.task == "classification":
        shares = np.bincount(real.target, minlength=target.n_conditions) / len(real)
        return ClassPrediction(np.tile(shares, (n_rows, 1)))
    unit = TargetUnit.of(real)
    mean = np.full(n_rows, unit.center)
    return ValuePrediction(mean, np.full(n_rows, unit.spread**2), unit)


def _facts(answer: Prediction, queries: Table) -> FloatArray:
    return np.column_stack([answer.losses(queries), answer.uncertainty()])


def _same(one: FloatArray, other: FloatArray) -> bool:
    return bool(np.allclose(one, other, rtol=_TOLERANCE, atol=_TOLERANCE))


def _contents(*tables: Table) -> list[tuple[str, tuple[int, ...], bytes]]:
    return [
        (array.dtype.str, array.shape, array.tobytes())
        for rows in tables
        for array in (*rows.cells, rows.missing, rows.target, *_ancestry(rows))
    ]


def _ancestry(rows: Table) -> tuple[IntArray, IntArray]:
    return rows.origin, rows.unseen_fold
