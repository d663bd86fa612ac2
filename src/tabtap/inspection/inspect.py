"""Everything that a person should look at in a table before rows are added to it."""

from __future__ import annotations

import re
from collections.abc import Container, Hashable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabtap.rng import stream
from tabtap.table.computed import ComputedChoice, find_formulas, target_formulas
from tabtap.table.kinds import names_an_identifier
from tabtap.table.problems import quote, told
from tabtap.table.schema import BoolArray, Column, FloatArray, IntArray, Kind
from tabtap.table.split import RARE, even_sample, folds
from tabtap.table.suspects import LostColumn, lost_columns, row_numbers
from tabtap.table.table import Table
from tabtap.wording import counted


def inspect_table(
    table: Table,
    *,
    declared: Container[Hashable] = (),
    computed: ComputedChoice = "auto",
) -> list[Remark]:
    """Look a table over: what may spoil it, and which setting answers that.

    The table has a target; ``declared`` are columns whose kind was named by the user,
    and is not to be doubted; ``computed`` as for ``find_formulas``.  Columns that give
    the target away come first, then what concerns columns, then rows and classes.

    Examples
    --------
    >>> import pandas as pd
    >>> from tabtap.table import read_frame
    >>> frame = pd.DataFrame({"code": [1, 2] * 30, "sick": ["no", "yes"] * 30})
    >>> frame["age"] = range(20, 140, 2)
    >>> [(r.topic, r.column) for r in inspect_table(read_frame(frame, "sick"))]
    [('leak', 'code')]
    """
    return [
        *leak_remarks(table),
        *column_remarks(table, declared),
        *computed_remarks(table, computed),
        *row_remarks(table),
    ]


# ---- What is to be said of single columns: identifiers, constants, holes, groups.


MANY_HOLES = 0.5
"""Share of missing cells from which a column is remarked on."""

_NAME_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_FORMULA = re.compile(r"\s*(?:[=@].|[+-](?![\d.,\s]*(?:%\s*)?$).)", re.DOTALL)
"""What a spreadsheet takes for more than a number or a word."""

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

_CODES = {float(sign * int(d * n)) for d in "789" for n in range(2, 6)
          for sign in (1, -1)} | {-1.0, -7.0, -8.0, -9.0}  # fmt: skip
"""Numbers that people write for a value they do not have."""

_LEAST_CODES = 2


def column_remarks(table: Table, declared: Container[Hashable] = ()) -> list[Remark]:
    """Return the remarks on each feature, in the order of the table."""
    remarks = []
    lost = {each.name: each for each in lost_columns(table, declared)}
    for index, column in enumerate(table.schema.features):
        n_missing = int((table.missing[:, index] > 0).sum())
        remarks += [*_kind(column, lost), *_formulas(column)]
        if n_missing >= MANY_HOLES * len(table):
            text = f"is missing in {share(n_missing, len(table))} of the rows"
            remarks.append(Remark(topic="missing", column=column.name, text=text))
        if column.name not in declared:
            remarks += [*_codes(table, index), *_words(column)]
        if _is_group(table, index):
            remarks.append(_group(table, index))
    target = table.schema.target
    if target is not None:
        remarks += [*_formulas(target.column), *_words(target.column)]
    return remarks


def _kind(column: Column, lost: Mapping[Hashable, LostColumn]) -> list[Remark]:
    if column.name in lost:
        entry = lost[column.name]
        text = f"{entry.found}; {entry.option}"
        return [Remark(topic="lost", column=column.name, text=text, setting="ignore")]
    if column.kind is Kind.CONSTANT:
        text = "has one value only, and says nothing"
        return [Remark(topic="constant", column=column.name, text=text)]
    if column.kind is Kind.IDENTIFIER:
        text = "names rows rather than describing them: not learned, empty in new rows"
        return [Remark(topic="identifier", column=column.name, text=text)]
    return []


