"""Rows taken out of a result with everything that descends from them."""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tabtap.domain import Candidates, Certificate, StepRecord
from tabtap.errors import UserInputError
from tabtap.loop.commit import group_name
from tabtap.result.frames import NO_TARGET, row_windows
from tabtap.result.set_aside import SetAside, learned_places
from tabtap.table.cells import decode, times_from_counts
from tabtap.table.schema import (
    BoolArray,
    Column,
    IntArray,
    Kind,
    Schema,
    Target,
    family,
)
from tabtap.table.table import Table, concat
from tabtap.wording import counted

if TYPE_CHECKING:
    from tabtap.result.result import AugmentResult


def forget_rows(
    result: AugmentResult,
    row: int | Sequence[int] = (),
    group: Any = None,  # noqa: ANN401
) -> AugmentResult:
    """Return a result without some rows given and what descends from them."""
    rows = _numbers(row)
    _check(result, rows)
    rows += [place for place in rows_of_group(result, group) if place not in rows]
    if not rows:
        raise UserInputError("No row was given. Pass the place of at least one.")
    keep = ~np.isin(result.real.origin, rows)
    if not keep.any():
        raise UserInputError(
            "These are all of the real rows. Delete the result instead of forgetting "
            "everything in it."
        )
    stays = ~np.isin(result.delivered.rows.origin, rows)
    n_removed = int((~stays).sum())
    about = result.about
    gone = _gone(result, rows)
    judged = learned_places(result.real.origin, result.set_aside)
    groups = None if about.groups is None else about.groups[keep]
    delivered = result.delivered.take(stays)
    clean = without_traces(result.real.take(keep), delivered.rows)
    learned = sorted({*rows} & {*result.real.origin.tolist()})
    return replace(
        result,
        real=clean.real,
        delivered=replace(
            delivered, rows=clean.delivered, asked=_asked(delivered, clean)
        ),
        steps=steps_without(result.steps, clean.kept),
        certificates=tuple(
            _without_names(check, gone, judged[~keep]) for check in result.certificates
        ),
        about=replace(
            about,
            groups=groups,
            source=_source_left(about.source, gone),
            notes=(*_notes_left(about.notes, gone), _note(rows, n_removed)),
        ),
        index=_labels_left(result, rows),
        set_aside=_set_aside_left(result, rows),
        forgotten=tuple(sorted({*result.forgotten, *learned})),
        n_removed=result.n_removed + n_removed,
        codes_given=composed(result.codes_given, clean.kept),
        folds=None if result.folds is None else result.folds[:, keep],
        content_sha256=_hashes_left(result, stays)
        if learned
        else result.content_sha256,
    )


def _labels_left(result: AugmentResult, rows: list[int]) -> pd.Index | None:
    if result.index is None:
        return None
    places = result.given_places
    return result.index[~np.isin(places, rows)]


def _set_aside_left(result: AugmentResult, rows: list[int]) -> SetAside | None:
    """Return the rows set aside that stay, with no level that only the others had."""
    aside = result.set_aside
    if aside is None or not np.isin(aside.rows.origin, rows).any():
        return aside
    left = aside.without(np.asarray(rows))
    return replace(left, rows=without_traces(left.rows, left.rows.empty()).real)


def rows_of_group(result: AugmentResult, group: Any) -> list[int]:  # noqa: ANN401
    """Return the places, in the table given, of all rows of some groups that are left.

    ``group`` is a label, a list of labels, or a mapping of columns to values.
    """
    if group is None:
        return []
    if isinstance(group, Mapping):
        found = [_rows_with(result, name, value) for name, value in group.items()]
        return sorted({*found[0]}.union(*found[1:])) if found else []
    if result.about.groups is None:
        raise UserInputError(
            "The run had no groups. Name a column too: group={'patient': 17}, or "
            "--group patient=17 on the command line."
        )
    labels = [*group] if isinstance(group, (list, tuple, set)) else [group]
    given = result.groups[: len(result.given_places)]
    places: set[int] = set()
    for label in labels:
        own = np.array([_is_value(each, label) for each in given], dtype=bool)
        if not own.any():
            raise _no_such("group", label, given.tolist())
        places |= {*result.given_places[own].tolist()}
    return sorted(places)


