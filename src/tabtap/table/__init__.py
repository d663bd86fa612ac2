"""Tables: read exactly, checked, described, split, measured and written back.

No torch here.
"""

from tabtap.table.describe import describe
from tabtap.table.frame import read_frame, write_frame, write_target
from tabtap.table.problems import MIN_ROWS
from tabtap.table.saved_schema import schema_from_json, schema_to_json
from tabtap.table.schema import Column, FrameForm, Kind, Schema, Target
from tabtap.table.table import Table, concat
from tabtap.table.vocabulary import Vocabulary

__all__ = [
    "MIN_ROWS",
    "Column",
    "FrameForm",
    "Kind",
    "Schema",
    "Table",
    "Target",
    "Vocabulary",
    "concat",
    "describe",
    "read_frame",
    "schema_from_json",
    "schema_to_json",
    "write_frame",
    "write_target",
]
