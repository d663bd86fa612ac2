"""Columns of text cells, read as what they are with the rest of the file as witness."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from reprlib import repr as short
from shlex import quote
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from tabtap.errors import UserInputError
from tabtap.files.cells import (
    MISSING,
    UNUSUAL,
    are_grouped,
    are_padded,
    is_number,
    may_be_grouped,
    read_dated,
    read_numbers,
    read_times,
    spread_times,
    with_holes,
)
from tabtap.files.formats import ColumnStyle, Question, Spelling
from tabtap.files.spelling import (
    Numbers,
    Written,
    date_formats,
    match_written,
    one_spelling,
    read_counted,
    read_pairs,
    read_written,
)

READINGS = ("as written", "two numbers")
"""What a column can be said to be before it is read."""

_TRUTHS = {"true", "false"}


class CellOptions(NamedTuple):
    """What the owner of a file says of the cells of one column."""

    decimals: tuple[str, ...] = (".",)
    """Decimal signs to try, in this order."""

    decimal: str | None = None
    """The decimal sign, where it was named."""

    date_format: str | None = None

    usual_format: str | None = None
    """The format of those of the file's dates that can be read with it."""

    missing: frozenset[str] = frozenset()
    """What else stands for a missing value."""

    reading: str = ""
    """``as written``: text and nothing else; ``two numbers``; empty for as it looks."""


class TextColumn(NamedTuple):
    """A column read from text."""

    series: pd.Series
    style: ColumnStyle
    cells: Sequence[str]
    notes: tuple[str, ...] = ()

    second: pd.Series | None = None
    """The second numbers of a pair."""

    question: Question | None = None
    told: CellOptions = CellOptions()


_NOTHING = CellOptions()


def read_column(
    name: str, cells: Sequence[str], told: CellOptions = _NOTHING
) -> TextColumn:
    """Return a column of text cells in the narrowest type that holds them all."""
    if told.reading == "as written":
        column = as_text(name, cells, told)
    elif told.date_format is not None:
        column = _read_told_dates(name, cells, told)
    elif told.reading == "two numbers":
        column = _read_pairs(name, cells, told) or as_text(name, cells, told)
    else:
        column = (
            _read_typed(name, cells, told)
            or _read_truths(name, cells, told)
            or _read_pairs(name, cells, told)
            or _read_counted(name, cells, told)
            or _in_one_spelling(as_text(name, cells, told))
        )
    return column._replace(told=told)


def as_text(
    name: str, cells: Sequence[str], told: CellOptions = _NOTHING
) -> TextColumn:
    """Return a column of cells as text, holes apart."""
    holes = MISSING | told.missing
    present = np.array([cell not in holes for cell in cells], dtype=bool)
    if not present.any():
        empty = ColumnStyle(name=name, kind="empty", missing=_usual(cells, present))
        return TextColumn(pd.Series(np.full(len(cells), np.nan)), empty, cells)
    # NaN, as pandas has it: before pandas 3 a column of text may hold any object.
    holed = [
        cell if there else np.nan for cell, there in zip(cells, present, strict=True)
    ]
    style = ColumnStyle(name=name, missing=_usual(cells, present))
    seen = [cell.strip() for cell in cells if cell not in holes]
    return TextColumn(pd.Series(holed), style, cells, _text_notes(name, seen))


def _in_one_spelling(column: TextColumn) -> TextColumn:
    """Return a column of text without stray spaces and capitals."""
    if column.style.kind != "text":
        return column
    seen = [cell for cell in column.series if isinstance(cell, str)]
    renamed = one_spelling(seen)
    if not renamed:
        return column
    usual = renamed[next(iter(renamed))]
    others = ", ".join(short(cell) for cell in renamed if renamed[cell] == usual)
    note = (
        f"column {column.style.name!r}: {others} taken for {short(usual)}"
        f"{', and more such words' * (len(set(renamed.values())) > 1)}"
    )
    return column._replace(
        series=column.series.replace(renamed), notes=(*column.notes, note)
    )


def _seen(cells: Sequence[str], told: CellOptions) -> tuple[list[str], Any]:
    """Return the cells that are not missing among numbers or times, and where."""
    bare = [cell.strip() for cell in cells]
    holes = MISSING | UNUSUAL | told.missing
    present = np.array([cell not in holes for cell in bare], dtype=bool)
    return [cell for cell, there in zip(bare, present, strict=True) if there], present


