"""Columns that are computed from others: found, told, and computed in new rows.

A total, a ratio, a body mass index, an age: drawn by itself it would contradict the
cells that it comes from.  A formula counts only if it holds in every real row, up to
the rounding of the column, and so often that luck is no explanation.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tabtap.errors import bad_setting
from tabtap.table.schema import (
    PER_DAY,
    BoolArray,
    Column,
    FloatArray,
    IntArray,
    Kind,
    family,
    number_name,
    time_unit,
)
from tabtap.table.suspects import row_numbers
from tabtap.table.table import Table

Operation = Literal["sum", "product", "ratio", "over square", "days", "years"]
ComputedChoice = Any
"""``"auto"``, ``"none"``, or names of the columns that are to be computed."""

_LEAST_ROWS = 10
"""Different rows in which a formula must hold."""

_LEAST_OFF = 5
"""Rows in which a column differs from its most frequent value: a bonus that is always
0 adds nothing to a total."""

_MOST_COLUMNS = 100
"""Numbers beyond this are too many to try all pairs, and luck finds formulas there."""

_MOST_LUCK = -6.0
"""Decimal logarithm of the chance that noise would fit any formula that is tried."""

_N_FIRST = 8
"""Rows that most formulas fail on, tried before all."""

_N_SECOND = 1_000
"""Rows on which what is left is tried then: what fails there fails."""

_MANY_ROWS = 10_000
"""Rows by which luck is ruled out.  Of more, all are only asked to confirm."""

_YEAR = 365.25
_HINTS = frozenset(
    re.findall(
        r"\w+",
        "age alter bmi diff difference differenz gap gesamt gross index margin mean "
        "net per percent profit quote quotient rate ratio score share sum summe total",
    )
)
"""Words for what is computed rather than measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Formula:
    """How one feature follows from others."""

    position: int
    """Of the column that is computed, among the features."""

    operation: Operation

    sources: tuple[int, ...]
    """Of the columns that it comes from."""

    factors: tuple[float, ...] = (1.0,)
    """Of a sum: one for each source; otherwise one for the whole."""

    holes: Literal["empty", "zero", "drawn"] = "empty"
    """What it is where a source is missing: missing too, as if the source of a sum were
    0, or whatever is drawn."""

    def text(self, table: Table) -> str:
        """Return the formula as people write it.

        Examples
        --------
        >>> import pandas as pd
        >>> from tabtap.table import read_frame
        >>> frame = pd.DataFrame({"a": range(3, 43, 2), "b": [i**2 for i in range(20)]})
        >>> table = read_frame(frame.assign(total=frame["a"] + frame["b"]))
        >>> [formula.text(table) for formula in find_formulas(table)]
        ['a + b']
        """
        names = [str(table.schema.features[p].name) for p in self.sources]
        if self.operation == "sum":
            signs = [" - " if factor < 0 else " + " for factor in self.factors]
            whole = "".join(s + n for s, n in zip(signs, names, strict=True))
            whole = whole[3:] if whole.startswith(" + ") else whole.strip()
            scale = abs(self.factors[0])
            return whole if scale == 1 else f"{scale:g} * {whole}"
        factor = "" if self.factors[0] == 1 else f"{self.factors[0]:g} * "
        if self.operation in ("days", "years"):
            per = "" if self.factors[0] == 1 else f" * {self.factors[0]:g}"
            unit = "whole years" if self.operation == "years" else f"days{per}"
            return f"{unit} from {names[1]} to {names[0]}"
        sign = {"product": " * {}", "ratio": " / {}", "over square": " / {}^2"}
        return factor + names[0] + sign[self.operation].format(names[1])


def find_formulas(table: Table, choice: ComputedChoice = "auto") -> tuple[Formula, ...]:
    """Return the features that are computed from others, each after its sources.

    Parameters
    ----------
    table : Table
        All real rows.
    choice : {"auto", "none"} or list of column names
        Which of those that are found are meant.

    Raises
    ------
    UserInputError
        If a column is named that is in no table, or that nothing is found for.
    """
    wanted = _wanted(table, choice)
    if wanted is not None and not wanted:
        return ()
    scan = _Scan.of(table)
    if scan is None:
        return ()
    found: dict[int, Formula] = {}
    for position in _likely_first(table, scan):
        if wanted is not None and position not in wanted:
            continue
        for formula in scan.formulas(position):
            if not _is_circle(formula, found):
                found[position] = formula
                break
    if wanted is not None and (lacking := sorted(wanted - set(found))):
        name = str(table.schema.features[lacking[0]].name)
        must = "name columns that other columns give in every row"
        raise bad_setting("computed", name, must, "Leave it out, and it is drawn.")
    return _in_order(found)


