"""The user's file as commands read it: the frame, what is meant of it, the table."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from tabtap.cli.options import column_named, pairs_of, table_option
from tabtap.cli.terminal import Screen, clipped
from tabtap.errors import BadTableError, UserInputError
from tabtap.wording import set_aside_note

if TYPE_CHECKING:
    from tabtap.files import ColumnStyle, FileTable, Question
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
            "'ordered category', identifier; or how its cells are read: 'as written', "
            "'two numbers'. May be repeated.",
        ),
    ] = None
    decimal: Annotated[
        list[str] | None,
        table_option(
            "--decimal [COL=]SIGN",
            "The decimal sign of a text file or of one column: . or ,",
        ),
    ] = None
    thousands: Annotated[
        list[str] | None,
        table_option("--thousands [COL=]SIGN", "The sign between thousands: . or ,"),
    ] = None
    date_format: Annotated[
        list[str] | None,
        table_option(
            "--date-format [COL=]FORM",
            "How dates are written, such as %d.%m.%Y or %m/%d/%Y.",
        ),
    ] = None
    missing: Annotated[
        list[str] | None,
        table_option(
            "--missing [COL=]TEXT",
            "A code for a missing value, such as age=999. May be repeated.",
        ),
    ] = None
    ignored: Annotated[
        list[str] | None,
        table_option(
            "--ignore COL",
            "A column not to learn; new rows leave it empty. May be repeated.",
        ),
    ] = None
    computed: Annotated[
        str,
        table_option(
            "--computed COLS",
            "Columns that others give in every row, such as a total, are computed in "
            "new rows: auto, none, or their names with commas.",
            show_default=False,
        ),
    ] = "auto"
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
    """The pandas frame that is learned: without columns that hold nothing, and without
    rows that have no label."""

    empty: tuple[Hashable, ...]
    """Columns that hold nothing; they are put back when the table is written."""

    target: Hashable | None
    task: TaskChoice = "auto"
    groups: Hashable | None = None
    computed: str | tuple[Hashable, ...] = "auto"
    kinds: Mapping[Hashable, str] = field(default_factory=dict)

    told: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """What was said of the cells of the file, by column."""

    @property
    def questions(self) -> list[Question]:
        """What has to be answered first: of columns whose kind was not named."""
        named = {*map(str, self.kinds), str(self.groups)}
        return [asked for asked in self.file.questions if asked.column not in named]

    @property
    def notes(self) -> tuple[str, ...]:
        """What had to be assumed, a sentence each."""
        said = []
        if self.empty:
            names = ", ".join(map(repr, map(str, self.empty)))
            said.append(f"Without a single value, and so not learned: {names}.")
        if self.n_set_aside:
            said.append(set_aside_note(self.n_set_aside, self.target))
        return (*self.file.notes, *said)

    @property
    def n_set_aside(self) -> int:
        """How many rows of the file have no label."""
        return len(self.file.frame) - len(self.frame)

    @property
    def given(self) -> Any:  # noqa: ANN401 - pandas
        """All rows of the file, those without a label too, without empty columns."""
        return self.file.frame.drop(columns=list(self.empty))

    def table(self, *, floor: int | None = None) -> Table:
        """Return the exact table, or raise every problem of it."""
        from tabtap.table import MIN_ROWS, read_frame

        if self.questions:
            raise UserInputError(_ask(self.questions))
        kinds = dict(self.kinds)
        if self.groups is not None:
            kinds.setdefault(self.groups, "identifier")
        try:
            table = read_frame(
                self.frame,
                self.target,
                task=self.task,
                kinds=kinds,
                floor=MIN_ROWS if floor is None else floor,
            )
            places = self.frame.index.to_numpy(dtype="int64")
            return replace(table, origin=places)
        except BadTableError as error:
            # Whoever is at the command line cannot do what helps in Python.
            problems = [replace(p, fix=p.option or p.fix) for p in error.problems]
            raise BadTableError(problems) from None

    def restored(self, frame: Any) -> Any:  # noqa: ANN401 - pandas
        """Return a frame of given and new rows with the empty columns in place."""
        whole = frame.reset_index(drop=True)
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
    import numpy as np

    from tabtap.files import read_table

    told = _told(options)
    file = read_table(
        options.train, sheet=options.sheet, format=options.format, **as_read(told)
    )
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
    kinds = {**said.kinds, **_kinds(options, file)}
    learned = frame.drop(columns=list(empty))
    labelled = True if target is None else frame[target].notna().to_numpy(dtype=bool)
    if np.any(labelled) and not np.all(labelled):
        learned = learned[labelled]
    return Reading(
        file=file,
        frame=learned,
        empty=empty,
        target=target,
        task=_task(options, said),
        groups=said.groups if groups is None else groups,
        computed=_computed(options, said, named),
        kinds={name: kind for name, kind in kinds.items() if name not in left_out},
        told=told,
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


def _computed(
    options: TableOptions, said: SchemaFile, names: Sequence[Hashable]
) -> str | tuple[Hashable, ...]:
    word = options.computed.strip()
    if word == "auto":
        return "auto" if said.computed is None else said.computed
    if word == "none":
        return word
    found = (
        column_named("--computed", part.strip(), names) for part in word.split(",")
    )
    return tuple(name for name in found if name is not None)


def _kinds(options: TableOptions, file: FileTable) -> dict[Hashable, str]:
    names = list(file.frame.columns)
    parts = {s.name: s.parts for s in file.cell_styles if s.kind == "pair"}
    kinds: dict[Hashable, str] = {}
    said = [
        ("--kind", text, "identifier" if kind == "ignore" else kind)
        for text, kind in pairs_of("--kind", options.kinds or ()).items()
        if kind not in _READINGS
    ]
    said += [("--ignore", text, "identifier") for text in options.ignored or ()]
    for option, text, kind in said:
        for part in parts.get(text, (text,)):
            if (name := column_named(option, part, names)) is not None:
                kinds[name] = kind
    return kinds


# ---- What was said of cells: on the command line, and before it in a schema file.


_READINGS = ("as written", "two numbers")
_ALL = "*"


def as_read(told: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return what was said of cells as ``read_table`` takes it."""
    names = {"as": "reading"}
    given: dict[str, Any] = {}
    for column, says in told.items():
        for key, value in says.items():
            codes = [value] if key == "missing" and isinstance(value, str) else value
            given.setdefault(names.get(key, key), {})[column] = codes
    return given