def computed_remarks(table: Table, choice: ComputedChoice = "auto") -> list[Remark]:
    """Return a remark on each column that other columns give, and on the target."""
    computed = [
        Remark(
            topic="computed",
            column=table.schema.features[formula.position].name,
            text=f"is {formula.text(table)} in every row, and is computed so in new "
            "ones",
            setting="computed",
        )
        for formula in find_formulas(table, choice)
    ]
    return [*computed, *formula_remarks(table)]


def formula_remarks(table: Table) -> list[Remark]:
    """Return a remark on each column that gives a number away by a formula."""
    return [
        Remark(
            topic="leak",
            column=name,
            text=f"is {formula} in every row: with the other columns it gives the "
            "target away, and little is left to predict",
        )
        for name, formula in target_formulas(table)
    ]


def _formulas(column: Column) -> list[Remark]:
    texts = [level for level in (column.name, *column.levels) if isinstance(level, str)]
    found = [text for text in texts if _FORMULA.match(text)]
    if not found:
        return []
    # The values of an identifier may name people, and are not shown.
    shown = "" if column.kind is Kind.IDENTIFIER else f", such as {quote(found[0])}"
    text = (
        f"has texts that begin like a formula{shown}: a spreadsheet that opens the "
        "table would calculate them; they are kept as they are, in new rows too"
    )
    return [Remark(topic="formula", column=column.name, text=text)]


def _words(column: Column) -> list[Remark]:
    """Remark on levels that say that nothing is known, or that differ in capitals."""
    if column.kind is not Kind.CATEGORY:
        return []
    texts = [level for level in column.levels if isinstance(level, str)]
    remarks = [
        Remark(
            topic="code",
            column=column.name,
            text=f"has the level {quote(level)}: if that is a code for a missing "
            f"value, say so: {told('--missing', column.name, level)}",
        )
        for level in texts
        if level.strip().lower() in _UNKNOWN
    ]
    alike: dict[str, list[str]] = {}
    for level in texts:
        alike.setdefault(level.casefold(), []).append(level)
    for levels in alike.values():
        if len(levels) > 1:
            listed = " and ".join(map(quote, levels))
            text = f"has {listed} as levels of their own: if they are one, write it so"
            remarks.append(Remark(topic="spelling", column=column.name, text=text))
    return remarks


_UNKNOWN = frozenset(["?", "-", "--", ".", "unknown", "missing", "n.a.", "k.a."])
"""Words for a value that nobody knows, which may be an answer as well."""


def _codes(table: Table, index: int) -> list[Remark]:
    """Remark on a number that stands apart and is often a code for a missing value."""
    column = table.schema.features[index]
    if column.kind is Kind.CATEGORY:
        return _coded_levels(table, index)
    if column.kind not in (Kind.INTEGER, Kind.CONTINUOUS):
        return []
    cells = table.cells[index][table.missing[:, index] == 0]
    values, counts = np.unique(cells, return_counts=True)
    remarks = []
    for place, rest in ((0, values[1:]), (-1, values[:-1])):
        value, count = float(values[place]), int(counts[place])
        if value not in _CODES or count < _LEAST_CODES or len(rest) < 2:
            continue
        gap = float(min(abs(rest - values[place])))
        negative = value < 0 <= float(rest.min())
        if negative or gap > float(rest.max() - rest.min()):
            text = (
                f"is {value:g} in {counted(count, 'row')}, and else {rest.min():g} to "
                f"{rest.max():g}: if that is a code for a missing value, say so: "
                f"{told('--missing', column.name, f'{value:g}')}"
            )
            remarks.append(Remark(topic="code", column=column.name, text=text))
    return remarks


def _coded_levels(table: Table, index: int) -> list[Remark]:
    """Remark on a negative code among levels that count something."""
    column = table.schema.features[index]
    levels = column.levels
    if len(levels) < 3 or not all(type(level) in (int, float) for level in levels):
        return []
    low, rest = levels[0], levels[1:]
    if not (low in _CODES and low < 0 <= rest[0]):
        return []
    present = table.missing[:, index] == 0
    count = int((table.cells[index][present] == 0).sum())
    text = (
        f"is {low:g} in {counted(count, 'row')}, and else {rest[0]:g} to "
        f"{rest[-1]:g}: if that is a code for a missing value, say so: "
        f"{told('--missing', column.name, f'{low:g}')}"
    )
    return [Remark(topic="code", column=column.name, text=text)]


