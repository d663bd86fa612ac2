"""Parquet and Arrow files: read column by column, and continued in their own schema.

What was read stays in Arrow's hands: new rows are cast to the schema of the file and
put after the old ones, so dtypes, categories, time zones and metadata are the same.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow
import pyarrow.compute as pc
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet

from tabtap.errors import UserInputError
from tabtap.files.formats import Format, WriteRequest, check_names
from tabtap.files.opening import check_extent, check_unpacked, fits, reason

FORMATS: tuple[Format, ...] = ("parquet", "feather")

_FILE_SIGN = b"ARROW1"
_N_SIGN = 8
"""Bytes of the sign, with what fills it up."""

_OLD_SIGN = b"FEA1"
_KEY = b"pandas"
_HEADER = 2
"""Of a message: what it carries."""

_DICTIONARY_BATCH = 1
_BUFFERS, _COMPRESSION = 2, 3
"""Fields of what a message carries, by their numbers in Arrow's format."""


def open_arrow(content: bytes, name: str, form: Format) -> Any:  # noqa: ANN401
    """Return a Parquet, Feather or Arrow file as an Arrow table.

    What it holds is asked first: a few bytes may stand for more than memory can hold.
    """
    try:
        table = (
            _read_parquet(content, name)
            if form == "parquet"
            else _read_ipc(content, name)
        )
        # What points outside its column would end the process later on.
        table.validate(full=True)
        return table
    except (UserInputError, MemoryError):
        raise
    except Exception as error:
        raise UserInputError(
            f"{name} cannot be read as a {form} file: {reason(error)}. It is damaged "
            "or not complete. Make or download it again."
        ) from error


def arrow_frame(table: Any, name: str) -> tuple[pd.DataFrame, list[str]]:  # noqa: ANN401
    """Return an Arrow table as a frame without its index, and what to note.

    Cells that hold lists or tables, and columns that share a name, are refused.
    """
    try:
        indexes = index_columns(table)
        names = [field.name for field in table.schema if field.name not in indexes]
        _check_fields(table.schema, names, name)
        _check_rows(table, names, name)
        # The pandas metadata restore dtypes that Arrow has no name for, such as Int64.
        plain = table.select(names).to_pandas(ignore_metadata=False)
        frame = plain.reset_index(drop=True)
        frame.columns = pd.Index(names)  # pandas may have called them 0, 1, 2, ...
        for field in names:
            if table.column(field).null_count:
                frame[field] = _exact(table.column(field), frame[field])
    except (UserInputError, MemoryError):
        raise
    # pandas believes what is noted in the file, and fails in many ways where it lies.
    except Exception as error:
        raise UserInputError(
            f"{name} cannot be read as a table: {reason(error)}. A column of it, or "
            "what pandas has noted in it, is damaged. Write it again, or as .csv."
        ) from error
    notes = [f"index {i!r} kept apart; new rows go on counting or have none"
             for i in indexes]  # fmt: skip
    return frame, notes


def _check_fields(schema: Any, names: Sequence[str], name: str) -> None:  # noqa: ANN401
    check_names(names, name)
    fields = [schema.field(own) for own in names]
    nested = [field for field in fields if pyarrow.types.is_nested(field.type)]
    if nested:
        listed = ", ".join(f"{field.name!r} ({field.type})" for field in nested[:3])
        raise UserInputError(
            f"{name} holds lists or structures inside cells: {listed}. Give each part "
            "its own column, or drop these."
        )


def _check_rows(table: Any, names: Sequence[str], name: str) -> None:  # noqa: ANN401
    if not names or not table.num_rows:
        raise UserInputError(
            f"{name} has {len(names)} columns and {table.num_rows} rows. Pass a file "
            "with rows."
        )
    check_extent(table.num_rows, len(names), name)


# ---- What a file would be when it is unpacked, asked before it is.


def _read_parquet(content: bytes, name: str) -> Any:  # noqa: ANN401
    source = pyarrow.BufferReader(content)
    about = pyarrow.parquet.read_metadata(source)
    groups = [about.row_group(i) for i in range(about.num_row_groups)]
    n_rows = max(about.num_rows, sum(group.num_rows for group in groups))
    check_extent(n_rows, about.num_columns, name)
    widths = [about.schema.column(j).length for j in range(about.num_columns)]
    fixed = n_rows * sum(width for width in widths if width and width > 0)
    chunks = [group.column(j) for group in groups for j in range(about.num_columns)]
    unpacked = sum(chunk.total_uncompressed_size for chunk in chunks)
    check_unpacked(fixed + unpacked, name, "parquet")
    for chunk in chunks:
        _check_pages(memoryview(content), chunk)
    # A text that comes back stands in the file once, and in memory as often as it does.
    texts = [chunk for chunk in chunks if chunk.physical_type == "BYTE_ARRAY"]
    if not fits(
        sum(c.num_values * c.total_uncompressed_size for c in texts), "parquet"
    ):
        _check_texts(source, texts, name)
    return pyarrow.parquet.read_table(source)