def target_formulas(table: Table) -> list[tuple[Hashable, str]]:
    """Return formulas that tie a regression target to features, which give it away.

    Each with its column: the target, where features give it, or a feature that was made
    from the target and another one, such as a price for a square metre.
    """
    target = table.schema.target
    if target is None or target.task != "regression":
        return []
    features = (*table.schema.features, target.column)
    whole = replace(
        table,
        schema=replace(table.schema, features=features, target=None),
        cells=(*table.cells, table.target),
        missing=np.column_stack([table.missing, np.zeros(len(table), np.int8)]),
    )
    scan, last = _Scan.of(whole), len(features) - 1
    if scan is None:
        return []
    # What one column says alone is known by other means.
    own = next((f for f in scan.formulas(last) if len(f.sources) > 1), None)
    if own is not None:
        return [(target.column.name, own.text(whole))]
    found: dict[int, Formula] = {}
    for position in _likely_first(whole, scan):
        # One that needs no target is a computed column like any other.
        formula = next(scan.formulas(position), None)
        if formula is None or last not in formula.sources or position == last:
            continue
        if len(formula.sources) < 2:
            continue
        if not set(formula.sources) & set(found):  # the same once more, turned round
            found[position] = formula
    return [(features[p].name, f.text(whole)) for p, f in sorted(found.items())]


def compute(table: Table, formulas: Sequence[Formula], where: BoolArray) -> Table:
    """Return rows whose computed cells follow from the others.

    ``where``, of shape (n_rows, n_features), says which cells may change.  A cell whose
    sources are not all there becomes empty if that is so in the real rows, and stays as
    it is otherwise.
    """
    for formula in formulas:
        table = _compute(table, formula, where[:, formula.position])
    return table


def with_sources(masks: BoolArray, formulas: Sequence[Formula]) -> BoolArray:
    """Return masks in which a computed cell is redrawn exactly if a source is."""
    if not formulas:
        return masks
    masks = masks.copy()
    for formula in formulas:
        masks[:, formula.position] = masks[:, list(formula.sources)].any(axis=1)
    return masks


def is_computed(n_features: int, formulas: Sequence[Formula]) -> BoolArray:
    """Tell which features are computed."""
    flags = np.zeros(n_features, dtype=np.bool_)
    flags[[formula.position for formula in formulas]] = True
    return flags


def _compute(table: Table, formula: Formula, where: BoolArray) -> Table:
    column, position = table.schema.features[formula.position], formula.position
    values = _evaluate(formula, [_view(table, p) for p in formula.sources])
    known = np.isfinite(values)
    hole = table.missing[:, position] > 0
    fills = where & known & ~hole
    cells, missing = list(table.cells), table.missing
    if fills.any():
        own = cells[position].copy()
        plain = replace(column, support=())
        own[fills] = plain.store(_rounded(values[fills], formula))
        cells[position] = own
    empty = where & ~known & ~hole
    if formula.holes == "empty" and column.has_missing and empty.any():
        missing = missing.copy()
        missing[empty, position] = 1
    return replace(table, cells=tuple(cells), missing=missing)


def _rounded(values: FloatArray, formula: Formula) -> FloatArray:
    return np.floor(values) if formula.operation == "years" else values


def _wanted(table: Table, choice: ComputedChoice) -> set[int] | None:
    """Return the positions that are asked for; None for all that are found."""
    if choice is None or (isinstance(choice, str) and choice == "auto"):
        return None
    if choice is False or (isinstance(choice, str) and choice == "none"):
        return set()
    if isinstance(choice, (str, bytes)) or not isinstance(choice, Sequence):
        must = "be 'auto', 'none' or a list of column names"
        raise bad_setting("computed", choice, must, "Try 'auto'.")
    names: dict[Hashable, int] = {
        column.name: place for place, column in enumerate(table.schema.features)
    }
    for name in choice:
        if name not in names:
            must = "name columns of the table besides the target"
            raise bad_setting("computed", name, must, "Check its spelling.")
    return {names[name] for name in choice}


