"""Parquet and Arrow files: read column by column, and continued in their own schema.

What was read stays in Arrow's hands: new rows are cast to the schema of the file and
put after the old ones, so dtypes, categories, time zones and metadata are the same.
"""

from __future__ import annotations

import json
from typing import Any

import pandas as pd
import pyarrow
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet

from tabtap.errors import UserInputError
from tabtap.files.formats import Format, WriteRequest

FORMATS: tuple[Format, ...] = ("parquet", "feather")

_FILE_SIGN = b"ARROW1"
_OLD_SIGN = b"FEA1"
_KEY = b"pandas"


def open_arrow(content: bytes, name: str, form: Format) -> Any:  # noqa: ANN401
    """Return a Parquet, Feather or Arrow file as an Arrow table."""
    source = pyarrow.BufferReader(content)
    try:
        if form == "parquet":
            return pyarrow.parquet.read_table(source)
        if content.startswith(_FILE_SIGN):
            return pyarrow.ipc.open_file(source).read_all()
        if content.startswith(_OLD_SIGN):
            return pyarrow.feather.read_table(source)
        return pyarrow.ipc.open_stream(source).read_all()
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        why = str(error).partition("\n")[0].rstrip(".")
        raise UserInputError(
            f"{name} cannot be read as a {form} file: {why}. It is damaged or not "
            "complete. Make or download it again."
        ) from error


def arrow_frame(table: Any, name: str) -> tuple[pd.DataFrame, list[str]]:  # noqa: ANN401
    """Return an Arrow table as a frame without its index, and what to note.

    Cells that hold lists or tables, and columns that share a name, are refused.
    """
    indexes = index_columns(table)
    fields = [field for field in table.schema if field.name not in indexes]
    names = [field.name for field in fields]
    twice = sorted({repr(column) for column in names if names.count(column) > 1})
    if twice:
        raise UserInputError(
            f"{name} has columns of the same name: {', '.join(twice[:5])}. Give each "
            "its own name."
        )
    nested = [field for field in fields if pyarrow.types.is_nested(field.type)]
    if nested:
        listed = ", ".join(f"{field.name!r} ({field.type})" for field in nested[:3])
        raise UserInputError(
            f"{name} holds lists or structures inside cells: {listed}. Give each part "
            "its own column, or drop these."
        )
    if not fields or not table.num_rows:
        raise UserInputError(
            f"{name} has {len(fields)} columns and {table.num_rows} rows. Pass a file "
            "with rows."
        )
    # The pandas metadata restore dtypes that Arrow has no name for, such as Int64.
    plain = table.select(names).to_pandas(ignore_metadata=False)
    frame = plain.reset_index(drop=True)
    frame.columns = pd.Index(names)  # pandas may have called them 0, 1, 2, ...
    for field in fields:
        frame[field.name] = _exact(table.column(field.name), frame[field.name])
    notes = [f"index {i!r} kept apart; new rows go on counting or have none"
             for i in indexes]  # fmt: skip
    return frame, notes


def index_columns(table: Any) -> list[str]:  # noqa: ANN401
    """Return the columns that pandas put there as row labels."""
    described = json.loads((table.schema.metadata or {}).get(_KEY, b"{}"))
    labels = described.get("index_columns", [])
    return [label for label in labels if isinstance(label, str)]


def arrow_content(request: WriteRequest, form: Format) -> bytes:
    """Return the content of a Parquet or Arrow file."""
    table = _arrow_table(request)
    sink = pyarrow.BufferOutputStream()
    if form == "parquet":
        pyarrow.parquet.write_table(table, sink, compression=_codec(request))
    else:
        _write_arrow(table, sink, request)
    return bytes(sink.getvalue().to_pybytes())


def _exact(stored: Any, series: pd.Series) -> pd.Series:  # noqa: ANN401
    """Return a column whose whole numbers or truths stay so beside holes."""
    kind = stored.type
    if not stored.null_count or pd.api.types.is_extension_array_dtype(series.dtype):
        return series
    if pyarrow.types.is_boolean(kind):
        return pd.Series(pd.array(stored.to_pylist(), dtype="boolean"))
    if pyarrow.types.is_integer(kind):
        dtype = str(kind).replace("uint", "UInt").replace("int", "Int")
        return pd.Series(pd.array(stored.to_pylist(), dtype=dtype))
    return series


