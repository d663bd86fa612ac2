"""The schema as a text table, to be read by a person before anything runs."""

from __future__ import annotations

from collections.abc import Container, Hashable
from typing import Any, NamedTuple

import numpy as np

from tabtap.table.cells import decode, times_from_counts
from tabtap.table.schema import PER_DAY, Column, Kind, Schema, Target, family, time_unit
from tabtap.table.table import Table

WIDTH = 80
_WIDTHS = (17, 11, 25, 7, 16)
_TITLES = ("column", "kind", "seen", "missing", "in new rows")
_SHOWN_LEVELS = 6


class ColumnLine(NamedTuple):
    """What is said of one column."""

    name: Hashable
    kind: str
    seen: str
    missing: str
    """Share of the cells, as people write it."""

    plan: str
    """What new rows get."""


def describe(thing: Table | Schema, unclear: Container[str] = ()) -> str:
    """Return what each column was taken for and what will be done with it.

    Parameters
    ----------
    thing : Table or Schema
        A table also shows ranges and the share of missing cells.
    unclear : container of str
        Names of columns to be marked, for they cannot be used as they are.

    Returns
    -------
    str
        Lines of at most 80 characters.

    Examples
    --------
    >>> import pandas as pd
    >>> from tabtap.table.frame import read_frame
    >>> frame = pd.DataFrame({"dose": [0.5, 1.25, 3.0] * 4, "sick": ["no", "yes"] * 6})
    >>> print(describe(read_frame(frame, "sick")))
    12 rows, 1 feature. Target sick: classification, 2 classes.
    <BLANKLINE>
    column            kind        seen                      missing in new rows
    dose              continuous  0.5 to 3.0                     0% its 3 values
    sick              target      no, yes                        0% asked for
    """
    schema = thing.schema if isinstance(thing, Table) else thing
    table = thing if isinstance(thing, Table) else None
    rows = [(str(line[0]), *line[1:]) for line in column_lines(thing, unclear)]
    lines = [_summary(schema, table), "", _line(_TITLES), *map(_line, rows)]
    return "\n".join(lines)


def column_lines(
    thing: Table | Schema, unclear: Container[str] = ()
) -> list[ColumnLine]:
    """Return what is said of each column, the target in its place among them."""
    schema = thing.schema if isinstance(thing, Table) else thing
    table = thing if isinstance(thing, Table) else None
    rows = [
        ColumnLine(
            column.name,
            column.kind.value,
            _seen(column, None if table is None else _range(table, i)),
            "-" if table is None else _share(table, i),
            _plan(column),
        )
        for i, column in enumerate(schema.features)
    ]
    if schema.target is not None:
        rows.insert(schema.target.position, _target_row(schema.target, table))
    return [
        row._replace(kind="UNCLEAR", plan="see below")
        if str(row.name) in unclear else row
        for row in rows
    ]  # fmt: skip


def _summary(schema: Schema, table: Table | None) -> str:
    n_features = len(schema.features)
    counted = f"{n_features} feature{'s' if n_features != 1 else ''}"
    start = counted if table is None else f"{len(table)} rows, {counted}"
    target = schema.target
    if target is None:
        return f"{start}. No target."
    noun = "classes" if target.task == "classification" else "bins"
    name = _fit(str(target.column.name), 25)
    return f"{start}. Target {name}: {target.task}, {target.n_conditions} {noun}."


def _line(texts: tuple[str, ...]) -> str:
    cells = [_fit(text, width) for text, width in zip(texts, _WIDTHS, strict=True)]
    padded = [
        cell.rjust(width) if title == "missing" else cell.ljust(width)
        for cell, width, title in zip(cells, _WIDTHS, _TITLES, strict=True)
    ]
    return " ".join(padded).rstrip()


def _fit(text: str, width: int) -> str:
    # A line break inside a name or a level would break the table apart.
    text = " ".join(text.split())
    return text if len(text) <= width else text[: width - 3] + "..."


def _share(table: Table, position: int) -> str:
    if not len(table):
        return "-"
    share = float((table.missing[:, position] > 0).mean())
    return "<1%" if 0 < share < 0.005 else f"{share:.0%}"


def _range(table: Table, position: int) -> tuple[Any, Any] | None:
    present = table.cells[position][table.missing[:, position] == 0]
    return (present.min(), present.max()) if len(present) else None


def _seen(column: Column, limits: tuple[Any, Any] | None) -> str:
    if column.kind is Kind.IDENTIFIER:
        # Identifiers may name people: their number is shown, never their values.
        return f"{len(column.levels)} values"
    if not column.kind.is_numeric:
        return _levels(column)
    if limits is None:
        return "-"
    if family(column.dtype) == "time":
        counts, _ = decode(column, np.array(limits), np.zeros(2, dtype=np.int8))
        shown = times_from_counts(counts, column.dtype)
        return " to ".join(_time(moment) for moment in shown)
    return " to ".join(_number(limit) for limit in limits)


def _number(limit: Any) -> str:  # noqa: ANN401 - a numpy scalar
    value = limit.item()
    text = repr(value)
    return text if len(text) <= 10 or isinstance(value, int) else f"{value:.4g}"


def _time(moment: Any) -> str:  # noqa: ANN401 - a Timestamp, Timedelta or date
    return str(moment).partition(" ")[0] if hasattr(moment, "year") else str(moment)


def _levels(column: Column) -> str:
    listed = ", ".join(str(level) for level in column.levels[:_SHOWN_LEVELS])
    fits = len(column.levels) <= _SHOWN_LEVELS and len(listed) <= _WIDTHS[2]
    if fits:
        return listed
    count = f"{len(column.levels)}: "
    return count + _fit(listed, _WIDTHS[2] - len(count) - 3).removesuffix("...") + "..."


def _plan(column: Column) -> str:
    if column.support:
        return f"its {len(column.support)} values"
    if column.kind is Kind.CONTINUOUS:
        return "any decimals" if column.decimals is None else _decimals(column.decimals)
    if column.kind is Kind.DATETIME:
        return f"steps of {_duration(column)}"
    if column.kind is Kind.INTEGER:
        return f"steps of {column.step}"
    if column.kind is Kind.CONSTANT:
        return "the same"
    if column.kind is Kind.IDENTIFIER:
        return "left empty"
    return "ordered levels" if column.ordered else "levels"


def _decimals(places: int) -> str:
    return f"{places} decimal{'s' if places != 1 else ''}"


def _duration(column: Column) -> str:
    unit = time_unit(column.dtype)
    day = PER_DAY[unit]
    for name, parts in (("d", 1), ("h", 24), ("min", 1_440), ("s", 86_400)):
        if day % parts == 0 and column.step % (day // parts) == 0:
            return f"{column.step // (day // parts)} {name}"
    return f"{column.step} {unit}"


def _target_row(target: Target, table: Table | None) -> ColumnLine:
    column = target.column
    limits = None
    if table is not None and len(table):
        limits = table.target.min(), table.target.max()
    missing = "-" if table is None else "0%"
    seen = _seen(column, limits)
    return ColumnLine(column.name, "target", seen, missing, "asked for")
