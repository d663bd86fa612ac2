"""The user's file as commands read it: the frame, what is meant of it, the table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from tabtap.cli.options import column_named, pairs_of, table_option
from tabtap.cli.terminal import Screen, clipped
from tabtap.errors import UserInputError

if TYPE_CHECKING:
    from tabtap.files import FileTable
    from tabtap.inspection import SchemaFile
    from tabtap.table import Table
    from tabtap.table.targets import TaskChoice


_SHOWN_NAMES = 12


class TaskName(str, Enum):
    """What a target is."""

    AUTO = "auto"
    CLASSIFICATION = "classification"
    REGRESSION = "regression"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableOptions:
    """What the user says of the table."""

    train: Annotated[
        str,
        typer.Argument(
            metavar="TRAIN",
            help="The table: csv, tsv, parquet, feather, xlsx or jsonl, compressed or "
            "not; - for standard input.",
        ),
    ]
    target: Annotated[
        str | None, table_option("--target -t COL", "The column to be predicted.")
    ] = None
    schema: Annotated[
        Path | None,
        table_option(
            "--schema FILE",
            "What the columns are, as tabtap inspect wrote it and you corrected it.",
        ),
    ] = None
    kinds: Annotated[
        list[str] | None,
        table_option(
            "--kind COL=KIND",
            "What a column is: continuous, integer, datetime, boolean, category, "
            "'ordered category', identifier. May be repeated.",
        ),
    ] = None
    ignored: Annotated[
        list[str] | None,
        table_option(
            "--ignore COL",
            "A column not to learn; new rows leave it empty. May be repeated.",
        ),
    ] = None
    groups: Annotated[
        str | None,
        table_option(
            "--groups COL",
            "A column that says which rows belong together, such as a patient.",
        ),
    ] = None
    task: Annotated[
        TaskName,
        table_option(
            "--task NAME",
            "classification, regression, or auto: by the values of the target.",
            show_default=False,
        ),
    ] = TaskName.AUTO
    sheet: Annotated[
        str | None,
        table_option(
            "--sheet NAME", "The sheet of an Excel file; the first by default."
        ),
    ] = None
    format: Annotated[
        str | None,
        table_option(
            "--format NAME", "The format of standard input and output; csv by default."
        ),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A file that was read, and what its columns are meant to be."""

    file: FileTable

    frame: Any
    """The pandas frame that is learned: without columns that hold nothing."""

    empty: tuple[Hashable, ...]
    """Columns that hold nothing; they are put back when the table is written."""

    target: Hashable | None
    task: TaskChoice = "auto"
    groups: Hashable | None = None
    kinds: Mapping[Hashable, str] = field(default_factory=dict)

    @property
    def notes(self) -> tuple[str, ...]:
        """What had to be assumed, a sentence each."""
        if not self.empty:
            return self.file.notes
        names = ", ".join(map(repr, map(str, self.empty)))
        said = f"Without a single value, and so not learned: {names}."
        return (*self.file.notes, said)

    def table(self, *, floor: int | None = None) -> Table:
        """Return the exact table, or raise every problem of it."""
        from tabtap.table import MIN_ROWS, read_frame

        kinds = dict(self.kinds)
        if self.groups is not None:
            kinds.setdefault(self.groups, "identifier")
        return read_frame(
            self.frame,
            self.target,
            task=self.task,
            kinds=kinds,
            floor=MIN_ROWS if floor is None else floor,
        )

    def restored(self, frame: Any) -> Any:  # noqa: ANN401 - pandas
        """Return a frame with the empty columns in their places again."""
        whole = frame.copy()
        names = list(self.file.frame.columns)
        for name in self.empty:
            column = self.file.frame[name].reindex(range(len(frame)))
            whole.insert(names.index(name), name, column.to_numpy())
        return whole


def read(options: TableOptions) -> Reading:
    """Read the file and find the columns that are meant.

    Raises
    ------
    UserInputError
        If the file cannot be read, or a name is not that of a column.
    """
    from tabtap.files import read_table

    file = read_table(options.train, sheet=options.sheet, format=options.format)
    frame = file.frame
    said = _schema(options, list(frame.columns))
    target = column_named("--target", options.target, list(frame.columns))
    if target is None:
        target = said.target
    empty = tuple(
        name for name in frame.columns
        if name != target and len(frame) and bool(frame[name].isna().all())
    )  # fmt: skip
    left_out = set(empty)
    named = [column for column in frame.columns if column not in left_out]
    groups = column_named("--groups", options.groups, named)
    kinds = {**said.kinds, **_kinds(options, list(frame.columns))}
    return Reading(
        file=file,
        frame=frame.drop(columns=list(empty)),
        empty=empty,
        target=target,
        task=_task(options, said),
        groups=said.groups if groups is None else groups,
        kinds={name: kind for name, kind in kinds.items() if name not in left_out},
    )


def need_target(reading: Reading) -> Hashable:
    """Return the target, or ask for it."""
    if reading.target is not None:
        return reading.target
    names = [str(name) for name in reading.file.frame.columns]
    listed = ", ".join(names[:_SHOWN_NAMES])
    more = ", ..." if len(names) > _SHOWN_NAMES else ""
    raise UserInputError(
        f"Which column is to be predicted? Name it: --target COL. There are: "
        f"{listed}{more}."
    )


def _schema(options: TableOptions, names: list[Hashable]) -> SchemaFile:
    from tabtap.inspection import SchemaFile, read_schema_file

    if options.schema is None:
        return SchemaFile()
    return read_schema_file(options.schema, names)


def _task(options: TableOptions, said: SchemaFile) -> TaskChoice:
    told = options.task.value
    return cast("TaskChoice", told if told != "auto" else said.task or "auto")


def _kinds(options: TableOptions, names: list[Hashable]) -> dict[Hashable, str]:
    kinds: dict[Hashable, str] = {}
    for text, kind in pairs_of("--kind", options.kinds or ()).items():
        if (name := column_named("--kind", text, names)) is not None:
            kinds[name] = "identifier" if kind == "ignore" else kind
    for text in options.ignored or ():
        if (name := column_named("--ignore", text, names)) is not None:
            kinds[name] = "identifier"
    return kinds


# ---- What was understood of a table, in a few lines before anything runs.


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