def _rows_with(
    result: AugmentResult,
    name: Any,  # noqa: ANN401
    value: Any,  # noqa: ANN401
) -> list[int]:
    tables = [
        result.real,
        *([] if result.set_aside is None else [result.set_aside.rows]),
    ]
    places: list[int] = []
    seen: list[Any] = []
    for table in tables:
        names = [str(column.name) for column in table.schema.features]
        if str(name) not in names:
            raise _no_such("column", name, names)
        position = names.index(str(name))
        values = values_of(table, position)
        own = np.array([_is_value(each, value) for each in values], dtype=bool)
        places += table.origin[own].tolist()
        seen += values
    if not places:
        raise _no_such(f"value in column {str(name)!r}", value, seen)
    return places


def values_of(table: Table, position: int) -> list[Any]:
    """Return the values of one feature, None where there is none."""
    column = table.schema.features[position]
    plain, missing = decode(column, table.cells[position], table.missing[:, position])
    values: list[Any] = plain.tolist()
    if family(column.dtype) == "time":
        values = list(times_from_counts(plain, column.dtype))
    elif family(column.dtype) == "category":
        values = [column.categories[int(code)] for code in plain]
    return [None if hole else v for v, hole in zip(values, missing > 0, strict=True)]


def _is_value(value: Any, wanted: Any) -> bool:  # noqa: ANN401
    """Whether a value is the one that is meant, also where text stands for a number."""
    if value is None or value != value:  # NaN
        return False
    if str(value) == str(wanted):
        return True
    try:
        return float(value) == float(wanted)
    except (TypeError, ValueError):
        return False


def _no_such(what: str, wanted: Any, known: Sequence[Any]) -> UserInputError:  # noqa: ANN401
    some = list(dict.fromkeys(str(each) for each in known if each is not None))
    listed = ", ".join(some[:_SHOWN]) + (", ..." if len(some) > _SHOWN else "")
    return UserInputError(f"There is no {what} {str(wanted)!r}. There are: {listed}.")


_SHOWN = 8


def _asked(delivered: Candidates, clean: Traceless) -> NDArray[Any] | None:
    """Return the targets asked for; of a class that is gone, the row's own."""
    asked, own = delivered.asked, clean.delivered.target
    if asked is None or TARGET not in clean.kept:
        return asked
    used = clean.kept[TARGET]
    found = np.where(np.isin(asked, used), np.searchsorted(used, asked), own)
    return found.astype(asked.dtype)


def _hashes_left(result: AugmentResult, stays: BoolArray) -> dict[str, str]:
    """Leave out hashes that are of forgotten rows: by them a guess could be tested."""
    lost = row_windows(result.delivered.take(~stays), result.steps)
    gone = {"real", *(f"window {number}" for number in lost.tolist())}
    return {k: part for k, part in result.content_sha256.items() if k not in gone}


def _numbers(row: int | Sequence[int]) -> list[int]:
    parts = [row] if np.ndim(row) == 0 else list(row)  # type: ignore[arg-type]
    try:
        if any(isinstance(part, (bool, np.bool_)) for part in parts):
            raise TypeError
        return [operator.index(part) for part in parts]  # type: ignore[arg-type]
    except TypeError as error:
        raise UserInputError(
            f"row={row!r} is not usable: it must be a row's place in the table, "
            "counted from 0, or several of them. Try 0."
        ) from error


def _check(result: AugmentResult, rows: list[int]) -> None:
    known = {*result.given_places.tolist()}
    aside = [] if result.set_aside is None else result.set_aside.places.tolist()
    gone = {*result.forgotten, *aside} - known
    n_given = len(known) + len(gone)
    for number in rows:
        if number in gone:
            raise UserInputError(
                f"Real row {number} was forgotten already. Leave it out."
            )
        if number not in known:
            raise UserInputError(
                f"There is no real row {number}: the table had {n_given} rows. Pass a "
                f"place from 0 to {n_given - 1}, not a row label."
            )