def _is_circle(formula: Formula, found: dict[int, Formula]) -> bool:
    """Whether a formula needs, through others, the column that it gives."""
    ahead, seen = list(formula.sources), set()
    while ahead:
        position = ahead.pop()
        if position == formula.position:
            return True
        if position in found and position not in seen:
            seen.add(position)
            ahead += found[position].sources
    return False


def _in_order(found: dict[int, Formula]) -> tuple[Formula, ...]:
    ordered: list[Formula] = []
    left = dict(sorted(found.items()))
    while left:
        ready = [p for p, f in left.items() if not set(f.sources) & set(left)]
        ordered += [left.pop(position) for position in ready]
    return tuple(ordered)


def _likely_first(table: Table, scan: _Scan) -> list[int]:
    """Return columns, those with a telling name first, and later ones before others."""

    def rank(position: int) -> tuple[bool, int]:
        name = str(table.schema.features[position].name)
        words = {word.lower() for word in _WORDS.findall(name)}
        return not words & _HINTS, -position

    return sorted((int(p) for p in scan.results), key=rank)


_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


# ---- Columns as plain numbers, and what formulas make of them.


def _view(table: Table, position: int) -> FloatArray:
    """Return a column as numbers, times as days; NaN where missing or no number."""
    column = table.schema.features[position]
    cells: NDArray[Any] = table.cells[position]
    if column.kind is Kind.DATETIME:
        values = cells.astype(np.float64) / PER_DAY[time_unit(column.dtype)]
    elif column.kind.is_numeric:
        values = cells.astype(np.float64)
    else:
        levels = np.array([float(level) for level in column.levels] or [np.nan])
        values = levels[np.clip(cells, 0, len(levels) - 1)]
    return np.where(table.missing[:, position] > 0, np.nan, values)


def _evaluate(formula: Formula, sources: Sequence[FloatArray]) -> FloatArray:
    factors = formula.factors
    with np.errstate(all="ignore"):
        if formula.operation == "sum":
            parts = [f * s for f, s in zip(factors, sources, strict=True)]
            if formula.holes == "zero":
                whole = np.nansum(parts, axis=0)
                return np.where(np.isnan(parts).all(axis=0), np.nan, whole)
            return np.asarray(np.sum(parts, axis=0))
        if formula.operation == "years":
            return _years(sources[1], sources[0])
        return np.asarray(factors[0] * _joined(formula.operation, *sources))


def _joined(operation: Operation, first: FloatArray, second: FloatArray) -> FloatArray:
    if operation == "days":
        return first - second
    if operation == "product":
        return first * second
    below = second if operation == "ratio" else second**2
    with np.errstate(all="ignore"):
        values = np.divide(first, below)
    return np.where(np.isfinite(values), values, np.nan)


def _years(start: FloatArray, end: FloatArray) -> FloatArray:
    """Return whole years from one date to another, as birthdays count them."""
    known = np.isfinite(start) & np.isfinite(end)
    dates = [
        np.where(known, np.floor(days), 0).astype("M8[D]") for days in (start, end)
    ]
    year = [date.astype("M8[Y]").astype(np.int64) for date in dates]
    month = [date.astype("M8[M]").astype(np.int64) % 12 for date in dates]
    day = [(date - date.astype("M8[M]")).astype(np.int64) for date in dates]
    early = (month[1] < month[0]) | ((month[1] == month[0]) & (day[1] < day[0]))
    return np.where(known, year[1] - year[0] - early, np.nan)


# ---- The search: every pair on a few rows first, what is left on more, then on all.


