"""What a table looks like before anything runs, and the file in which to correct it."""

from tabtap.inspection.inspect import Remark, inspect_table
from tabtap.inspection.schema_file import (
    SchemaFile,
    read_schema_file,
    schema_file_text,
)

__all__ = [
    "Remark",
    "SchemaFile",
    "inspect_table",
    "read_schema_file",
    "schema_file_text",
]