def _note(rows: list[int], n_removed: int) -> str:
    noun = "Real row" if len(rows) == 1 else "Real rows"
    named = ", ".join(map(str, sorted(set(rows))))
    return (
        f"{noun} {named} and {counted(n_removed, 'synthetic row')} made of "
        f"{'it' if len(rows) == 1 else 'them'} were removed after the run; the "
        "certificates describe the table before, and generators of the rows that "
        "stay may have learned from what was removed."
    )


# ---- What sentences, certificates and the file's form still tell of rows gone.
#
# They name values: a group that may not be harmed, a class that is rare, a limit such
# as <0.01.  Those that no row has any more are taken out.


FORGOTTEN = "a forgotten value"
"""Stands where one was named."""

LESS_SAID = "Notes that named values of rows removed since were left out."

_OF_ROWS = ""
"""Stands for labels and groups of rows where columns go by their name."""


def _gone(result: AugmentResult, rows: list[int]) -> dict[str, set[str]]:
    """Return, by column, the texts of values that only forgotten rows have."""
    told: dict[bool, dict[str, set[str]]] = {False: {}, True: {}}
    forgotten = {*rows}
    for name, value, place in _every_cell(result):
        texts = told[place in forgotten].setdefault(name, set())
        texts |= _texts(value)
    left = told[False]
    return {name: texts - left.get(name, set()) for name, texts in told[True].items()}


def _every_cell(result: AugmentResult) -> Iterator[tuple[str, Any, int]]:
    """Yield column, value and real row of each cell; new rows are of their parents."""
    aside = [] if result.set_aside is None else [result.set_aside.rows]
    for table in (result.real, result.delivered.rows, *aside):
        for name, values in _columns(table):
            for value, place in zip(values, table.origin.tolist(), strict=True):
                yield name, value, place
    labels: list[Any] = []
    if result.about.groups is not None:
        labels.append(result.groups)
    if result.index is not None and result.index.dtype.kind != "i":  # no mere places
        labels.append(result.index)
    for each in labels:
        for label, place in zip(each, result.given_places.tolist(), strict=False):
            yield _OF_ROWS, label, place


def _columns(table: Table) -> Iterator[tuple[str, list[Any]]]:
    """Yield name and values of each feature, and of the target."""
    for position, column in enumerate(table.schema.features):
        yield str(column.name), values_of(table, position)
    if (target := table.schema.target) is not None:
        levels, codes = target.column.levels, table.target.tolist()
        values = [levels[code] for code in codes] if levels else codes
        yield str(target.column.name), values


def _texts(value: Any) -> set[str]:  # noqa: ANN401
    """Return how a value may stand in a sentence."""
    if value is None or value != value:  # NaN
        return set()
    texts = {str(value), str(value).removesuffix(" 00:00:00")}
    if isinstance(value, float):
        texts |= {f"{value:.6g}", f"{value:g}"}
    return texts - {""}


def _without_names(
    certificate: Certificate, gone: Mapping[str, set[str]], places: IntArray
) -> Certificate:
    """Return a certificate that names no value of the rows that are gone.

    ``places`` are theirs among the rows that were judged; their weights go as well.
    """
    if not certificate.groups and "weights" not in certificate.evidence:
        return certificate
    reason, groups = certificate.reason, []
    for group in certificate.groups:
        kept = replace(group, value=_value_left(group.value, gone.get(group.column)))
        reason = reason.replace(group_name(group), group_name(kept))
        groups.append(kept)
    evidence = dict(certificate.evidence)
    if "weights" in evidence:
        evidence["weights"] = evidence["weights"].copy()
        evidence["weights"][places] = np.nan
    return replace(certificate, groups=tuple(groups), reason=reason, evidence=evidence)


