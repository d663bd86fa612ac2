"""What is to be said of single columns: identifiers, constants, holes, groups."""

from __future__ import annotations

import re
from collections.abc import Container, Hashable, Mapping

import numpy as np

from tabtap.inspection.remarks import Remark, rows, share
from tabtap.table.kinds import names_an_identifier
from tabtap.table.schema import Column, IntArray, Kind
from tabtap.table.suspects import LostColumn, lost_columns
from tabtap.table.table import Table

MANY_HOLES = 0.5
"""Share of missing cells from which a column is remarked on."""

_NAME_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_WHO = frozenset(
    re.findall(
        r"\w+",
        "animal batch case child client clinic customer device donor family farm group "
        "hospital household machine mouse participant patient person plate plot pupil "
        "school session site store student subject user visitor ward",
    )
)
"""Words for what several rows may belong to."""

_LEAST_GROUPS, _MOST_GROUPS = 5, 0.7
"""Fewest values, and their most in a share of the rows, that look like groups."""

_MANY_LEVELS, _SAME_TARGET = 10, 0.95


def column_remarks(table: Table, declared: Container[Hashable] = ()) -> list[Remark]:
    """Return the remarks on each feature, in the order of the table."""
    remarks = []
    lost = {found.name: found for found in lost_columns(table, declared)}
    for place, column in enumerate(table.schema.features):
        n_missing = int((table.missing[:, place] > 0).sum())
        remarks += _kind(column, lost)
        if n_missing >= MANY_HOLES * len(table):
            text = f"is missing in {share(n_missing, len(table))} of the rows"
            remarks.append(Remark(topic="missing", column=column.name, text=text))
        if _is_group(table, place):
            remarks.append(_group(table, place))
    return remarks


def _kind(column: Column, lost: Mapping[Hashable, LostColumn]) -> list[Remark]:
    if column.name in lost:
        found = lost[column.name]
        text = f"{found.found}; convert it: {found.code}"
        return [Remark(topic="lost", column=column.name, text=text, setting="ignore")]
    if column.kind is Kind.CONSTANT:
        text = "has one value only, and says nothing"
        return [Remark(topic="constant", column=column.name, text=text)]
    if column.kind is Kind.IDENTIFIER:
        text = "names rows rather than describing them: not learned, empty in new rows"
        return [Remark(topic="identifier", column=column.name, text=text)]
    return []


def _group(table: Table, place: int) -> Remark:
    column = table.schema.features[place]
    counts = _counts(table, place)
    text = (
        f"has {len(counts)} values that come back, "
        f"about {rows(int(np.median(counts)))} each: if rows of one value are of one "
        "person, animal or machine, they must stay on one side of every check"
    )
    return Remark(topic="groups", column=column.name, text=text, setting="groups")


def _is_group(table: Table, place: int) -> bool:
    column = table.schema.features[place]
    if column.kind not in (Kind.INTEGER, Kind.CATEGORY, Kind.IDENTIFIER):
        return False
    counts = _counts(table, place)
    if not _LEAST_GROUPS <= len(counts) <= _MOST_GROUPS * len(table):
        return False
    if np.median(counts) < 2:
        return False
    if _names_someone(column.name):
        return True
    is_text = column.kind is Kind.CATEGORY and isinstance(column.levels[0], str)
    many = is_text and len(counts) >= max(_MANY_LEVELS, len(table) / 20)
    return many and _shares_target(table, place)


def _names_someone(name: object) -> bool:
    if not isinstance(name, str):
        return False
    words = [part.lower() for part in _NAME_PARTS.findall(name)]
    # The last word is what it is: a patient's age is an age.
    return names_an_identifier(name) or bool(words and words[-1] in _WHO)


def _counts(table: Table, place: int) -> IntArray:
    cells = table.cells[place][table.missing[:, place] == 0]
    return np.unique(cells, return_counts=True)[1]


def _shares_target(table: Table, place: int) -> bool:
    """Whether rows of one value nearly always have one target."""
    present = table.missing[:, place] == 0
    _, code = np.unique(table.cells[place][present], return_inverse=True)
    condition = table.condition[present]
    lows, highs = (np.zeros(code.max() + 1, dtype=np.int64) for _ in range(2))
    lows[:] = condition.max()
    np.minimum.at(lows, code, condition)
    np.maximum.at(highs, code, condition)
    several = np.bincount(code) > 1
    return bool((lows == highs)[several].mean() >= _SAME_TARGET)
