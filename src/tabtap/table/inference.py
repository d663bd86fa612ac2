"""Which kind a column is, by rules that a person can check and override.

Each rule has its reason beside it.  The first that applies wins; ``kinds=`` in
``read_frame`` wins over all of them.
"""

from __future__ import annotations

import numpy as np

from tabtap.table.problems import MIN_ROWS, all_missing, call, infinite, refuse, shown
from tabtap.table.raw import RawColumn
from tabtap.table.schema import Kind
from tabtap.table.text_signs import (
    are_dates,
    are_numbers,
    are_sentences,
    names_an_identifier,
)

MAX_FEW_VALUES = 10
"""Integers with more distinct values than this are treated as a scale."""

MIN_ROWS_PER_VALUE = 3
"""Each value must be met this often, on average, to be learned as a level."""

_NEARLY_ALL = 0.95
_MOSTLY = 0.5
_FIRST_YEAR, _LAST_YEAR = 1900, 2100


def infer_kind(raw: RawColumn) -> Kind:
    """Return the kind of a column, or raise the reason why it has none.

    Parameters
    ----------
    raw : RawColumn
        The column as it was read.

    Returns
    -------
    Kind
        The kind that the first matching rule gives.
    """
    check_values(raw)
    if len(raw.distinct) == 1:
        # With holes the holes carry information; without, there is nothing to learn.
        return Kind.CATEGORY if raw.markers else Kind.CONSTANT
    if raw.family == "bool":
        return Kind.BOOLEAN
    if raw.family == "category":
        # Declared by the user, who knows better than any rule below.
        return Kind.CATEGORY
    if raw.family == "text":
        return _infer_text(raw)
    if raw.family == "other":
        return _infer_other(raw)
    return _infer_number(raw)


def check_values(raw: RawColumn) -> None:
    """Raise if a column has no value at all, or an infinite one."""
    if not raw.present.any():
        raise all_missing(raw.name)
    if raw.family == "float" and np.isinf(raw.values).any():
        row = int(np.isinf(raw.values).argmax())
        raise infinite(raw.name, float(raw.values[row]), row)


def is_few_valued(raw: RawColumn) -> bool:
    """Whether there are so few distinct values that each is better seen as a level."""
    n_distinct = len(raw.distinct)
    return n_distinct <= MAX_FEW_VALUES and _is_met_often(raw)


def are_few_texts(n_levels: int, n_rows: int) -> bool:
    """Whether strings are so few, in so many rows, that they are levels for sure."""
    return n_levels <= MAX_FEW_VALUES and n_levels <= _MOSTLY * n_rows


def _is_met_often(raw: RawColumn) -> bool:
    return len(raw.seen) >= MIN_ROWS_PER_VALUE * len(raw.distinct)


def _infer_number(raw: RawColumn) -> Kind:
    if raw.family == "time":
        # Two dates are two waves of a study; a date between them never happened.
        two = len(raw.distinct) == 2 and _is_met_often(raw)
        return Kind.CATEGORY if two else Kind.DATETIME
    if not raw.is_whole:
        # Two numbers are a flag, however they are written.
        two = len(raw.distinct) == 2 and _is_met_often(raw)
        return Kind.CATEGORY if two else Kind.CONTINUOUS
    if len(raw.distinct) == 2 or is_few_valued(raw):
        return Kind.CATEGORY
    if names_an_identifier(raw.name):
        # Numbers of things: new ones mean nothing, so known ones are repeated at most.
        return Kind.IDENTIFIER if _share_distinct(raw) > _NEARLY_ALL else Kind.CATEGORY
    return Kind.IDENTIFIER if _counts_rows(raw) else Kind.INTEGER


def _counts_rows(raw: RawColumn) -> bool:
    """Whether integers go up by one from row to row, wherever they start.

    All-distinct integers alone prove nothing: twenty incomes are distinct too.  Floats
    are exempt, because nobody numbers rows with them; so are years, for a table of one
    row a year has something to learn from them.
    """
    values = raw.values
    if raw.family != "int" or raw.markers or len(values) < MIN_ROWS:
        return False
    if values[0] >= _FIRST_YEAR and values[-1] <= _LAST_YEAR:
        return False
    ascends = bool((values[1:] > values[:-1]).all())
    return ascends and int(values[-1]) - int(values[0]) == len(values) - 1


def _infer_text(raw: RawColumn) -> Kind:
    levels = raw.levels
    if _share_distinct(raw) > _MOSTLY and are_sentences(levels):
        raise _free_text(raw)
    if are_few_texts(len(levels), len(raw.seen)):
        return Kind.CATEGORY
    if names_an_identifier(raw.name) and _share_distinct(raw) > _NEARLY_ALL:
        return Kind.IDENTIFIER
    if are_dates(levels):
        raise _written_out(raw, "dates", f"pd.to_datetime({call(raw.name)})")
    if are_numbers(levels):
        raise _written_out(raw, "numbers", f"pd.to_numeric({call(raw.name)})")
    if len(levels) == len(raw.seen) and len(raw.seen) >= MIN_ROWS:
        # A string that never comes back cannot be learned, and may name a person.
        return Kind.IDENTIFIER
    return Kind.CATEGORY


def _infer_other(raw: RawColumn) -> Kind:
    few = len(raw.levels) <= MAX_FEW_VALUES or _is_met_often(raw)
    if few:
        return Kind.CATEGORY
    example = raw.levels[0]
    raise refuse(
        raw.name,
        f"holds {len(raw.levels)} different Python objects such as {shown(example)}",
        "Convert it with pd.to_datetime or astype(float), or name it an identifier: "
        f"kinds={{{raw.name!r}: 'identifier'}}",
    )


def _share_distinct(raw: RawColumn) -> float:
    return len(raw.distinct) / len(raw.seen)


def _free_text(raw: RawColumn) -> Exception:
    row = int(np.flatnonzero(raw.present)[0])
    return refuse(
        raw.name,
        f"looks like free text, such as {shown(raw.levels[raw.values[row]])} "
        f"(row {row})",
        "It cannot be generated. Drop it, or keep it for real rows only: "
        f"kinds={{{raw.name!r}: 'identifier'}}",
    )


def _written_out(raw: RawColumn, what: str, fix: str) -> Exception:
    row = int(np.flatnonzero(raw.present)[0])
    return refuse(
        raw.name,
        f"holds {what} written as text, such as "
        f"{shown(raw.levels[raw.values[row]])} (row {row})",
        f"Convert it: {fix}, or name it: kinds={{{raw.name!r}: 'category'}}",
    )
