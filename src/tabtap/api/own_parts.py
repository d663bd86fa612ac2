"""Whether a gate, an evaluator or an inpainter of the user's own keeps its promises.

The promises are those of ``tests/contracts``, held to on a few rows of the user's own
table before anything is trained.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import CodeType, FunctionType
from typing import Any, TypeVar

import joblib
import numpy as np
from numpy.typing import NDArray

from tabtap.domain import (
    ClassPrediction,
    GateContext,
    Lineages,
    Prediction,
    TargetUnit,
    ValuePrediction,
)
from tabtap.errors import PartNotComparedWarning, TapError, UserInputError, bad_setting
from tabtap.evaluate.judging import Role, ask
from tabtap.gates import InRange, NewRow, Plausible, Rules, ValidTypes
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
    known, asked = lineages.seen(0), lineages.asked(0)
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


# ---- Which parts of a run are the user's own, and what tells them from others.


STANDARD_GATES = tuple(
    str(gate.name) for gate in (ValidTypes, InRange, Rules, Plausible, NewRow)
)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class OwnParts:
    """What the user brought along."""

    gates: tuple[Gate, ...] = ()
    inpainter: UnfittedInpainter | None = None

    described: Mapping[str, str] = field(default_factory=dict)
    """What each part is, by the setting it was passed as; "" where nobody compares it.

    Taken before the first call: a part that changes while it works stays the same."""


def own_parts(
    gates: Any,  # noqa: ANN401
    inpainter: Any,  # noqa: ANN401
    judges: Mapping[str, Any],
    *,
    is_kept: bool,
) -> OwnParts:
    """Return the user's parts; judges are by role, and own ones are objects.

    Warns
    -----
    PartNotComparedWarning
        If the run is kept and the settings of a part cannot be told.
    """
    chosen = _choose_gates(gates)
    parts: dict[str, object] = {f"gate {gate.name!r}": gate for gate in chosen}
    if inpainter is not None:
        _check_object("inpainter", inpainter, UnfittedInpainter, "fit(rows, rng)")
        parts["inpainter"] = inpainter
    described = {}
    for role, judge in judges.items():
        if not isinstance(judge, str) and not hasattr(judge, "fit"):
            methods = "a name and predict(contexts, queries)"
            _check_object(role, judge, Evaluator, methods)
            described[role] = ""  # a kept run compares judges by themselves
    for place, part in parts.items():
        described[place], reason = describe_part(part) if is_kept else ("", None)
        if reason is not None:
            warnings.warn(
                f"The settings of the {place} cannot be compared with those of a kept "
                f"run ({reason}): a run that goes on from checkpoint= takes them for "
                "the same. Pass an object that can be pickled.",
                PartNotComparedWarning,
                stacklevel=2,
            )
    return OwnParts(gates=chosen, inpainter=inpainter, described=described)


def _choose_gates(gates: Any) -> tuple[Gate, ...]:  # noqa: ANN401
    if gates is None:
        return ()
    if not isinstance(gates, (list, tuple)):
        raise bad_setting("gates", gates, "be a list of gates", "Pass gates=[...].")
    taken = list(STANDARD_GATES)
    for gate in gates:
        methods = "a name and passes(candidates, context)"
        _check_object("gates", gate, Gate, methods)
        if not isinstance(gate.name, str) or not gate.name or gate.name in taken:
            must = f"be called by a text of its own, none of {', '.join(taken)}"
            raise bad_setting("name", gate.name, must, "Refusals are counted under it.")
        taken.append(gate.name)
    return tuple(gates)


def _check_object(setting: str, part: Any, protocol: Any, methods: str) -> None:  # noqa: ANN401
    if isinstance(part, type):
        fix = f"Pass an object: {part.__name__}()."
        raise bad_setting(setting, part, f"be an object with {methods}", fix)
    if not isinstance(part, protocol):
        fix = 'See the page "A gate, an evaluator or a generator of your own".'
        raise bad_setting(setting, part, f"be an object with {methods}", fix)


# ---- A generator of the user's own in the place of the backbones.


@dataclass(frozen=True, slots=True, eq=False)
class OwnStack:
    """One fitted inpainter for each lineage; see ``proposal.batches.InpainterStack``.

    A lineage's rows are drawn in one call, from a generator that follows from the seeds
    of all of them.
    """

    inpainters: tuple[Inpainter, ...]

    unseen_folds: tuple[int, ...]
    """Fold that each has never seen; -1 if it saw all rows."""

    def inpaint_seeded(
        self,
        anchors: Sequence[Table],
        regenerate: Sequence[BoolArray],
        seeds: Sequence[NDArray[np.uint64]],
        *,
        redraw_target: bool = False,
    ) -> list[Table]:
        """Redraw chosen cells; a regression target stays the anchor's."""
        del redraw_target  # an Inpainter hands targets back as given
        requests = zip(self.inpainters, anchors, regenerate, seeds, strict=True)
        return [_drawn(*request) for request in requests]


def fit_own(
    own: UnfittedInpainter, real: Table, lineages: Lineages, rng: np.random.Generator
) -> OwnStack:
    """Let a copy of the user's object learn the rows of each lineage, and no others."""
    members = lineages.members
    seeds = rng.integers(2**63, size=len(members))
    inpainters = [
        fitted(own, real.take(lineages.seen(member)), np.random.default_rng(seed))
        for member, seed in zip(members, seeds, strict=True)
    ]
    return OwnStack(tuple(inpainters), members)


def _drawn(
    inpainter: Inpainter,
    anchors: Table,
    regenerate: BoolArray,
    seeds: NDArray[np.uint64],
) -> Table:
    if not len(anchors):
        return anchors
    rng = np.random.default_rng([int(seed) for seed in seeds])
    redrawn = inpainter.inpaint(anchors, regenerate, rng)
    check_redrawn(anchors, regenerate, redrawn)
    return redrawn


# ---- What a user's function or object does, in a text that tells one from another.
#
# A run that is taken up again must be the same run; code that was passed in is compared
# as far as it can be told without running it.


def describe_function(function: object) -> str:
    """Return what a function does, as far as it can be told without running it."""
    code = getattr(function, "__code__", function)
    if not isinstance(code, CodeType):
        return repr(function)
    cells = getattr(function, "__closure__", None) or ()
    parts = [*code.co_consts, *(cell.cell_contents for cell in cells)]
    return repr(
        (code.co_code, code.co_names, [describe_function(part) for part in parts])
    )


def describe_part(part: object) -> tuple[str, str | None]:
    """Return an object's class, methods and settings as text, and what is not in it.

    Returns
    -------
    tuple of str and (str or None)
        The description, the same in every process; and why the settings are not part
        of it, if they could not be read.
    """
    kind = type(part)
    methods = [
        (name, describe_function(function))
        for name, function in sorted(vars(kind).items())
        if isinstance(function, FunctionType)
    ]
    settings, reason = "", None
    try:
        settings = str(joblib.hash(part))
    except Exception as error:  # noqa: BLE001  whatever an object raises when copied
        reason = f"{type(error).__name__}: {error}"
    return repr((kind.__module__, kind.__qualname__, methods, settings)), reason
