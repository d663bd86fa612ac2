"""Which parts of a run are the user's own, and what tells them from others."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tabtap.api.describing import describe_part
from tabtap.errors import PartNotComparedWarning, bad_setting
from tabtap.gates import InRange, NewRow, Plausible, Rules, ValidTypes
from tabtap.stages import Evaluator, Gate, UnfittedInpainter

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
