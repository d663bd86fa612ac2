"""The user's word on the kind of a column, checked against what the column holds."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping

from tabtap.errors import Problem, bad_setting
from tabtap.table.inference import check_values, infer_kind
from tabtap.table.problems import call, refuse
from tabtap.table.raw import RawColumn
from tabtap.table.schema import Kind
from tabtap.table.text_signs import read_writing

_ORDERED = "ordered category"
_NAMES = [*(kind.value for kind in Kind), _ORDERED]

_CLAIMS: dict[Kind, tuple[Callable[[RawColumn], bool], str, str]] = {
    Kind.CONTINUOUS: (
        lambda raw: raw.family == "float",
        "its values are not floats",
        "Use 'integer', or convert it: {call}.astype(float)",
    ),
    Kind.INTEGER: (
        lambda raw: raw.is_whole,
        "not every value is a whole number",
        "Use 'continuous', or round it: {call}.round()",
    ),
    Kind.DATETIME: (
        lambda raw: raw.family == "time",
        "its values are not times",
        "Convert it: pd.to_datetime({call})",
    ),
    Kind.BOOLEAN: (
        lambda raw: len(raw.distinct) <= 2,
        "it has more than two values",
        "Use 'category'",
    ),
    Kind.CONSTANT: (
        lambda raw: len(raw.distinct) == 1 and not raw.markers,
        "it has more than one value, or holes",
        "Drop it, or leave its kind to be inferred",
    ),
}


def check_names(
    kinds: Mapping[Hashable, Kind | str], names: list[Hashable], target: Hashable
) -> list[Problem]:
    """Return a problem for each override of a column that is not a feature."""
    if not isinstance(kinds, Mapping):
        raise bad_setting(
            "kinds", kinds, "be a dict", "Try kinds={'column': 'category'}."
        )
    problems = []
    for name, kind in kinds.items():
        if name == target and name not in names:
            fix = "It cannot be ignored, and its kind follows from the task"
            problems.append(Problem(str(name), "is the target, named in kinds=", fix))
        elif name not in names:
            known = ", ".join(map(str, names[:8]))
            fix = f"Columns are: {known}{', ...' if len(names) > 8 else ''}"
            problems.append(
                Problem(str(name), "is named in kinds= but not in the table", fix)
            )
        elif not isinstance(kind, Kind) and kind not in _NAMES:
            fix = f"Use one of: {', '.join(_NAMES)}"
            problems.append(Problem(str(name), f"kind {kind!r} is unknown", fix))
    return problems


def choose_kind(raw: RawColumn, wanted: Kind | str | None) -> tuple[Kind, bool]:
    """Return the kind of a column and whether its levels have an order."""
    if not isinstance(wanted, Kind) and wanted not in _NAMES:
        # None was asked for, or something unknown that check_names has reported.
        kind = infer_kind(raw)
        return kind, raw.ordered or _is_scale(raw, kind)
    check_values(raw)
    kind = Kind.CATEGORY if wanted == _ORDERED else Kind(wanted)
    if kind in _CLAIMS:
        holds, reason, fix = _CLAIMS[kind]
        if not holds(raw):
            raise refuse(
                raw.name,
                f"cannot be {kind.value}: {reason}",
                _from_text(raw) or fix.format(call=call(raw.name)),
            )
    return kind, wanted == _ORDERED or raw.ordered or _is_scale(raw, kind)


def _from_text(raw: RawColumn) -> str | None:
    """Return how to read a column of texts such as 12.5% or 31.01.2020."""
    writing = read_writing(raw.levels) if raw.family == "text" else None
    if writing is None:
        return None
    code = writing.code.format(call(raw.name))
    return f"It holds {writing.what} as text. Convert it: {call(raw.name)} = {code}"


def _is_scale(raw: RawColumn, kind: Kind) -> bool:
    """Whether levels are numbers: three or more of them have an order by nature."""
    numbers = raw.family in ("int", "float", "time")
    return kind is Kind.CATEGORY and numbers and len(raw.distinct) > 2
