"""The methods that are compared, each behind one interface, by name."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import asdict, fields, is_dataclass
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol, cast, runtime_checkable

import numpy as np

from tabtap.errors import UserInputError, bad_setting
from tabtap.stopwatch import Stopwatch
from tabtap.table.schema import IntArray
from tabtap.table.table import Table

__all__ = ["Method", "MindsGroups", "describe_method"]


# ---- What a method of augmentation is: rows and a number in, synthetic rows out.
#
# A method is a frozen dataclass; its fields are its settings, and they are what a
# record of a comparison says about it. There is no base class.


class Method(Protocol):
    """Makes rows from the rows of a training table."""

    @property
    def name(self) -> str:
        """The name it goes by in tables, such as ``"CTGAN"``."""

    def make(
        self, train: Table, n: int, rng: np.random.Generator, watch: Stopwatch
    ) -> Table:
        """Return at most ``n`` rows of the schema of ``train``, which has at least one.

        A method that decides for itself may return fewer.  ``rng`` is the only source
        of chance: equal states give equal rows.  The watch is told of the stages,
        ``"fit"`` and ``"sample"``, while they run.  A method that cannot work with such
        a table raises ``UserInputError``.
        """


@runtime_checkable
class MindsGroups(Protocol):
    """A method that can be told which rows belong together."""

    def make_for_groups(
        self,
        train: Table,
        n: int,
        rng: np.random.Generator,
        watch: Stopwatch,
        groups: IntArray,
    ) -> Table:
        """Return rows as ``make`` does; ``groups`` has one code for each row."""


def describe_method(method: Method) -> dict[str, Any]:
    """Return a method's name and settings, as a record keeps them."""
    settings: dict[str, Any] = {}
    if is_dataclass(method) and not isinstance(method, type):
        settings = asdict(method)
    return {"name": method.name, **settings}


# ---- Every method by its name, in the order of the paper's tables; taught ones last.
#
# A method is imported only when it is named, so that one whose packages are not
# installed stands in nobody's way.


class _Place(NamedTuple):
    """Where a method is, and what of its settings its name already says."""

    module: str
    factory: str
    settings: Mapping[str, Any] = MappingProxyType({})


def _rung(name: str) -> _Place:
    return _Place("ladder", "LadderRung", MappingProxyType({"rung": name}))


def _taught(name: str) -> _Place:
    return _Place("taught", "Taught", MappingProxyType({"method": name}))


_PLACES: Mapping[str, _Place] = MappingProxyType(
    {
        "Real": _Place("simple", "Real"),
        "Copies": _Place("simple", "Copies"),
        "Jitter": _Place("simple", "Jitter"),
        "SMOTE": _Place("simple", "SMOTE"),
        "TVAE": _Place("tvae", "Tvae"),
        "CTGAN": _Place("ctgan", "Ctgan"),
        "ARF": _Place("arf", "ARF"),
        "SPADA": _Place("spada", "SPADA"),
        "TabDDPM": _Place("tabddpm", "TabDdpm"),
        "TabDiff": _Place("ladder", "TabDiff"),
        "One shot": _rung("one shot"),
        "Random inpainting": _rung("random inpainting"),
        "Hard inpainting": _rung("hard inpainting"),
        "TAP": _Place("ladder", "TAP"),
        "Copies + teacher": _taught("Copies"),
        "Jitter + teacher": _taught("Jitter"),
        "SMOTE + teacher": _taught("SMOTE"),
        "One shot + teacher": _taught("One shot"),
        "TAP + teacher": _Place("ladder", "TaughtTAP"),
    }
)

METHOD_NAMES: tuple[str, ...] = tuple(_PLACES)
"""Names of all methods, in the order of the paper's tables."""


def method_named(name: str, **settings: Any) -> Method:  # noqa: ANN401
    """Return one of ``METHOD_NAMES``, capitals or not, with its settings or others.

    Examples
    --------
    >>> method_named("smote").name
    'SMOTE'
    >>> method_named("Jitter", scale=0.1)
    Jitter(scale=0.1)
    """
    known = {other.casefold(): other for other in METHOD_NAMES}
    match = known.get(str(name).casefold())
    if match is None:
        close = get_close_matches(str(name).casefold(), known, n=1)
        hint = f"Did you mean {known[close[0]]!r}?" if close else "Check its spelling."
        must = f"be one of {', '.join(METHOD_NAMES)}"
        raise bad_setting("method", name, must, hint)
    place = _PLACES[match]
    module = importlib.import_module(f"tabtap.rivals.{place.module}")
    factory = getattr(module, place.factory)
    accepted = [f.name for f in fields(factory) if f.name not in place.settings]
    if unknown := [setting for setting in settings if setting not in accepted]:
        listed = ", ".join(accepted) if accepted else "none"
        raise UserInputError(
            f"{match} has no setting {unknown[0]!r}; it has {listed}. Leave it out."
        )
    return cast("Method", factory(**place.settings, **settings))
