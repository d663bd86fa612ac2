"""What was understood of a table, in a few lines before anything runs."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from tabtap.cli.reading import Reading
from tabtap.cli.screen import Screen, clipped

if TYPE_CHECKING:
    from tabtap.table import Table

_SHOWN_CLASSES = 8
_NAMES_WIDTH = 56
_KINDS = {
    "continuous": "numbers",
    "integer": "whole numbers",
    "datetime": "times",
    "boolean": "yes or no",
    "category": "categories",
    "constant": "constant",
    "identifier": "not learned",
}
"""What kinds are called here, in the order in which they are shown."""


def show_understood(screen: Screen, reading: Reading, table: Table) -> None:
    """Say what the table is taken for."""
    n_columns = len(table.schema.features)
    place = "Standard input" if reading.file.path is None else str(reading.file.path)
    screen.say(f"{place}: {len(table)} rows, {n_columns} columns beside the target.")
    screen.say(f"Target {target_words(table)}.")
    for kind, names in _by_kind(reading, table).items():
        listed = clipped(", ".join(names), _NAMES_WIDTH)
        screen.say(f"  {kind:<13} {len(names):>4}  {listed}")
    for note in reading.notes:
        screen.note(note)
    screen.say("")


def target_words(table: Table) -> str:
    """Return the target, its task and its classes with their rows."""
    target = table.schema.target
    if target is None:
        return "none"
    name = clipped(target.column.name, 40)
    if target.task == "regression":
        values = table.target_values
        return f"{name}: a number, {values.min():g} to {values.max():g}"
    counts = Counter(table.condition.tolist())
    levels = target.column.levels
    shown = [
        f"{clipped(levels[code], 24)} {count}"
        for code, count in counts.most_common(_SHOWN_CLASSES)
    ]
    more = ", ..." if len(counts) > _SHOWN_CLASSES else ""
    return f"{name}: {len(levels)} classes ({', '.join(shown)}{more})"


def _by_kind(reading: Reading, table: Table) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {word: [] for word in _KINDS.values()}
    groups = [] if reading.groups is None else [str(reading.groups)]
    for column in table.schema.features:
        name = str(column.name)
        if name not in groups:
            found[_KINDS[column.kind.value]].append(name)
    found["not learned"] += [str(name) for name in reading.empty]
    found["groups"] = groups
    return {kind: names for kind, names in found.items() if names}