def _check_texts(source: Any, chunks: Sequence[Any], name: str) -> None:  # noqa: ANN401
    """Raise if texts, each as often as it comes, are too long together.

    They are read a few rows at a time, none of which is kept.
    """
    longest = max(chunk.total_uncompressed_size for chunk in chunks)
    n_rows = max(1, min(_MOST_ROWS, _MOST_BYTES // max(1, longest)))
    paths = list(dict.fromkeys(chunk.path_in_schema for chunk in chunks))
    size = 0
    for path in paths:
        file = pyarrow.parquet.ParquetFile(source)
        for batch in file.iter_batches(n_rows, columns=[path]):
            size += sum(map(_text_bytes, batch.columns))
            check_unpacked(size, name, "parquet")


def _text_bytes(column: Any) -> int:  # noqa: ANN401
    """Return how long the texts of a column are together, each as often as it comes."""
    kind = column.type
    if pyarrow.types.is_dictionary(kind):
        if pyarrow.types.is_primitive(kind.value_type):
            return 0
        lengths = pc.binary_length(column.dictionary).take(column.indices)
    elif pyarrow.types.is_nested(kind):  # which is refused later on
        return int(column.nbytes)
    else:
        lengths = pc.binary_length(column)
    return pc.sum(lengths).as_py() or 0


def _check_pages(content: memoryview, chunk: Any) -> None:  # noqa: ANN401
    """Raise unless the pages of a column are what the file's own index says of them.

    Each page begins with its unpacked size, and that much memory is taken for it.
    """
    start = chunk.data_page_offset
    if chunk.has_dictionary_page and chunk.dictionary_page_offset:
        start = min(start, chunk.dictionary_page_offset)
    end = min(len(content), start + chunk.total_compressed_size)
    # Some writers have counted headers of pages, others have not.
    room = 2 * chunk.total_uncompressed_size + _ROOM
    n_seen = 0
    while start < end and n_seen < chunk.num_values:
        page = _Thrift(content[start:end])
        fields = page.struct()
        unpacked, packed = fields.get(_UNPACKED, 0), fields.get(_PACKED, 0)
        n_values = _page_values(fields)
        room -= unpacked
        if min(room, unpacked, packed, n_values) < 0 or n_values > max(
            unpacked, chunk.num_values
        ):
            raise ValueError(
                f"pages of column {chunk.path_in_schema!r} are said to be larger than "
                "the column"
            )
        n_seen += 0 if fields.get(_KIND) == _LEVELS else n_values
        start += page.at + packed


def _page_values(fields: dict[int, Any]) -> int:
    """Return how many values a page says it has."""
    about = fields.get(_ABOUT.get(fields.get(_KIND, -1), -1), {})
    return int(about.get(1, 0))


_MOST_ROWS, _MOST_BYTES = 1 << 16, 1 << 28
"""Of texts that are read at a time, to learn how long they are."""

_ROOM = 1 << 16
_KIND, _UNPACKED, _PACKED = 1, 2, 3
"""Fields of a page's header, by their numbers in Parquet's format."""

_LEVELS = 2
_ABOUT = {0: 5, _LEVELS: 7, 3: 8}
"""Which field is about the values of a page, by its kind: data, levels, newer data."""

_INT, _STRUCT = 5, 12

_DEEPEST = 16


class _Thrift:
    """Reads what heads a page: a structure in Thrift's compact protocol.

    Of it only whole numbers of 32 bits and structures are kept.
    """

    def __init__(self, content: memoryview) -> None:
        self.content, self.at = content, 0

    def struct(self, depth: int = 0) -> dict[int, Any]:
        """Return the fields of a structure by number."""
        if depth > _DEEPEST:
            raise ValueError("a page's header is nested too deeply")
        fields: dict[int, Any] = {}
        number = 0
        while kind := (head := self._byte()) & 15:
            number = number + (head >> 4) if head >> 4 else self._whole()
            value = self._value(kind, depth)
            if kind in (_INT, _STRUCT):  # what is of another kind, Arrow passes over
                fields[number] = value
        return fields

    def _value(self, kind: int, depth: int) -> Any:  # noqa: ANN401
        if kind in (1, 2):  # truth, told by the kind
            return kind == 1
        if kind in (4, _INT, 6):
            return self._whole()
        if kind == _STRUCT:
            return self.struct(depth + 1)
        if kind in (9, 10):
            return self._list(depth)
        sizes = {3: 1, 7: 8}
        if kind not in (8, *sizes):
            raise ValueError(f"a page's header holds kind {kind}")
        length = sizes.get(kind) or self._number()
        self.at += length
        return None

    def _list(self, depth: int) -> None:
        head = self._byte()
        count = head >> 4 if head >> 4 < 15 else self._number()
        for _ in range(min(count, len(self.content) + 1)):
            kind = head & 15
            if kind in (1, 2):
                self._byte()
            else:
                self._value(kind, depth + 1)

    def _whole(self) -> int:
        number = self._number()
        return (number >> 1) ^ -(number & 1)

    def _number(self) -> int:
        number = 0
        for shift in range(0, 70, 7):
            byte = self._byte()
            number |= (byte & 127) << shift
            if byte < 128:
                return number
        raise ValueError("a number in a page's header does not end")

    def _byte(self) -> int:
        if self.at >= len(self.content):
            raise ValueError("a page ends within its header")
        self.at += 1
        return self.content[self.at - 1]


def _read_ipc(content: bytes, name: str) -> Any:  # noqa: ANN401
    source = pyarrow.BufferReader(content)
    if content.startswith(_OLD_SIGN):
        return pyarrow.feather.read_table(source)
    n_batches = None
    if content.startswith(_FILE_SIGN):
        # A file is a stream between two signs, and a list of its parts at the end.
        n_batches = pyarrow.ipc.open_file(source).num_record_batches
        source = pyarrow.BufferReader(memoryview(content)[_N_SIGN:])
    messages = list(pyarrow.ipc.MessageReader.open_stream(source))
    check_unpacked(sum(map(_body_bytes, messages)), name, "feather")
    found = sum(message.type == "record batch" for message in messages)
    if n_batches not in (None, found):
        raise ValueError(f"it lists {n_batches} parts and has {found}")
    source.seek(0)
    table = pyarrow.ipc.open_stream(source).read_all()
    check_unpacked(sum(map(_view_bytes, table.columns)), name, "feather")
    return table


def _body_bytes(message: Any) -> int:  # noqa: ANN401
    """Return the size of one part of an Arrow stream when it is unpacked.

    Each compressed buffer begins with its size, or -1 if it is stored as it is.  Where
    the buffers are is written in a flatbuffer, of which pyarrow shows nothing but the
    bytes; https://arrow.apache.org/docs/format/Columnar.html has its layout.
    """
    body = memoryview(message.body) if message.body is not None else memoryview(b"")
    batch = _FlatTable.of_root(memoryview(message.metadata)).table(_HEADER)
    if message.type == "dictionary":
        batch = batch.table(_DICTIONARY_BATCH)
    elif message.type != "record batch":
        return 0
    if not batch.has(_COMPRESSION):
        return len(body)
    size = 0
    for offset, length in batch.pairs(_BUFFERS):
        unpacked = struct.unpack_from("<q", body, offset)[0] if length else 0
        size += unpacked if unpacked >= 0 else length
    return size


def _view_bytes(column: Any) -> int:  # noqa: ANN401
    """Return how long the texts of a column are that may share their letters."""
    if not (
        pyarrow.types.is_string_view(column.type)
        or pyarrow.types.is_binary_view(column.type)
    ):
        return 0
    # The first of the four numbers of each view is a length.
    return sum(
        int(np.frombuffer(chunk.buffers()[1], np.int32)[::4].sum(dtype=np.int64))
        for chunk in column.chunks
        if len(chunk)
    )


class _FlatTable(NamedTuple):
    """A table of a flatbuffer: fields by number, some of which are not there."""

    content: memoryview
    start: int

    @classmethod
    def of_root(cls, content: memoryview) -> _FlatTable:
        return cls(content, struct.unpack_from("<I", content, 0)[0])

    def has(self, field: int) -> bool:
        return self._place(field) is not None

    def table(self, field: int) -> _FlatTable:
        return _FlatTable(self.content, self._follow(field))

    def pairs(self, field: int) -> list[tuple[int, int]]:
        """Return a vector of pairs of whole numbers."""
        start = self._follow(field)
        (count,) = struct.unpack_from("<I", self.content, start)
        flat = struct.unpack_from(f"<{2 * count}q", self.content, start + 4)
        return list(zip(flat[::2], flat[1::2], strict=True))

    def _follow(self, field: int) -> int:
        place = self._place(field)
        if place is None:
            raise ValueError(f"a part of it lacks field {field}")
        return place + int(struct.unpack_from("<I", self.content, place)[0])

    def _place(self, field: int) -> int | None:
        (back,) = struct.unpack_from("<i", self.content, self.start)
        offsets = self.start - back
        (size,) = struct.unpack_from("<H", self.content, offsets)
        index = 4 + 2 * field
        if index >= size:
            return None
        (offset,) = struct.unpack_from("<H", self.content, offsets + index)
        return self.start + offset if offset else None


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