def _read_typed(
    name: str, cells: Sequence[str], told: CellOptions
) -> TextColumn | None:
    """Return numbers or times, among which more spellings mean a missing value."""
    seen, present = _seen(cells, told)
    if not seen:
        return None
    missing = _usual(cells, present)
    decimals = told.decimals if told.decimal is None else (told.decimal,)
    numbers = read_numbers(name, seen, decimals)
    if numbers is not None:
        style = replace(numbers.style, missing=missing)
        series = with_holes(numbers.values, present)
    else:
        times = read_times(seen)
        if times is None:
            return None
        style = ColumnStyle(name=name, kind="time", missing=missing, time=times[1])
        series = spread_times(times[0], present)
    return TextColumn(series, style, cells)


def _read_truths(
    name: str, cells: Sequence[str], told: CellOptions
) -> TextColumn | None:
    holes = MISSING | told.missing
    present = np.array([cell not in holes for cell in cells], dtype=bool)
    seen = [cell for cell, there in zip(cells, present, strict=True) if there]
    spellings = set(seen)
    if not seen or len(spellings) > 2 or {s.lower() for s in spellings} - _TRUTHS:
        return None
    truths = {spelling.lower(): spelling for spelling in spellings}
    if len(truths) < len(spellings):
        return None  # True and TRUE are two levels to whoever wrote them
    only = next(iter(spellings))
    like = str.upper if only.isupper() else str.lower if only.islower() else str.title
    style = ColumnStyle(
        name=name,
        kind="boolean",
        missing=_usual(cells, present),
        truths=(truths.get("false", like("false")), truths.get("true", like("true"))),
    )
    values = np.array([cell.lower() == "true" for cell in seen])
    return TextColumn(with_holes(values, present), style, cells)


def _usual(cells: Sequence[str], present: Any) -> str:  # noqa: ANN401
    """Return how a column writes most of its missing values; empty if it has none."""
    counts = Counter(
        cell for cell, there in zip(cells, present, strict=True) if not there
    )
    return counts.most_common(1)[0][0] if counts else ""


def _text_notes(name: str, seen: Sequence[str]) -> tuple[str, ...]:
    if are_padded(seen):
        why = "has leading zeros"
    elif are_grouped(seen):
        why = "seems to have thousands separators or decimal commas"
    elif all(is_number(cell, (".",)) for cell in seen):
        why = "has whole numbers beyond 64 bits"
    else:
        return ()
    return (f"column {name!r} {why}; read as text",)


# ---- Columns that are settled by the rest of the file: 1.156 beside 0,5 is over 1000.
#
# What the rest does not settle is asked for, unless there are so few values that each
# is a word by itself.


_FEW = 10


def settle_columns(columns: Sequence[TextColumn], separator: str) -> list[TextColumn]:
    """Return columns with written numbers and dates read, or a question for each.

    ``separator`` of the file: who parts cells with semicolons may mean 1156 by 1.156.
    """
    written = [_written(column) for column in columns]
    pairs = zip(columns, written, strict=True)
    signs = {sign for column, each in pairs for sign in _sure_signs(column, each)}
    dates = [_formats(column) for column in columns]
    orders = {form[:3] for found in dates if len(found) == 1 for form in found}
    settled = []
    for column, numbers, formats in zip(columns, written, dates, strict=True):
        if numbers is not None:
            settled.append(_settle_numbers(column, numbers, signs, separator))
        elif formats:
            settled.append(_settle_dates(column, formats, orders))
        else:
            settled.append(column)
    return settled


def _written(column: TextColumn) -> Written | None:
    """Return how the numbers of a column can be read, if that is not plain."""
    style, told = column.style, column.told
    if style.kind == "float" and told.decimal is None:
        seen, _ = _seen(column.cells, told)
        return read_written(seen) if may_be_grouped(seen, style.decimal) else None
    if style.kind != "text" or told.reading == "as written" or told.date_format:
        return None
    if not _first(column, match_written):
        return None
    written = read_written(_seen(column.cells, told)[0])
    if written is None or told.decimal is None:
        return written
    readings = tuple(r for r in written.readings if r.decimal == told.decimal)
    return written._replace(readings=readings) if readings else None