def _value_left(value: str, gone: set[str] | None) -> str:
    """Return what a group is called: a level, or a side of the median of numbers."""
    for text in gone or ():
        side = value.removesuffix(text)
        if side == "" or (side != value and side in _SIDES):
            return f"{side}{FORGOTTEN}"
    return value


_SIDES = ("at most ", "above ", "below ", "from ")


def _notes_left(notes: Sequence[str], gone: Mapping[str, set[str]]) -> tuple[str, ...]:
    """Return the notes that name no value of the rows that are gone.

    Those of earlier removals name places of rows, which may look like values.
    """
    words = sorted(set().union(*gone.values()))
    pattern = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, words))})(?!\w)")
    ours = [note for note in notes if note.startswith("Real row") or note == LESS_SAID]
    kept = [n for n in notes if n in ours or not words or not pattern.search(n)]
    if len(kept) < len(notes) and LESS_SAID not in kept:
        kept.append(LESS_SAID)
    return tuple(kept)


def _source_left(source: str, gone: Mapping[str, set[str]]) -> str:
    """Return the form of a file without limits, such as <0.01, that no row is at."""
    if not source:
        return source
    form = json.loads(source)
    for style in (*form["styles"], *form["written"]):
        lost = gone.get(style["name"], set())
        for part in style["spelling"] or ():
            if isinstance(part, list):  # limits: pairs of a number and a text
                part[:] = [limit for limit in part if f"{limit[0]:g}" not in lost]
    return json.dumps(form)


# ---- What a schema still tells of rows that are gone, taken out of it.
#
# A schema lists every level that was ever seen, counts whole numbers and times from the
# first value, and cuts a regression target at values of rows. Codes change where levels
# go, and hashes are of codes: so a result keeps the old ones, ``codes_given``.


TARGET = "target"
"""Stands for the target where features go by their place."""


class Traceless(NamedTuple):
    """Rows of a schema that knows nothing but them."""

    real: Table
    delivered: Table

    kept: Mapping[str, IntArray]
    """For each column that lost levels: the codes, until now, of those that stay."""


def without_traces(real: Table, delivered: Table) -> Traceless:
    """Return rows whose schema holds no value that none of them has.

    Categories that a dtype declares stay, as they are part of the dtype; those of an
    identifier do not.
    """
    everything = concat([real, delivered])
    schema, present = everything.schema, everything.missing == 0
    kept: dict[str, IntArray] = {}
    features = []
    for place, column in enumerate(schema.features):
        cells = everything.cells[place][present[:, place]]
        used = _used(column, cells)
        if used is not None:
            kept[str(place)] = used
        features.append(_described(column, cells, used))
    target = schema.target
    if target is not None:
        used = _used(target.column, everything.target)
        if used is not None:
            kept[TARGET] = used
        target = _target(target, everything, used)
    known = replace(schema, features=tuple(features), target=target)
    return Traceless(
        _recoded(real, known, kept), _recoded(delivered, known, kept), kept
    )


def composed(
    before: Mapping[str, IntArray], kept: Mapping[str, IntArray]
) -> dict[str, IntArray]:
    """Return, for each column that lost levels, the run's codes of those that stay."""
    first = {name: before[name][used] for name, used in kept.items() if name in before}
    return {**before, **kept, **first}


def as_given(rows: Table, given: Mapping[str, IntArray]) -> Table:
    """Return rows with the codes that the run gave them: only to be hashed."""
    cells = list(rows.cells)
    target = rows.target
    for name, codes in given.items():
        if name == TARGET:
            target = codes[target].astype(target.dtype)
        else:
            place = int(name)
            cells[place] = codes[cells[place]].astype(cells[place].dtype)
    return replace(rows, cells=tuple(cells), target=target)


def check_codes(schema: Schema, given: Mapping[str, IntArray]) -> None:
    """Raise ValueError unless there is one old code for every level."""
    columns = {str(place): column for place, column in enumerate(schema.features)}
    if schema.target is not None:
        columns[TARGET] = schema.target.column
    for name, codes in given.items():
        if name not in columns or codes.shape != (len(columns[name].levels),):
            raise ValueError(f"old codes {name!r} do not fit the levels")