def _group(table: Table, index: int) -> Remark:
    column = table.schema.features[index]
    counts = _counts(table, index)
    text = (
        f"has {len(counts)} values that come back, about "
        f"{counted(int(np.median(counts)), 'row')} each: if rows of one value are of "
        "one person, animal or machine, they must stay on one side of every check"
    )
    return Remark(topic="groups", column=column.name, text=text, setting="groups")


def _is_group(table: Table, index: int) -> bool:
    column = table.schema.features[index]
    if column.kind not in (Kind.INTEGER, Kind.CATEGORY, Kind.IDENTIFIER):
        return False
    counts = _counts(table, index)
    if not _LEAST_GROUPS <= len(counts) <= _MOST_GROUPS * len(table):
        return False
    if np.median(counts) < 2:
        return False
    if _names_someone(column.name):
        return True
    is_text = column.kind is Kind.CATEGORY and isinstance(column.levels[0], str)
    many = is_text and len(counts) >= max(_MANY_LEVELS, len(table) / 20)
    return many and _shares_target(table, index)


def _names_someone(name: object) -> bool:
    if not isinstance(name, str):
        return False
    words = [part.lower() for part in _NAME_PARTS.findall(name)]
    # The last word is what it is: a patient's age is an age.
    return names_an_identifier(name) or bool(words and words[-1] in _WHO)


def _counts(table: Table, index: int) -> IntArray:
    cells = table.cells[index][table.missing[:, index] == 0]
    return np.unique(cells, return_counts=True)[1]


def _shares_target(table: Table, index: int) -> bool:
    """Whether rows of one value nearly always have one target."""
    present = table.missing[:, index] == 0
    _, code = np.unique(table.cells[index][present], return_inverse=True)
    condition = table.condition[present]
    lows, highs = (np.zeros(code.max() + 1, dtype=np.int64) for _ in range(2))
    lows[:] = condition.max()
    np.minimum.at(lows, code, condition)
    np.maximum.at(highs, code, condition)
    several = np.bincount(code) > 1
    return bool((lows == highs)[several].mean() >= _SAME_TARGET)


# ---- Columns that give the target away: copies of it, and those that tell it alone.
#
# A column that says the target by itself is rarely a measurement and mostly something
# that was written down after the fact.  Rows made with it teach nothing.


MAX_ROWS = 2_000
"""Rows that are looked at, those of rare classes first; more would not change the
answer."""

ALONE = 0.98
"""Share of the classes told, or of the variance explained, by one column alone."""

_SAME_ORDER = 0.9995
_N_FOLDS = 5
_LEAST_LEAF = 2
_MOST_IN_TREES = 1e30
"""Trees hold numbers of 32 bits, and squares of larger ones are infinite."""


def leak_remarks(table: Table) -> list[Remark]:
    """Return a remark for each column that gives the target away."""
    target = table.schema.target
    if target is None:
        return []
    rng = stream(0, "leaks")
    if len(table) > MAX_ROWS:
        table = table.take(even_sample(table.condition, MAX_ROWS, rng))
    n_folds = min(_N_FOLDS, len(table))
    fold = folds(table.condition, n_folds, rng)
    remarks = []
    for index, column in enumerate(table.schema.features):
        if column.kind in (Kind.IDENTIFIER, Kind.CONSTANT):
            continue
        text = _leak_text(table, index, fold, is_class=target.task == "classification")
        if text:
            remarks.append(
                Remark(topic="leak", column=column.name, text=text, setting="ignore")
            )
    return remarks


