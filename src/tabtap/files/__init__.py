"""Files in and out: a user's file becomes a frame, and goes back as it came.

No torch here, and nothing of ``tabtap.table``.
"""

from tabtap.files.formats import (
    ColumnStyle,
    Dialect,
    FileTable,
    Question,
    form_from_json,
    form_to_json,
)
from tabtap.files.reading import read_table
from tabtap.files.texts import CellsRead, read_cells
from tabtap.files.writing import check_destination, write_table

__all__ = [
    "CellsRead",
    "ColumnStyle",
    "Dialect",
    "FileTable",
    "Question",
    "check_destination",
    "form_from_json",
    "form_to_json",
    "read_cells",
    "read_table",
    "write_table",
]
