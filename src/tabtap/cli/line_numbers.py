"""On which line of its file each row of a table begins."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tabtap.files import FileTable


def line_numbers(file: FileTable) -> tuple[int, ...] | None:
    """Return the line of every row, counted from 1; None where there are no lines.

    Blank lines and line breaks inside quotes count, as they do in an editor.
    """
    dialect = file.dialect
    if dialect is None or not file.content:
        return None
    text = file.content.decode(dialect.encoding, "replace")
    reader = csv.reader(
        io.StringIO(text, newline=""),
        delimiter=dialect.separator,
        quotechar=dialect.quote,
        skipinitialspace=dialect.skips_space,
    )
    starts, before = [], 0
    for record in reader:
        if reader.line_num > dialect.n_lines_before and any(record):
            starts.append(before + 1)
        before = reader.line_num
    rows = starts[1:]  # the first is the header
    return tuple(rows) if len(rows) == len(file.frame) else None
