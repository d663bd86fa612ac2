"""What the columns are, in a TOML file for a person to correct.

It says what the target and the task are, and the kind of every column, each with a
comment on what was found.  Columns that it leaves out are inferred.
"""

from __future__ import annotations

import difflib
import json
import re
import sys
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tabtap.errors import FileFormatError
from tabtap.inspection.inspect import Remark
from tabtap.table.describe import column_lines
from tabtap.table.schema import Kind
from tabtap.table.table import Table

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

IGNORE = "ignore"
KINDS = (*(kind.value for kind in Kind), "ordered category", IGNORE)
"""What a column can be said to be."""

_TASKS = ("auto", "classification", "regression")
_KEYS = ("target", "task", "groups", "computed", "columns", "reading")
_SHAPE = (
    "A schema file has target, task, groups, computed, and the sections [columns] and "
    "[reading]."
)
ALL = "*"
"""Stands for every column in the section [reading]."""

_READING = {
    "as": (str,),
    "decimal": (str,),
    "thousands": (str,),
    "date_format": (str,),
    "missing": (str, list),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaFile:
    """What a schema file says; None where it says nothing."""

    target: Hashable | None = None
    task: str | None = None
    groups: Hashable | None = None

    computed: tuple[Hashable, ...] | None = None
    """Columns that are computed from others in new rows; None for all found."""

    kinds: Mapping[Hashable, str] = field(default_factory=dict)
    """By column; one that is to be ignored is an identifier."""

    reading: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """How the cells of a column of the file are written, by column."""


def schema_file_text(
    table: Table,
    remarks: Sequence[Remark] = (),
    reading: Mapping[str, Mapping[str, Any]] | None = None,
) -> str:
    """Return the file that says what was inferred of a table with a target.

    Each of the remarks, by ``inspect_table``, becomes a comment above its column;
    ``reading`` is what the user said of the cells.
    """
    target = table.schema.target
    if target is None:
        raise AssertionError("a table without a target has nothing to be augmented for")
    lines = [
        "# What the columns are. Correct it, and pass it back with --schema.",
        f"# Kinds: {', '.join(KINDS)}.",
        "",
        f"target = {_text(target.column.name)}",
        f"task = {_text(target.task)}",
        *_group_lines(remarks),
        *_computed_lines(remarks),
        "",
        "[columns]",
    ]
    seen = {line.name: line for line in column_lines(table)}
    # What a spreadsheet makes of a text does not say what its column is.
    about = {r.column: r.text for r in remarks if r.topic != "formula"}
    for column in table.schema.features:
        kind = "ordered category" if column.ordered else column.kind.value
        if column.name in about:
            lines.append(_comment(about[column.name]))
        line = seen[column.name]
        note = _comment(f"{line.seen}; missing {line.missing}; new: {line.plan}")
        lines.append(f"{_text(column.name)} = {_text(kind)}  {note}")
    if reading:
        lines += ["", "[reading]"]
    for name, told in (reading or {}).items():
        parts = ", ".join(f"{key} = {_value(value)}" for key, value in told.items())
        lines.append(f"{_text(name)} = {{ {parts} }}")
    return "\n".join(lines) + "\n"


def read_schema_file(
    path: str | Path, columns: Sequence[Hashable] | None
) -> SchemaFile:
    """Return what a schema file says of a table with these columns.

    Without columns none of the names is checked: the section ``[reading]`` is needed
    before the table can be read.  If it says what cannot be, the ``FileFormatError``
    names the line and what can.
    """
    text = _content(path)
    try:
        content = tomllib.loads(text)
    # Also what is nested too deeply, or has numbers of thousands of digits.
    except (ValueError, RecursionError) as error:
        raise FileFormatError(
            f"Schema file {str(path)!r} is not TOML: {error}. {_SHAPE}"
        ) from None
    known = None if columns is None else {str(name): name for name in columns}
    reader = _Reader(str(path), text, known)
    return reader.read(content)


@dataclass(frozen=True, slots=True)
class _Reader:
    path: str
    text: str
    columns: Mapping[str, Hashable] | None

    def read(self, content: Mapping[str, Any]) -> SchemaFile:
        for key in content:
            if key not in _KEYS:
                raise self._error(key, f"the key {key!r} is unknown", _near(key, _KEYS))
        task = content.get("task")
        if task is not None and task not in _TASKS:
            raise self._error("task", f"task {task!r} is unknown", _near(task, _TASKS))
        kinds = content.get("columns", {})
        if not isinstance(kinds, Mapping):
            raise self._error("columns", "'columns' is not a section", "Use [columns].")
        return SchemaFile(
            target=self._column(content, "target"),
            task=task,
            groups=self._column(content, "groups"),
            computed=self._computed(content.get("computed")),
            kinds={
                self._find_column(name, name): self._kind(name, kind)
                for name, kind in kinds.items()
            },
            reading=self._reading(content.get("reading", {})),
        )

    def _computed(self, names: Any) -> tuple[Hashable, ...] | None:  # noqa: ANN401
        if names is None:
            return None
        if not isinstance(names, list) or not all(isinstance(n, str) for n in names):
            fix = 'Write computed = ["total"], or [] to have all of them drawn.'
            raise self._error("computed", "'computed' is no list of columns", fix)
        return tuple(self._find_column(name, "computed") for name in names)

    def _reading(self, told: Any) -> dict[str, dict[str, Any]]:  # noqa: ANN401
        if not isinstance(told, Mapping):
            raise self._error("reading", "'reading' is not a section", "Use [reading].")
        for name, says in told.items():
            if not isinstance(says, Mapping):
                fix = 'Write it as { decimal = "," }.'
                raise self._error(name, f"reading of {name!r} is {says!r}", fix)
            for key, value in says.items():
                if key not in _READING:
                    problem = f"{key!r} is unknown in the reading of {name!r}"
                    raise self._error(name, problem, _near(key, tuple(_READING)))
                if not isinstance(value, _READING[key]):
                    problem = f"{key!r} of {name!r} is {value!r}, which is no text"
                    raise self._error(name, problem, "Put it in quotes.")
        return {name: dict(says) for name, says in told.items()}

    def _column(self, content: Mapping[str, Any], key: str) -> Hashable | None:
        return self._find_column(str(content[key]), key) if key in content else None

    def _find_column(self, name: str, key: str) -> Hashable:
        if self.columns is None:
            return name
        if name not in self.columns:
            problem = f"there is no column {name!r} in the table"
            raise self._error(key, problem, _near(name, tuple(self.columns)))
        return self.columns[name]

    def _kind(self, name: str, kind: Any) -> str:  # noqa: ANN401 - any TOML value
        if kind not in KINDS:
            raise self._error(name, f"kind {kind!r} is unknown", _near(kind, KINDS))
        return Kind.IDENTIFIER.value if kind == IGNORE else str(kind)

    def _error(self, key: str, problem: str, fix: str) -> FileFormatError:
        line = _line_of(self.text, key)
        where = "" if line is None else f", line {line}"
        return FileFormatError(f"Schema file {self.path!r}{where}: {problem}. {fix}")


def _content(path: str | Path) -> str:
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        reason = error.strerror or error
        raise FileFormatError(
            f"Schema file {str(path)!r} cannot be read: {reason}."
        ) from None
    except UnicodeDecodeError:
        raise FileFormatError(
            f"Schema file {str(path)!r} is not UTF-8 text. Save it as UTF-8."
        ) from None


def _near(word: object, known: Sequence[str]) -> str:
    close = difflib.get_close_matches(str(word), known, n=1)
    listed = ", ".join(known[:12]) + (", ..." if len(known) > 12 else "")
    meant = f"Did you mean {close[0]!r}? " if close else ""
    return f"{meant}Accepted: {listed}."


def _line_of(text: str, key: str) -> int | None:
    """Return the number of the line that sets a key."""
    written = rf"^\s*\[?(?:{re.escape(_text(key))}|'?{re.escape(key)}'?)\s*[=\]]"
    for number, line in enumerate(text.splitlines(), start=1):
        if re.match(written, line):
            return number
    return None


def _group_lines(remarks: Sequence[Remark]) -> list[str]:
    names = [remark.column for remark in remarks if remark.topic == "groups"]
    return [f"# groups = {_text(name)}  # rows that belong together" for name in names]


def _computed_lines(remarks: Sequence[Remark]) -> list[str]:
    names = [r.column for r in remarks if r.topic == "computed"]
    if not names:
        return []
    listed = ", ".join(_text(name) for name in names)
    return [f"computed = [{listed}]  # in new rows, from other columns; [] draws them"]


def _text(value: object) -> str:
    # JSON's strings are TOML's.  What does not print is written out, so that a name
    # can neither steer a terminal nor look like another.
    written = json.dumps(str(value), ensure_ascii=False)
    return "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in written)


def _value(value: str | Sequence[str]) -> str:
    if isinstance(value, str):
        return _text(value)
    return f"[{', '.join(map(_text, value))}]"


def _comment(text: str) -> str:
    clean = "".join(c if c.isprintable() else "?" for c in " ".join(text.split()))
    return f"# {clean}"