@dataclass(frozen=True, slots=True, eq=False)
class _Scan:
    """The numbers and times of a table, and which of them vary enough."""

    table: Table

    places: IntArray
    """Positions of the columns of ``numbers``."""

    numbers: FloatArray
    """Shape (n_rows, n_columns), NaN where missing."""

    is_time: BoolArray
    first: IntArray
    """A few rows, as complete as there are."""

    stages: tuple[IntArray | slice, ...]
    """Ever more rows on which a formula is tried, at last all of them."""

    complete: FloatArray
    """The rows without a hole, times apart.  Of many rows: as few as there are columns,
    which have the same squares and products."""

    n_complete: int
    """How many rows have no hole."""

    @classmethod
    def of(cls, table: Table) -> _Scan | None:
        """Return the columns that formulas may be of; None if there are too few."""
        places = [
            p for p, column in enumerate(table.schema.features) if _has_numbers(column)
        ]
        if len(table) < _LEAST_ROWS or len(places) < 2:
            return None
        numbers = np.column_stack([_view(table, p) for p in places])
        able = np.array([_varies(values) for values in numbers.T], dtype=np.bool_)
        if not 2 <= able.sum() <= _MOST_COLUMNS:
            return None
        used = np.asarray(places, dtype=np.int64)[able]
        is_time = [table.schema.features[p].kind is Kind.DATETIME for p in used]
        numbers = numbers if able.all() else numbers[:, able]
        full = np.argsort(np.isnan(numbers).sum(axis=1), kind="stable")
        some = full[np.linspace(0, len(full) // 2, _N_FIRST).astype(np.int64)]
        timed = np.array(is_time, dtype=np.bool_)
        complete = np.isfinite(numbers[:, ~timed]).all(axis=1)
        return cls(
            table=table,
            places=used,
            numbers=numbers,
            is_time=timed,
            first=some,
            stages=(
                _spread(len(table), _N_SECOND),
                *([_spread(len(table), _MANY_ROWS)] * (len(table) > _MANY_ROWS)),
                slice(None),
            ),
            complete=_condensed(numbers, np.flatnonzero(complete), timed),
            n_complete=int(complete.sum()),
        )

    @property
    def results(self) -> list[int]:
        """Positions of columns that may be computed: numbers on a scale."""
        kinds = [self.table.schema.features[p].kind for p in self.places]
        known = (Kind.CONTINUOUS, Kind.INTEGER)
        return [int(p) for p, k in zip(self.places, kinds, strict=True) if k in known]

    def formulas(self, position: int) -> Iterator[Formula]:
        """Return all that give a column in every row, the simplest first."""
        if position not in self.results:
            return
        own = int(np.flatnonzero(self.places == position)[0])
        reach = _reach(self.table.schema.features[position], self.numbers[:, own])
        yield from self._sums(own, reach)
        for operation in ("product", "ratio", "over square"):
            yield from self._pairs(own, reach, operation)
        yield from self._times(own)
        yield from self._multiples(own)
        yield from self._long_sums(own)

    def _multiples(self, own: int) -> Iterator[Formula]:
        for other in range(len(self.places)):
            if other == own or self.is_time[other]:
                continue
            yield from self._checked(own, "sum", (other,))

    def _sums(self, own: int, reach: FloatArray) -> Iterator[Formula]:
        some = self.numbers[self.first]
        wanted, slack = some[:, own], reach[self.first]
        for sign in (1.0, -1.0):
            made = some[:, :, None] + sign * some[:, None, :]
            off = np.abs(made - wanted[:, None, None]) > slack[:, None, None]
            for i, j in self._left(off, own, both=sign < 0):
                yield from self._checked(own, "sum", (i, j), (1.0, sign))

    def _pairs(
        self, own: int, reach: FloatArray, operation: Operation
    ) -> Iterator[Formula]:
        some = self.numbers[self.first]
        with np.errstate(all="ignore"):
            made = _joined(operation, some[:, :, None], some[:, None, :])
            low, high = _interval(
                some[:, own][:, None, None], reach[self.first][:, None, None], made
            )
            off = (np.nanmax(low, axis=0) > np.nanmin(high, axis=0))[None]
        for i, j in self._left(off, own, both=operation != "product"):
            yield from self._checked(own, operation, (i, j))

    def _times(self, own: int) -> Iterator[Formula]:
        times = np.flatnonzero(self.is_time)
        factors = (1.0, 24.0, 1440.0, 86400.0, 1 / 7, 1 / _YEAR)
        for end, start in product(times.tolist(), repeat=2):
            if end == start:
                continue
            yield from self._checked(own, "years", (end, start), (1.0,))
            for factor in factors:
                yield from self._checked(own, "days", (end, start), (factor,))

    def _long_sums(self, own: int) -> Iterator[Formula]:
        """Try a sum of three or more, with plus and minus signs."""
        others = np.flatnonzero(~self.is_time & (np.arange(len(self.places)) != own))
        if len(others) < 3 or self.n_complete < len(others) + _LEAST_ROWS:
            return
        rows = self.complete
        scale = np.abs(rows[:, others]).max(axis=0)
        scale[scale == 0] = 1.0  # one that is 0 wherever no other is missing
        solved = np.linalg.lstsq(rows[:, others] / scale, rows[:, own], rcond=None)[0]
        weights = np.rint(solved / scale)
        used = np.flatnonzero(weights)
        if len(used) >= 3 and (np.abs(weights[used]) == 1).all():
            chosen = tuple(others[used].tolist())
            signs = tuple(weights[used].tolist())
            yield from self._checked(own, "sum", chosen, signs)

    def _left(
        self, off: BoolArray, own: int, *, both: bool
    ) -> Iterator[tuple[int, int]]:
        """Return pairs that no row speaks against; of (i, j) and (j, i) one or both."""
        fits: BoolArray = np.asarray(~off.any(axis=0))
        fits[own] = fits[:, own] = False
        fits[self.is_time] = fits[:, self.is_time] = False
        np.fill_diagonal(fits, val=False)
        if not both:
            fits = np.triu(fits)
        yield from ((int(i), int(j)) for i, j in np.argwhere(fits))

    def _checked(
        self,
        own: int,
        operation: Operation,
        sources: tuple[int, ...],
        factors: tuple[float, ...] | None = None,
    ) -> Iterator[Formula]:
        """Return a formula if it holds in all rows, and in enough of them.

        Without factors, with the roundest one that fits.
        """
        formula = Formula(
            position=int(self.places[own]),
            operation=operation,
            sources=tuple(int(self.places[s]) for s in sources),
            factors=factors or (np.nan,),
        )
        column = self.table.schema.features[formula.position]
        trial, is_sure = None, False
        for rows in self.stages:
            parts = [self.numbers[rows, s] for s in sources]
            trial = _Trial.of(formula, parts, self.numbers[rows, own], column)
            if trial is None:
                return
            if not is_sure and len(trial.wanted) >= min(len(self.table), _MANY_ROWS):
                if not self._is_sure(trial):
                    return
                is_sure = True
        if trial is not None:
            yield trial.with_holes()

    def _is_sure(self, trial: _Trial) -> bool:
        """Whether a formula that holds is shown by so many rows that it is no luck."""
        known = trial.known
        parts = [part[known] for part in trial.parts]
        wanted = trial.wanted[known]
        if not all(_varies(part) for part in parts):
            return False
        numbers = row_numbers([wanted, *parts], len(wanted))
        different = np.unique(numbers, return_index=True)[1]
        if len(different) < _LEAST_ROWS:
            return False
        n_free = len(different) - len(parts) * (len(parts) > 2)
        return not self._is_luck(wanted[different], trial.reach[known], n_free)

    def _is_luck(self, values: FloatArray, reach: FloatArray, n_free: int) -> bool:
        """Whether numbers that have nothing to do with the column might fit as well."""
        spread = float(np.ptp(np.quantile(values, [0.1, 0.9]))) or float(np.ptp(values))
        chance = min(1.0, 2 * float(np.median(reach)) / spread) if spread else 1.0
        tried = 6 * len(self.places) ** 2
        luck = n_free * np.log10(max(chance, 1e-12)) + np.log10(tried)
        return bool(luck > _MOST_LUCK)


@dataclass(frozen=True, slots=True, eq=False)
class _Trial:
    """A formula, and some rows in none of which it fails."""

    formula: Formula
    parts: Sequence[FloatArray]
    wanted: FloatArray
    reach: FloatArray
    known: BoolArray
    """Where it gives a number, and there is one."""

    @classmethod
    def of(
        cls,
        formula: Formula,
        parts: Sequence[FloatArray],
        wanted: FloatArray,
        column: Column,
    ) -> _Trial | None:
        """Try a formula, whose factor is found if it is NaN; None if it fails."""
        reach = _reach(column, wanted)
        if np.isnan(formula.factors[0]):
            whole = parts[0]
            if len(parts) > 1:
                whole = _joined(formula.operation, *parts)
            factor = _factor(wanted, reach, whole)
            if factor is None:
                return None
            formula = replace(formula, factors=(factor,))
        made = _rounded(_evaluate(formula, parts), formula)
        known = np.isfinite(made) & np.isfinite(wanted)
        if not (np.abs(made - wanted)[known] <= reach[known]).all():
            return None
        return cls(formula, parts, wanted, reach, known)

    def with_holes(self) -> Formula:
        """Return the formula with what is done where a source is missing."""
        formula, parts, wanted = self.formula, self.parts, self.wanted
        lacking = np.isfinite(wanted) & ~np.isfinite(_evaluate(formula, parts))
        if not lacking.any():
            return formula
        as_zero = replace(formula, holes="zero")
        made = _evaluate(as_zero, parts)
        if (
            formula.operation == "sum"
            and (np.abs(made - wanted) <= self.reach)[lacking].all()
        ):
            return as_zero
        return replace(formula, holes="drawn")


def _has_numbers(column: Column) -> bool:
    if column.kind is Kind.DATETIME:
        return number_name(column.dtype) != "timedelta64"
    if column.kind in (Kind.CONTINUOUS, Kind.INTEGER):
        return family(column.dtype) != "time"
    if column.kind is not Kind.CATEGORY or len(column.levels) < 3:
        return False
    return all(
        isinstance(level, (int, float)) and not isinstance(level, bool)
        for level in column.levels
    )


def _varies(values: FloatArray) -> bool:
    seen = values[np.isfinite(values)]
    if len(seen) < _LEAST_ROWS or np.abs(seen).max() > 1e15:
        return False
    # What varies enough in some of the rows does so in all of them.
    return any(
        len(counts) > 2 and int(counts.sum() - counts.max()) >= _LEAST_OFF
        for rows in (_spread(len(seen), _N_SECOND), slice(None))
        for counts in [np.unique(seen[rows], return_counts=True)[1]]
    )


def _reach(column: Column, values: FloatArray) -> FloatArray:
    """Return how far each value may be from what a formula gives: half of its grid."""
    half = 0.0
    if column.kind is Kind.INTEGER:
        half = 0.5
    elif column.decimals is not None:
        half = 0.5 * 10.0**-column.decimals
    return np.asarray(half + 1e-9 * np.maximum(np.abs(values), half))


def _interval(
    wanted: FloatArray, reach: FloatArray, made: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the factors that bring each made number to the one that is wanted."""
    one, other = (wanted - reach) / made, (wanted + reach) / made
    unknown = ~np.isfinite(made) | ~np.isfinite(wanted + 0 * made)
    zero = (made == 0) & ~unknown
    fits = np.abs(wanted + 0 * made) <= reach
    low = np.where(unknown | (zero & fits), -np.inf, np.minimum(one, other))
    high = np.where(unknown | (zero & fits), np.inf, np.maximum(one, other))
    return np.where(zero & ~fits, np.inf, low), np.where(zero & ~fits, -np.inf, high)


def _factor(wanted: FloatArray, reach: FloatArray, made: FloatArray) -> float | None:
    """Return the roundest factor that fits all rows: None if none does, NaN if any."""
    with np.errstate(all="ignore"):
        low, high = _interval(wanted, reach, made)
    bottom, top = float(low.max()), float(high.min())
    if bottom > top or top <= 0:
        return None
    middle = (bottom + top) / 2
    if not np.isfinite(middle):
        return float(np.nan)
    for digits in range(1, 13):
        rounded = float(f"{middle:.{digits}g}")
        if bottom <= rounded <= top:
            return rounded
    return middle


def _spread(n_rows: int, n_wanted: int) -> IntArray:
    """Return the numbers of some rows, evenly from the first to the last."""
    return np.linspace(0, n_rows - 1, min(n_rows, n_wanted)).astype(np.int64)


def _condensed(
    numbers: FloatArray, complete: IntArray, is_time: BoolArray
) -> FloatArray:
    """Return complete rows; of many rows the triangle that stands for them.

    Whatever least squares find in the rows they find in the triangle (R of QR).
    """
    if len(complete) <= _MANY_ROWS:
        return numbers[complete]
    triangle = np.empty((0, len(is_time)))
    for rows in np.array_split(complete, len(complete) // _MANY_ROWS):
        block = np.where(is_time, 0.0, numbers[rows])
        triangle = np.asarray(np.linalg.qr(np.vstack([triangle, block]), mode="r"))
    return triangle