def _leak_text(table: Table, index: int, fold: IntArray, *, is_class: bool) -> str:
    values = _values(table, index)
    if _is_copy(values, table.target):
        return (
            "says the same as the target in other words: each of its values goes "
            "with one of the target's"
        )
    if is_class:
        score = _balanced_accuracy(values, table.target.astype(np.int64), fold)
        if score >= ALONE:
            return (
                f"tells the target almost alone: {score:.0%} of each class are right "
                "from this column only"
            )
        return ""
    # Squares of the largest and the smallest numbers are none.
    numbers = table.target_values / (np.abs(table.target_values).max() or 1.0)
    explained = max(_r_squared(values, numbers, fold), _same_order(values, numbers))
    if explained >= ALONE:
        return "tells the target almost alone: it explains nearly all of its spread"
    return ""


def _values(table: Table, index: int) -> FloatArray:
    """Return a column as numbers; a hole is a value of its own, below all others."""
    values = np.asarray(table.cells[index], dtype=np.float64).copy()
    hole = table.missing[:, index] > 0
    present = values[~hole]
    values[hole] = (present.min() if len(present) else 0.0) - 1.0
    if np.abs(values).max() > _MOST_IN_TREES:
        # A tree asks for their order alone.
        return np.unique(values, return_inverse=True)[1].astype(np.float64)
    return values


def _is_copy(values: FloatArray, target: NDArray[np.generic]) -> bool:
    _, code = np.unique(values, return_inverse=True)
    _, label = np.unique(target, return_inverse=True)
    n_codes, n_labels = code.max() + 1, label.max() + 1
    # Where nothing comes back, any two columns go together.
    if n_codes != n_labels or n_codes == len(values):
        return False
    return bool(len(np.unique(code * n_labels + label)) == n_codes)


def _balanced_accuracy(values: FloatArray, label: IntArray, fold: IntArray) -> float:
    """Return the mean over classes of the share that a tree tells out of fold."""
    from sklearn.tree import DecisionTreeClassifier

    predicted = np.full(len(label), -1, dtype=np.int64)
    for left_out in _splits(fold):
        tree = DecisionTreeClassifier(min_samples_leaf=_LEAST_LEAF, random_state=0)
        tree.fit(values[~left_out, None], label[~left_out])
        predicted[left_out] = tree.predict(values[left_out, None])
    shares = [float((predicted[label == k] == k).mean()) for k in np.unique(label)]
    return float(np.mean(shares))


def _r_squared(values: FloatArray, numbers: FloatArray, fold: IntArray) -> float:
    from sklearn.tree import DecisionTreeRegressor

    predicted = np.zeros(len(numbers))
    for left_out in _splits(fold):
        tree = DecisionTreeRegressor(min_samples_leaf=_LEAST_LEAF, random_state=0)
        tree.fit(values[~left_out, None], numbers[~left_out])
        predicted[left_out] = tree.predict(values[left_out, None])
    return 1.0 - float(np.mean((numbers - predicted) ** 2) / np.var(numbers))


def _same_order(values: FloatArray, numbers: FloatArray) -> float:
    """Return 1 where a column puts the rows in the target's order, or its reverse."""
    from scipy.stats import rankdata

    ranks = rankdata(values), rankdata(numbers)
    if any(np.ptp(rank) == 0 for rank in ranks):
        return 0.0
    alike = abs(float(np.corrcoef(*ranks)[0, 1]))
    return 1.0 if alike >= _SAME_ORDER else 0.0


def _splits(fold: IntArray) -> list[BoolArray]:
    return [fold == number for number in np.unique(fold)]


# ---- What is to be said of the rows: too few, alike, or of very unequal classes.


FEW_ROWS = 40
"""Below this only large gains can be shown."""

TINY = 5
"""A class with fewer rows is missing from some of the folds."""

_SHOWN = 5


def row_remarks(table: Table) -> list[Remark]:
    """Return the remarks on rows and classes."""
    duplicates = [*copy_remarks(table), *torn_remarks(table)]
    return [*_few(table), *duplicates, *class_remarks(table)]


def _few(table: Table) -> list[Remark]:
    if len(table) >= FEW_ROWS:
        return []
    text = (
        f"there are only {len(table)} rows: what helps by a little cannot be shown, "
        "and 'no gain' then means not shown"
    )
    return [Remark(topic="few rows", column=None, text=text)]