def _first(column: TextColumn, read: Callable[[str], object]) -> bool:
    """Whether a reader takes the first cell: most columns need no second look."""
    holes = MISSING | UNUSUAL | column.told.missing
    bare = (cell.strip() for cell in column.cells)
    seen = next((cell for cell in bare if cell not in holes), None)
    return seen is not None and bool(read(seen))


def _sure_signs(column: TextColumn, written: Written | None) -> list[str]:
    """Return the decimal sign of a column that can be read in one way only."""
    if written is None:
        return [column.style.decimal] if column.style.kind == "float" else []
    if len(written.readings) != 1:
        return []
    (reading,) = written.readings
    has_sign = reading.spelling.thousands or any("." in text for text in reading.texts)
    return [reading.decimal] if has_sign else []


def _settle_numbers(
    column: TextColumn, written: Written, signs: set[str], separator: str
) -> TextColumn:
    readings = written.readings
    if len(readings) > 1 and len(signs) == 1:
        readings = tuple(r for r in readings if r.decimal in signs) or readings
    was_read = column.style.kind == "float"
    if len(readings) == 1:
        (reading,) = readings
        bare = not any((*reading.spelling[:3], reading.spelling.limits))
        # A comma in a cell of a file that commas separate may also part two answers.
        unsure = bare and reading.decimal == "," and separator == ","
        if not unsure or column.told.decimal:
            kept = was_read and not reading.spelling.thousands
            return column if kept else _spelled(column, reading, written.what)
    is_usual = was_read and column.style.decimal == "." and separator != ";"
    if is_usual or _are_few(column):
        return column
    return _ask(column, written)


def _ask(column: TextColumn, written: Written) -> TextColumn:
    name, seen = column.style.name, _seen(column.cells, column.told)[0]
    if not written.readings:
        text = f"holds {written.what}: what the others mean is not known"
        return _with_question(column, text, f"--kind {quote(f'{name}=as written')}")
    example = next(cell for cell in seen if not cell.isdigit())
    row = seen.index(example)
    values = [f"{float(reading.texts[row]):g}" for reading in written.readings]
    options = [f"--decimal {quote(f'{name}={r.decimal}')}" for r in written.readings]
    if len(values) == 1:
        values.append("two answers")
        options.append(f"--kind {quote(f'{name}=as written')}")
    text = f"holds {example!r}, which is {' or '.join(values)}"
    return _with_question(column, text, " or ".join(options))


def _with_question(column: TextColumn, text: str, option: str) -> TextColumn:
    as_it_is = as_text(column.style.name, column.cells, column.told)
    question = Question(column.style.name, text, option)
    return as_it_is._replace(question=question, notes=())


def _are_few(column: TextColumn) -> bool:
    seen, _ = _seen(column.cells, column.told)
    return len(set(seen)) <= min(_FEW, len(seen) / 2)


def _spelled(column: TextColumn, reading: Numbers, what: str) -> TextColumn:
    name = column.style.name
    seen, present = _seen(column.cells, column.told)
    numbers = read_numbers(name, reading.texts, (".",))
    if numbers is None:  # too large for any number type
        return column
    style = replace(
        numbers.style,
        decimal=reading.decimal,
        missing=_usual(column.cells, present),
        spelling=reading.spelling,
    )
    telling = [text for _, text in reading.spelling.limits] or [
        cell for cell in seen if not cell.isdigit()
    ]
    odd = seen.index((telling or seen)[0])
    value = numbers.values[odd]
    note = f"column {name!r} holds {what}: {seen[odd]!r} is read as {value:g}"
    series = with_holes(numbers.values, present)
    return column._replace(series=series, style=style, notes=(note,))