def _arrow_table(request: WriteRequest) -> Any:  # noqa: ANN401
    like = request.like
    if like is None or like.format not in FORMATS or request.places is None:
        return pyarrow.Table.from_pandas(request.marked, preserve_index=False)
    old = open_arrow(like.content, "the input", like.format).unify_dictionaries()
    if not request.keeps_all:
        old = old.take(pyarrow.array(request.places, "int64"))
    added = request.frame.iloc[request.n_real :].reset_index(drop=True)
    table = old
    if len(added):
        new = _cast(added, old)
        table = pyarrow.concat_tables([old.cast(new.schema), new]).unify_dictionaries()
    if request.mark is not None:
        flags = [0] * request.n_real + [1] * len(added)
        table = table.append_column(request.mark, pyarrow.array(flags, "int8"))
    return _with_range(table)


def _cast(added: pd.DataFrame, old: Any) -> Any:  # noqa: ANN401
    """Return new rows in the schema of the old ones."""
    indexes = index_columns(old)
    arrays, fields = [], []
    for field in old.schema:
        if field.name in indexes:
            array = _labels(old.column(field.name), len(added))
        else:
            array = _cast_column(added[field.name], old.column(field.name))
        arrays.append(array)
        # A column without room for holes gets it when a new row has one.
        fields.append(field.with_nullable(field.nullable or array.null_count > 0))
    schema = pyarrow.schema(fields, metadata=old.schema.metadata)
    return pyarrow.Table.from_arrays(arrays, schema=schema)


def _cast_column(series: pd.Series, stored: Any) -> Any:  # noqa: ANN401
    kind = stored.type
    if not pyarrow.types.is_dictionary(kind):
        return pyarrow.Array.from_pandas(series, type=kind)
    levels = stored.chunk(0).dictionary
    code_of = {level: i for i, level in enumerate(levels.to_pylist())}
    codes = [None if pd.isna(cell) else code_of.get(cell) for cell in series]
    return pyarrow.DictionaryArray.from_arrays(
        pyarrow.array(codes, kind.index_type), levels, ordered=kind.ordered
    )


def _labels(stored: Any, n_rows: int) -> Any:  # noqa: ANN401
    kind = stored.type
    if not pyarrow.types.is_integer(kind) or stored.null_count:
        return pyarrow.nulls(n_rows, kind)
    first = max(stored.to_pylist(), default=-1) + 1
    return pyarrow.array(range(first, first + n_rows), kind)


def _with_range(table: Any) -> Any:  # noqa: ANN401
    """Return a table whose pandas metadata count the rows it has now."""
    metadata = dict(table.schema.metadata or {})
    if _KEY not in metadata:
        return table
    described = json.loads(metadata[_KEY])
    for label in described.get("index_columns", []):
        if isinstance(label, dict) and label.get("kind") == "range":
            label["stop"] = label["start"] + table.num_rows * label["step"]
    metadata[_KEY] = json.dumps(described).encode()
    return table.replace_schema_metadata(metadata)


def _codec(request: WriteRequest) -> str:
    """Return how columns of a Parquet file are compressed: as those of the input."""
    like = request.like
    if like is None or like.format != "parquet":
        return "snappy"
    about = pyarrow.parquet.read_metadata(pyarrow.BufferReader(like.content))
    name = str(about.row_group(0).column(0).compression).lower()
    return "none" if name == "uncompressed" else name


def _write_arrow(table: Any, sink: Any, request: WriteRequest) -> None:  # noqa: ANN401
    like = request.like
    signs = (_FILE_SIGN, _OLD_SIGN)
    if like and like.format == "feather" and not like.content.startswith(signs):
        with pyarrow.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        return
    codec = "lz4" if pyarrow.Codec.is_available("lz4") else None
    options = pyarrow.ipc.IpcWriteOptions(compression=codec)
    with pyarrow.ipc.new_file(sink, table.schema, options=options) as writer:
        writer.write_table(table)
