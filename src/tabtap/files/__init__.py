"""Files in and out: a user's file becomes a frame, and goes back as it came.

No torch here, and nothing of ``tabtap.table``.
"""

from tabtap.files.destination import check_destination
from tabtap.files.file_table import ColumnStyle, Dialect, FileTable
from tabtap.files.reading import read_table
from tabtap.files.writing import write_table

__all__ = [
    "ColumnStyle",
    "Dialect",
    "FileTable",
    "check_destination",
    "read_table",
    "write_table",
]