def read_alike(path: str, reading: Reading) -> tuple[Any, tuple[str, ...]]:
    """Read another file as TRAIN was read: its frame, and what had to be assumed.

    Raises
    ------
    UserInputError
        If it lacks a column, or a column cannot be read as it was in TRAIN.
    """
    from tabtap.files import read_table

    told = {column: dict(says) for column, says in reading.told.items()}
    for style in reading.file.cell_styles:
        told[style.name] = {**_settled(style), **told.get(style.name, {})}
    told = {column: says for column, says in told.items() if says}
    try:
        later = read_table(path, **as_read(told))
    except UserInputError:
        _check_columns(read_table(path).frame, path, reading)
        raise
    _check_columns(later.frame, path, reading)
    problems = [
        problem
        for name in reading.frame.columns
        if (problem := _other_reading(str(name), reading.file, later))
    ]
    if problems:
        listed = "".join(f"\n  - {problem}" for problem in problems)
        raise UserInputError(
            f"{path!r} cannot be read as TRAIN is. Write both alike:{listed}"
        )
    return _in_words_of(later.frame, reading), later.notes


def _settled(style: ColumnStyle) -> dict[str, str]:
    """Return what the cells of a column turned out to be, as one would say it."""
    if style.kind == "pair":
        return {"as": "two numbers"}
    if style.kind == "text":
        return {"as": "as written"}
    if style.kind == "time" and style.time is not None and style.time.format:
        return {"date_format": style.time.format}
    spelling = style.spelling
    if style.kind == "float" or (spelling is not None and spelling.thousands):
        return {"decimal": style.decimal}
    return {}


def _check_columns(frame: Any, path: str, reading: Reading) -> None:  # noqa: ANN401
    lacking = [str(name) for name in reading.frame.columns if name not in frame]
    if lacking:
        raise UserInputError(
            f"--test {path!r} lacks columns that TRAIN has: {', '.join(lacking)}. Both "
            "must have the same."
        )


def _other_reading(name: str, train: FileTable, test: FileTable) -> str:
    """Return in which way a column of numbers or times is other than in TRAIN."""
    from pandas.api.types import is_datetime64_any_dtype, is_numeric_dtype

    before, after = train.frame[name], test.frame[name]
    for is_kind, what in (
        (is_numeric_dtype, "numbers"),
        (is_datetime64_any_dtype, "times"),
    ):
        if is_kind(before) and not is_kind(after) and after.notna().any():
            example = next(cell for cell in after if isinstance(cell, str) and cell)
            return f"column {name!r} holds {what} in TRAIN, and {example!r} there"
    units = [_unit(name, file) for file in (train, test)]
    if None not in units and units[0] != units[1]:
        first, second = (repr(unit) if unit else "no unit" for unit in units)
        return f"column {name!r} is in {first} in TRAIN, and in {second} there"
    return ""


def _unit(name: str, file: FileTable) -> str | None:
    """Return what stands around the numbers of a column; None if it has no style."""
    for style in file.cell_styles:
        if name in style.parts and style.kind in ("integer", "float"):
            spelling = style.spelling
            return "" if spelling is None else (spelling[0] + spelling[1]).strip()
    return None


def _in_words_of(frame: Any, reading: Reading) -> Any:  # noqa: ANN401 - pandas
    """Return a frame whose texts are spelt as the same words are in TRAIN."""
    written = {s.name for s in reading.file.cell_styles if s.kind == "text"}
    frame = frame.copy()
    for name in written & {str(column) for column in frame.columns}:
        if reading.told.get(name, {}).get("as") == "as written":
            continue
        usual = {_bare(word): word for word in reading.file.frame[name].dropna()}
        words = {
            cell: usual[_bare(cell)]
            for cell in frame[name].dropna().unique()
            if isinstance(cell, str) and usual.get(_bare(cell), cell) != cell
        }
        frame[name] = frame[name].replace(words)
    return frame