def steps_without(
    steps: Sequence[StepRecord], kept: Mapping[str, IntArray]
) -> tuple[StepRecord, ...]:
    """Return steps that know only the classes that stay."""
    if TARGET not in kept:
        return tuple(steps)
    used = kept[TARGET]
    place = {int(code): number for number, code in enumerate(used)}
    return tuple(
        replace(
            record,
            action=replace(
                record.action, target=place.get(record.action.target, NO_TARGET)
            ),
            state=replace(
                record.state,
                deficit=record.state.deficit[used],
                uncertainty=record.state.uncertainty[used],
                available=record.state.available[used],
            ),
        )
        for record in steps
    )


def _used(column: Column, cells: NDArray[Any]) -> IntArray | None:
    """Return the codes that are in use, or None if all levels stay."""
    if column.kind.is_numeric or not column.levels or is_declared(column):
        return None
    used = np.unique(cells).astype(np.int64)
    if not len(used):
        return np.zeros(1, np.int64)  # of a level that ``_level_for_holes`` replaces
    listed = column.categories or column.levels
    return None if len(used) == len(column.levels) == len(listed) else used


def is_declared(column: Column) -> bool:
    """Whether a dtype lists its categories, seen or not, so that they stay."""
    if column.kind is Kind.IDENTIFIER:
        return False
    # This is polars' Categorical, which lists what it met; its Enum declares.
    return bool(column.categories) and column.dtype != "category"


def _described(column: Column, cells: NDArray[Any], used: IntArray | None) -> Column:
    if column.kind.is_numeric:
        if column.kind is Kind.CONTINUOUS:
            # Values that the column keeps to: those that rows still have.
            kept = np.unique(cells).tolist() if column.support else ()
            return replace(column, support=tuple(kept))
        # The same grid, counted from a value that is there.
        base = int(cells[0]) if len(cells) else column.base % column.step
        return replace(column, base=base)
    if used is None:
        return column
    levels = tuple(column.levels[code] for code in used)
    if not len(cells):
        levels = (_level_for_holes(column.dtype),)
        return replace(
            column, levels=levels, categories=levels * bool(column.categories)
        )
    stay = set(levels) if column.categories else set()
    categories = tuple(level for level in column.categories if level in stay)
    return replace(column, levels=levels, categories=categories)


def _level_for_holes(dtype: str) -> Any:  # noqa: ANN401
    """Return a level that no row has; a column of holes needs one all the same."""
    kind = family(dtype)
    if kind == "time":
        return times_from_counts(np.zeros(1, np.int64), dtype)[0]
    return {"int": 0, "float": 0.0, "bool": False}.get(kind, "")


def _target(target: Target, rows: Table, used: IntArray | None) -> Target:
    column = _described(target.column, rows.target, used)
    if not target.edges:
        return replace(target, column=column)
    values = np.unique(rows.target_values)
    # The last value up to an edge divides these rows as the edge does.
    upto = np.searchsorted(values, target.edges, side="right")
    below = np.nextafter(values[0], -np.inf)
    edges = tuple(float(values[n - 1]) if n else float(below) for n in upto)
    return replace(target, column=column, edges=edges)


def _recoded(rows: Table, schema: Schema, kept: Mapping[str, IntArray]) -> Table:
    cells = list(rows.cells)
    target = rows.target
    for name, used in kept.items():
        if name == TARGET:
            target = np.searchsorted(used, target).astype(target.dtype)
        else:
            place = int(name)
            cells[place] = _new_codes(cells[place], rows.missing[:, place] > 0, used)
    return replace(rows, schema=schema, cells=tuple(cells), target=target)


def _new_codes(codes: NDArray[Any], hole: BoolArray, used: IntArray) -> NDArray[Any]:
    # What lies under a hole may be a level that goes.
    found = np.where(hole, 0, np.searchsorted(used, codes))
    return found.astype(codes.dtype)