def copy_remarks(table: Table) -> list[Remark]:
    """Return a remark on rows that repeat others, if there are any."""
    whole = row_numbers([*table.cells, *table.missing.T, table.target], len(table))
    n_copies = len(table) - len(np.unique(whole))
    if not n_copies:
        return []
    verb = "repeats" if n_copies == 1 else "repeat"
    text = (
        f"{counted(n_copies, 'row')} {verb} another row exactly "
        f"({share(n_copies, len(table))}): a copy on both sides of a split makes "
        "every score too good; drop copies that are one and the same thing"
    )
    return [Remark(topic="duplicates", column=None, text=text)]


def torn_remarks(table: Table) -> list[Remark]:
    """Return a remark on rows that are alike but for the target, if there are any."""
    features = row_numbers([*table.cells, *table.missing.T], len(table))
    whole = row_numbers([features, table.target], len(table))
    # Of each set of equal features: how many different rows, the target included.
    _, first = np.unique(whole, return_index=True)
    n_targets = np.bincount(features[first], minlength=features.max() + 1)
    n_torn = int((n_targets[features] > 1).sum())
    if not n_torn:
        return []
    text = (
        f"{counted(n_torn, 'row')} are alike in every feature but differ in the "
        "target: no learner can tell them apart"
    )
    return [Remark(topic="duplicates", column=None, text=text)]


def class_remarks(table: Table) -> list[Remark]:
    """Return the remarks on classes of few rows."""
    target = table.schema.target
    if target is None or target.task != "classification":
        return []
    levels = target.column.levels
    counts = np.bincount(table.condition, minlength=len(levels))
    name = target.column.name
    remarks = []
    tiny = [i for i in range(len(levels)) if counts[i] < TINY]
    if tiny:
        text = (
            f"{_levels(levels, counts, tiny)}: with fewer than {TINY} a class is "
            "missing from some of the checks; collect more, or join it to another"
        )
        remarks.append(Remark(topic="tiny class", column=name, text=text))
    rare = [i for i in range(len(levels)) if TINY <= counts[i] < RARE * counts.max()]
    if rare:
        text = (
            f"{_levels(levels, counts, rare)}: rare beside {counts.max()} of the most "
            "frequent; a mixture of 'balanced' asks for as many new rows of each, and "
            "a yardstick such as balanced_accuracy counts each class the same"
        )
        remarks.append(Remark(topic="imbalance", column=name, text=text))
    return remarks


def _levels(levels: tuple[object, ...], counts: IntArray, chosen: list[int]) -> str:
    listed = [
        f"class {levels[i]!r} has {counted(int(counts[i]), 'row')}" for i in chosen
    ]
    more = f", and {len(listed) - _SHOWN} more" if len(listed) > _SHOWN else ""
    return ", ".join(listed[:_SHOWN]) + more


# ---- One remark on a table: what was found, and the setting that answers it.


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """Something that a person should look at before rows are added."""

    topic: str
    """One of ``leak``, ``identifier``, ``lost``, ``groups``, ``imbalance``,
    ``tiny class``, ``duplicates``, ``constant``, ``missing``, ``code``, ``formula``,
    ``computed``, ``few rows``; ``refused`` and ``question`` of what keeps rows from
    being added."""

    column: Hashable | None
    """None if it is about the table as a whole."""

    text: str
    """A sentence."""

    setting: str | None = None
    """The setting that answers it, such as ``groups`` or ``ignore``, for ``column``."""


def share(part: int, whole: int) -> str:
    """Return a share in words of percent, never rounded to none or all.

    Examples
    --------
    >>> share(1, 1000), share(999, 1000), share(1, 4)
    ('under 1 %', 'over 99 %', '25 %')
    """
    percent = 100 * part / whole
    if 0 < percent < 1:
        return "under 1 %"
    if 99 < percent < 100:
        return "over 99 %"
    return f"{percent:.0f} %"