def _bare(word: str) -> str:
    """Return a word without stray spaces and capitals; short ones keep these."""
    bare = " ".join(str(word).split())
    return bare.lower() if len(bare) >= _LEAST_LETTERS else bare


_LEAST_LETTERS = 3


def _told(options: TableOptions) -> dict[str, dict[str, Any]]:
    from tabtap.inspection import read_schema_file

    told: dict[str, dict[str, Any]] = {}
    if options.schema is not None:
        said = read_schema_file(options.schema, None).reading
        told = {column: dict(says) for column, says in said.items()}
    for name, kind in pairs_of("--kind", options.kinds or ()).items():
        if kind in _READINGS:
            told.setdefault(name, {})["as"] = kind
    for key in ("decimal", "thousands", "date_format"):
        for text in getattr(options, key) or ():
            column, value = _of_column(text)
            told.setdefault(column, {})[key] = value
    for text in options.missing or ():
        column, value = _of_column(text)
        says = told.setdefault(column, {})
        before = says.get("missing", [])
        says["missing"] = [*([before] if isinstance(before, str) else before), value]
    return told


def _of_column(text: str) -> tuple[str, str]:
    name, sign, value = text.rpartition("=")
    return (name.strip(), value.strip()) if sign and name else (_ALL, text.strip())


def _ask(questions: Sequence[Question]) -> str:
    if len(questions) == 1:
        (asked,) = questions
        return f"Column {asked.column!r} {asked.text}. Say which: {asked.option}."
    lines = [
        f"\n  - column {asked.column!r} {asked.text}: {asked.option}"
        for asked in questions
    ]
    return (
        f"{len(questions)} columns can be read in several ways. Say which:"
        f"{''.join(lines)}"
    )


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


def show_understood(screen: Screen, reading: Reading, table: Table) -> list[str]:
    """Say what the table is taken for, and return the notes that were shown."""
    n_columns = len(table.schema.features)
    place = "Standard input" if reading.file.path is None else str(reading.file.path)
    screen.say(f"{place}: {len(table)} rows, {n_columns} columns beside the target.")
    screen.say(f"Target {target_words(table)}.")
    for kind, names in _by_kind(reading, table).items():
        listed = clipped(", ".join(names), _NAMES_WIDTH)
        screen.say(f"  {kind:<13} {len(names):>4}  {listed}")
    notes = [*reading.notes, *look_at(reading, table)]
    for note in notes:
        screen.note(note)
    screen.say("")
    return notes


def look_at(reading: Reading, table: Table) -> list[str]:
    """Return a sentence on each column that may not be what it was taken for."""
    from tabtap.inspection.inspect import column_remarks

    remarks = column_remarks(table, {*reading.kinds, reading.groups})
    return [
        f"Column {str(remark.column)!r} {remark.text}."
        for remark in remarks
        if remark.topic in ("lost", "code")
    ]


def own_notes(notes: Sequence[str], reading: Reading, table: Table) -> tuple[str, ...]:
    """Return the notes of a run with options in the place of Python code."""
    from tabtap.table.suspects import lost_columns

    lost = lost_columns(table, {*reading.kinds, reading.groups})
    said = {
        str(each): f"Column {str(each.name)!r} {each.found}; {each.option}."
        for each in lost
    }
    return tuple(own_words(said.get(note, note)) for note in notes)


def own_words(text: str) -> str:
    """Return a text with options in the place of the settings of Python.

    Examples
    --------
    >>> own_words("if they are of one person: groups='the patient'.")
    "if they are of one person: --groups 'the patient'."
    """
    for pattern, option in _OPTIONS:
        text = pattern.sub(partial(_as_option, option), text)
    return text


_NAME = r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\d+)"""
_OPTIONS = tuple(
    (re.compile(words.replace("NAME", _NAME)), option)
    for words, option in (
        (r"\bgroups=NAME", "--groups"),
        (r"\bpreset=NAME", "--preset"),
        (
            "Drop it if it was written down after the fact: NAME",
            "If it was written down after the fact, leave it out: --ignore",
        ),
        (
            r"Drop it, or keep it from being learned: kinds=\{NAME: 'identifier'\}",
            "Keep it from being learned: --ignore",
        ),
    )
)
"""How sentences name a column or a word in Python, and the option that takes it."""


def _as_option(option: str, found: re.Match[str]) -> str:
    from tabtap.table.problems import told

    return told(option, ast.literal_eval(found[1]))


class OwnScreen(Screen):
    """A screen that names options where sentences have settings of Python."""

    __slots__ = ()

    def say(self, text: str, style: str = "") -> None:
        """Write some text, wrapped."""
        super().say(own_words(text), style)


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