def _read_pairs(
    name: str, cells: Sequence[str], told: CellOptions
) -> TextColumn | None:
    seen, present = _seen(cells, told)
    pairs = read_pairs(seen) if seen and "/" in seen[0] else None
    if pairs is None:
        if told.reading == "two numbers":
            raise UserInputError(
                f"Column {name!r} was called two numbers, but not every cell holds "
                "two, such as 120/80. Mend these cells, or leave out that word."
            )
        return None
    missing = _usual(cells, present)
    if pairs.could_be_dates and told.reading != "two numbers":
        column = as_text(name, cells, told)
        text = f"holds {seen[0]!r}, which is two numbers or a day and a month"
        option = " or ".join(f"--kind {quote(f'{name}={word}')}" for word in READINGS)
        asked = _with_question(column, text, option)
        return column if _are_few(column) else asked
    first, second = (
        with_holes(np.array([int(text) for text in part]), present)
        for part in (pairs.first, pairs.second)
    )
    style = ColumnStyle(name=name, kind="pair", missing=missing, joint=pairs.joint)
    note = (
        f"column {name!r} holds two numbers in each cell, such as {seen[0]!r}: read as "
        f"{' and '.join(map(repr, style.parts))}, written as one"
    )
    return TextColumn(first, style, cells, (note,), second=second)


def _read_counted(
    name: str, cells: Sequence[str], told: CellOptions
) -> TextColumn | None:
    seen, present = _seen(cells, told)
    found = read_counted(seen) if seen else None
    if found is None:
        return None
    texts, form = found
    style = ColumnStyle(
        name=name,
        kind="integer",
        missing=_usual(cells, present),
        spelling=Spelling(counted=form),
    )
    what = "feet and inches" if "'" in form else "times"
    note = f"column {name!r} holds {what}: {seen[0]!r} is read as {texts[0]}"
    series = with_holes(np.array([int(text) for text in texts]), present)
    return TextColumn(series, style, cells, (note,))


# ---- Dates with the year last, and dates of a form that was named.


def _formats(column: TextColumn) -> list[str]:
    """Return the formats in which a column of text is dates with the year last."""
    if column.style.kind != "text" or column.told.reading or column.told.date_format:
        return []
    usual = column.told.usual_format
    if not _first(column, date_formats) and usual is None:
        return []
    seen, _ = _seen(column.cells, column.told)
    if usual is not None and seen and read_dated(seen, usual) is not None:
        return [usual]
    formats = date_formats(seen[0]) if seen else []
    return [format for format in formats if read_dated(seen, format) is not None]


def _settle_dates(
    column: TextColumn, formats: Sequence[str], orders: set[str]
) -> TextColumn:
    name = column.style.name
    known = [format for format in formats if format[:3] in orders]
    if len(known) == 1:
        formats = known
    named = formats[0] == column.told.usual_format
    if len(formats) == 1 and (named or "%y" not in formats[0]):
        return _dated(column, formats[0])
    if _are_few(column):
        return column
    doubt = "a day and a month in either order"
    if "%y" in formats[0]:
        doubt = "a year of this century or of the last"
    example = _seen(column.cells, column.told)[0][0]
    options = " or ".join(
        f"--date-format {quote(f'{name}={format}')}" for format in formats
    )
    return _with_question(column, f"holds {example!r}, which has {doubt}", options)


def _dated(column: TextColumn, format: str) -> TextColumn:
    seen, present = _seen(column.cells, column.told)
    times = read_dated(seen, format)
    if times is None:
        raise AssertionError("the format was tried before")
    name = column.style.name
    missing = _usual(column.cells, present)
    style = ColumnStyle(name=name, kind="time", missing=missing, time=times[1])
    day = times[0][0].date()
    note = f"column {name!r} holds dates {format}: {seen[0]!r} is read as {day}"
    series = spread_times(times[0], present)
    return column._replace(series=series, style=style, notes=(note,))


def _read_told_dates(name: str, cells: Sequence[str], told: CellOptions) -> TextColumn:
    column = as_text(name, cells, told)
    seen, _ = _seen(cells, told)
    format = told.date_format or ""
    if not seen:
        return column
    if read_dated(seen, format) is None:
        alone = (cell for cell in seen if read_dated([cell], format) is None)
        example = next(alone, None)
        found = "mixes 1 and 01" if example is None else f"holds {example!r}"
        raise UserInputError(
            f"Column {name!r} {found}, which is no date of the form {format}. Name the "
            "form of all of its cells, such as %d.%m.%Y, or mend that cell."
        )
    return _dated(column, format)
