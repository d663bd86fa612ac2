"""Frames to tables and back: nothing is lost on the way, and nothing is guessed twice.

``read_frame`` reports every problem it finds in one error.  ``write_frame`` restores
container, column order, dtypes and every form of a missing value.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tabtap.errors import BadTableError, Problem, UserInputError
from tabtap.table.cells import RawColumn, decode, encode
from tabtap.table.kinds import check_names, choose_kind
from tabtap.table.pandas_columns import (
    dtype_from_text,
    dtype_text,
    read_series,
    write_series,
)
from tabtap.table.problems import MIN_ROWS, Findings, not_a_frame, too_few_rows
from tabtap.table.schema import (
    BoolArray,
    Column,
    Container,
    FrameForm,
    Kind,
    Schema,
    Target,
)
from tabtap.table.suspects import are_equal
from tabtap.table.table import NO_ROW, Table
from tabtap.table.targets import N_BINS, TaskChoice, check_target_settings, read_target

Kinds = Mapping[Hashable, Kind | str]


class Feature(NamedTuple):
    """One column of the new table."""

    column: Column
    cells: NDArray[Any]
    missing: NDArray[np.int8]


def read_frame(  # noqa: PLR0913 - one call is the whole entrance
    frame: Any,  # noqa: ANN401 - pandas, polars or numpy
    target: Hashable | None = None,
    *,
    y: Any = None,  # noqa: ANN401 - any one-dimensional container
    task: TaskChoice = "auto",
    kinds: Kinds | None = None,
    n_bins: int = N_BINS,
    floor: int = MIN_ROWS,
) -> Table:
    """Read a frame into the exact table that everything else works on.

    Parameters
    ----------
    frame : pandas.DataFrame, polars.DataFrame or 2-d numpy array
        Rows by columns.  The columns of an array are called 0, 1, 2, ...
    target : column name, optional
        The column to be predicted.
    y : one-dimensional array, Series or list, optional
        The target, when it is not a column of the frame.
    task : {"auto", "classification", "regression"}
        What the target is; ``auto`` decides by its values.
    kinds : mapping of column name to kind, optional
        Overrides of what would be inferred: the names of ``Kind``, or
        ``"ordered category"``.
    n_bins : int
        Quantile bins of a regression target.
    floor : int
        Fewest rows accepted.

    Returns
    -------
    Table
        Rows in the order given, each its own origin.

    Raises
    ------
    BadTableError
        With every problem of the table, each with its column and the fix.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"dose": [0.5, 1.25] * 6, "sick": ["no", "yes"] * 6})
    >>> table = read_frame(frame, "sick")
    >>> table.schema.target.column.levels
    ('no', 'yes')
    >>> write_frame(table).equals(frame)
    True
    """
    check_target_settings(task, n_bins)
    if target is not None and y is not None:
        raise UserInputError(
            f"target={target!r} and y were both given. Pass the one that is meant."
        )
    findings = Findings()
    parts = open_frame(frame, findings)
    if parts is None:
        raise BadTableError(findings.problems)
    findings.add(too_few_rows(parts.n_rows, floor))
    findings.add(misaligned(frame, y))
    parts, position = _place_target(parts, target, y, findings)
    _check_columns(parts, position, kinds or {}, findings)
    found_target = None
    if position is not None and parts.n_rows:
        found_target = findings.attempt(
            lambda: read_target(parts.read(position), position, task, n_bins)
        )
    features = _read_features(parts, position, kinds or {}, findings)
    findings.add(_target_among(features, found_target))
    if findings.problems:
        raise BadTableError(findings.problems)
    return _assemble(parts, features, found_target)


def write_frame(table: Table, *, index: Any = None) -> Any:  # noqa: ANN401
    """Return a table as the container it came in, with the same dtypes.

    Parameters
    ----------
    table : Table
        Real rows, synthetic ones, or both.
    index : pandas.Index, optional
        Row labels for pandas; a RangeIndex without it.

    Returns
    -------
    pandas.DataFrame, polars.DataFrame or numpy array
        Without the target if that was given apart: see ``write_target``.

    Notes
    -----
    A column changes its dtype in one case only: it has no room for missing values and
    now has one.  Then pandas gets the nullable dtype (Int64 for int64), numpy floats.
    """
    schema = table.schema
    columns = [
        (column, *decode(column, table.cells[i], table.missing[:, i]))
        for i, column in enumerate(schema.features)
    ]
    if schema.target is not None and schema.form.target_container is None:
        columns.insert(schema.target.position, _decode_target(table, schema.target))
    return pack_frame(columns, schema.form, len(table), index)


def write_target(table: Table, *, index: Any = None) -> Any:  # noqa: ANN401
    """Return the target alone: a Series, or an array if the features are one.

    Parameters
    ----------
    table : Table
        A table with a target.
    index : pandas.Index, optional
        Row labels for pandas; a RangeIndex without it.

    Raises
    ------
    UserInputError
        If the table has no target.
    """
    target = table.schema.target
    if target is None:
        raise UserInputError("This table has no target. Read it with target= or y=.")
    return pack_target(_decode_target(table, target), table.schema.form, index)


def _decode_target(
    table: Table, target: Target
) -> tuple[Column, NDArray[Any], NDArray[np.int8]]:
    none_missing = np.zeros(len(table), dtype=np.int8)
    return (target.column, *decode(target.column, table.target, none_missing))


def _place_target(
    parts: FrameParts,
    target: Hashable | None,
    y: Any,  # noqa: ANN401
    findings: Findings,
) -> tuple[FrameParts, int | None]:
    if y is not None:
        return open_target(parts, y, findings)
    if target is None:
        return parts, None
    if target in parts.names:
        return parts, parts.names.index(target)
    known = ", ".join(map(str, parts.names[:8]))
    more = ", ..." if len(parts.names) > 8 else ""
    findings.add(
        Problem(None, f"has no target column {target!r}", f"Columns: {known}{more}")
    )
    return parts, None


def _check_columns(
    parts: FrameParts, position: int | None, kinds: Kinds, findings: Findings
) -> None:
    target = None if position is None else parts.names[position]
    n_features = len(parts.names) - (position is not None)
    if n_features == 0:
        findings.add(
            Problem(
                None, "has no feature column", "Pass at least one besides the target"
            )
        )
    features = [name for i, name in enumerate(parts.names) if i != position]
    for problem in check_names(kinds, features, target):
        findings.add(problem)


def _read_features(
    parts: FrameParts, position: int | None, kinds: Kinds, findings: Findings
) -> list[Feature]:
    if not parts.n_rows:
        return []
    read = [
        findings.attempt(partial(_read_feature, parts, i, kinds.get(name)))
        for i, name in enumerate(parts.names)
        if i != position
    ]
    return [feature for feature in read if feature is not None]


def _read_feature(parts: FrameParts, i: int, wanted: Kind | str | None) -> Feature:
    raw = parts.read(i)
    kind, ordered = choose_kind(raw, wanted)
    # Who calls a column continuous wants values between those that are there.
    column, cells = encode(raw, kind, ordered=ordered, few=wanted is None)
    return Feature(column, cells, raw.missing)


def _target_among(
    features: list[Feature], target: tuple[Target, NDArray[Any]] | None
) -> Problem | None:
    """Return the problem of a frame that still holds the target given apart."""
    if target is None:
        return None
    column, cells = target[0].column, target[1]
    for feature in features:
        if feature.column.name != column.name or feature.missing.any():
            continue
        if are_equal(feature.column, feature.cells, column, cells):
            return Problem(
                str(column.name),
                "is the target too: it equals y in every row",
                f"Drop it: frame.drop(columns=[{column.name!r}])",
            )
    return None


def _assemble(
    parts: FrameParts,
    features: list[Feature],
    target: tuple[Target, NDArray[Any]] | None,
) -> Table:
    n_rows = parts.n_rows
    schema = Schema(
        features=tuple(feature.column for feature in features),
        target=None if target is None else target[0],
        form=parts.form,
    )
    return Table(
        schema,
        tuple(feature.cells for feature in features),
        np.stack([feature.missing for feature in features], axis=1),
        np.zeros(n_rows, dtype=np.int64) if target is None else target[1],
        np.arange(n_rows, dtype=np.int64),
        np.full(n_rows, NO_ROW, dtype=np.int64),
    )


# ---- Rows without a label: found before anything is read, and kept as they are.


def labelled_rows(
    frame: Any,  # noqa: ANN401
    target: Hashable | None = None,
    y: Any = None,  # noqa: ANN401
) -> BoolArray | None:
    """Tell which rows have a label; None if all have, none has, or nobody can tell."""
    findings = Findings()
    parts = open_frame(frame, findings)
    if parts is None or not parts.n_rows:
        return None
    parts, position = _place_target(parts, target, y, findings)
    if position is None or findings.problems:
        return None
    raw = findings.attempt(partial(parts.read, position))
    if raw is None or raw.present.all() or not raw.present.any():
        return None
    return raw.present


def take_rows(container: Any, rows: BoolArray) -> Any:  # noqa: ANN401
    """Return some rows of a frame, an array or a target, in the same container."""
    if isinstance(container, (list, tuple)):
        container = _as_array(container)
    if isinstance(container, (pd.DataFrame, pd.Series)):
        return container.loc[rows]
    return container.filter(rows) if hasattr(container, "filter") else container[rows]


def read_as_given(
    frame: Any,  # noqa: ANN401
    target: Hashable | None = None,
    y: Any = None,  # noqa: ANN401
) -> tuple[Table, int]:
    """Return rows that are only kept, and the place of the target among their columns.

    Nothing is inferred: every column, the target too, is exact levels.
    """
    findings = Findings()
    parts = open_frame(frame, findings)
    if parts is None:
        raise BadTableError(findings.problems)
    parts, position = _place_target(parts, target, y, findings)
    if position is None:
        raise BadTableError(findings.problems)
    features = []
    for i in range(len(parts.names)):
        raw = parts.read(i)
        column, cells = encode(raw, Kind.IDENTIFIER, ordered=False)
        features.append(Feature(column, cells, raw.missing))
    return _assemble(parts, features, None), position


def write_as_given(rows: Table, position: int) -> tuple[Any, Any]:
    """Return what ``read_as_given`` read: the frame, and the target alone."""
    columns: list[WrittenColumn] = [
        (column, decode(column, cells, missing)[0], missing)
        for column, cells, missing in zip(
            rows.schema.features, rows.cells, rows.missing.T, strict=True
        )
    ]
    form = rows.schema.form
    target = pack_target(columns[position], form, None)
    if form.target_container is not None:
        columns.pop(position)
    return pack_frame(columns, form, len(rows), None), target


# ---- The containers a table may come in: opened column by column, packed the same way.
#
# polars is never imported unless the user's frame is a polars frame.


WrittenColumn = tuple[Column, NDArray[Any], NDArray[np.int8]]
"""A column, its plain values, and where its holes are."""


@dataclass(frozen=True, kw_only=True, eq=False)
class FrameParts:
    """A frame opened: names, number of rows, and a reader for each column."""

    names: tuple[Hashable, ...]
    n_rows: int
    readers: tuple[Callable[[], RawColumn], ...]
    form: FrameForm

    def read(self, position: int) -> RawColumn:
        """Return one column read, or raise the reason why it cannot be."""
        return self.readers[position]()


def open_frame(frame: Any, findings: Findings) -> FrameParts | None:  # noqa: ANN401
    """Return a frame opened, or None when there is nothing to read columns from."""
    if isinstance(frame, pd.DataFrame):
        return _open_pandas(frame, findings)
    if _is_polars(frame, "DataFrame"):
        return _open_polars(frame)
    if isinstance(frame, np.ndarray):
        problem = unusable_array(frame, n_dimensions=2)
        if problem is None:
            return _open_array(frame)
        findings.add(problem)
        return None
    findings.add(not_a_frame(frame))
    return None


def open_target(
    parts: FrameParts,
    y: Any,  # noqa: ANN401
    findings: Findings,
) -> tuple[FrameParts, int | None]:
    """Return the parts with a separate target added last, and its position."""
    if isinstance(y, (list, tuple, pd.Index, pd.api.extensions.ExtensionArray)):
        y = _as_array(y)
    problem = _unusable_target(y, parts.n_rows)
    if problem is not None:
        findings.add(problem)
        return parts, None
    name, container, reader, dtype = _target_reader(y)
    form = replace(parts.form, target_container=container, target_dtype=dtype)
    added = replace(
        parts,
        names=(*parts.names, name),
        readers=(*parts.readers, reader),
        form=form,
    )
    return added, len(parts.names)


def misaligned(frame: Any, y: Any) -> Problem | None:  # noqa: ANN401
    """Return the problem of a pandas target whose rows are those of the frame, mixed.

    Rows are paired by position.  Other row labels altogether are fine; the same ones in
    another order are nearly always a mistake, and would give every row a wrong label.
    """
    pandas = isinstance(frame, pd.DataFrame) and isinstance(y, pd.Series)
    if not pandas or len(frame) != len(y) or y.index.equals(frame.index):
        return None
    if not frame.index.is_unique or not y.index.isin(frame.index).all():
        return None
    return Problem(
        None,
        "and y have the same row labels in another order",
        "Pass y.loc[frame.index], or y.to_numpy() if the order is right",
    )


def pack_frame(
    columns: Sequence[WrittenColumn],
    form: FrameForm,
    n_rows: int,
    index: Any,  # noqa: ANN401
) -> Any:  # noqa: ANN401
    """Return written columns in the container that the form describes."""
    if form.container == "polars":
        from tabtap.table.polars_columns import pack_polars

        return pack_polars(columns)
    series = [_series(column) for column in columns]
    if form.container == "numpy":
        return pack_array(series, form.array_dtype)
    frame = pd.DataFrame(dict(enumerate(series)), index=pd.RangeIndex(n_rows))
    frame.columns = _column_index([column.name for column, _, _ in columns], form)
    return _with_index(frame, index)


def pack_target(
    target: WrittenColumn,
    form: FrameForm,
    index: Any,  # noqa: ANN401
) -> Any:  # noqa: ANN401
    """Return the target alone, in its own container or in the frame's."""
    container = form.target_container or form.container
    if container == "polars":
        from tabtap.table.polars_columns import pack_polars

        return pack_polars([target]).to_series()
    series = _series(target)
    if container == "numpy":
        return pack_array([series], form.target_dtype or form.array_dtype)[:, 0]
    series.name = target[0].name
    return _with_index(series, index)


def _open_pandas(frame: pd.DataFrame, findings: Findings) -> FrameParts | None:
    columns = frame.columns
    if isinstance(columns, pd.MultiIndex):
        fix = "Flatten them: frame.columns = ['_'.join(map(str, c)) for c in frame]"
        findings.add(Problem(None, "has columns in several levels", fix))
        return None
    for name in columns[columns.duplicated()].unique():
        fix = "Rename or drop one of them"
        findings.add(Problem(str(name), "occurs more than once", fix))
    names = tuple(columns)
    readers = tuple(
        _pandas_reader(name, frame.iloc[:, i]) for i, name in enumerate(names)
    )
    is_range = isinstance(columns, pd.RangeIndex)
    form = FrameForm(
        columns_dtype="range" if is_range else dtype_text(columns.dtype) or "object",
        columns_name=columns.name,
    )
    return FrameParts(names=names, n_rows=len(frame), readers=readers, form=form)


def _pandas_reader(name: Hashable, series: pd.Series) -> Callable[[], RawColumn]:
    return lambda: read_series(name, series)


def _open_polars(frame: Any) -> FrameParts:  # noqa: ANN401
    return FrameParts(
        names=tuple(frame.columns),
        n_rows=frame.height,
        readers=tuple(_polars_reader(series) for series in frame.get_columns()),
        form=FrameForm(container="polars"),
    )


def _polars_reader(series: Any) -> Callable[[], RawColumn]:  # noqa: ANN401
    from tabtap.table.polars_columns import read_polars

    return lambda: read_polars(series)


def _open_array(array: NDArray[Any]) -> FrameParts:
    columns = array_columns(array)
    return FrameParts(
        names=tuple(range(len(columns))),
        n_rows=len(array),
        readers=tuple(_pandas_reader(i, column) for i, column in enumerate(columns)),
        form=FrameForm(container="numpy", array_dtype=array.dtype.str),
    )


def _is_polars(thing: object, name: str) -> bool:
    kind = type(thing)
    return kind.__module__.partition(".")[0] == "polars" and kind.__name__ == name


def _as_array(labels: Any) -> NDArray[Any]:  # noqa: ANN401
    labels = list(labels)
    # numpy would turn [1, "a"] into strings before anyone could object.
    plain = {type(label) for label in labels} <= {int, float, bool}
    return np.array(labels) if plain and labels else np.array(labels, dtype=object)


def _unusable_target(y: Any, n_rows: int) -> Problem | None:  # noqa: ANN401
    if isinstance(y, str):
        fix = f"Pass target={y!r} if it is the name of a column"
        return Problem(None, f"got y={y!r}", fix)
    if not _is_polars(y, "Series") and not isinstance(y, (pd.Series, np.ndarray)):
        fix = "Pass a list, a Series or a 1-d array of labels"
        return Problem(None, f"got a {type(y).__name__} as y", fix)
    if isinstance(y, np.ndarray):
        problem = unusable_array(y, n_dimensions=1)
        if problem is not None:
            return replace(problem, found=f"y {problem.found}")
    if len(y) != n_rows:
        found = f"has {n_rows} rows, but y has {len(y)} labels"
        return Problem(None, found, "Pass one label for each row")
    return None


def _target_reader(
    y: Any,  # noqa: ANN401
) -> tuple[Hashable, Container, Callable[[], RawColumn], str]:
    if isinstance(y, np.ndarray):
        column = array_columns(y[:, None])[0]
        return "y", "numpy", _pandas_reader("y", column), y.dtype.str
    if isinstance(y, pd.Series):
        return y.name, "pandas", _pandas_reader(y.name, y), ""
    return y.name, "polars", _polars_reader(y), ""


def _series(written: WrittenColumn) -> pd.Series:
    column, values, missing = written
    return write_series(
        values, missing, column.markers, column.dtype, column.categories
    )


def _column_index(names: list[Hashable], form: FrameForm) -> pd.Index:
    if form.columns_dtype == "range" and names == list(range(len(names))):
        return pd.RangeIndex(len(names), name=form.columns_name)
    if form.columns_dtype in ("range", ""):
        return pd.Index(names, name=form.columns_name)
    return pd.Index(
        names,
        dtype=dtype_from_text(form.columns_dtype),
        name=form.columns_name,
        tupleize_cols=False,
    )


def _with_index(frame: Any, index: Any) -> Any:  # noqa: ANN401
    if index is None:
        return frame
    if len(index) != len(frame):
        raise UserInputError(
            f"index has {len(index)} labels but there are {len(frame)} rows. "
            "Pass one label for each row, or none at all."
        )
    return frame.set_axis(index, axis=0)


# ---- numpy arrays as columns, and columns as an array of the same dtype.


_TIME_UNITS = ("s", "ms", "us", "ns")
_EXACT_FLOAT = 2**53


def unusable_array(array: NDArray[Any], *, n_dimensions: int) -> Problem | None:
    """Return what keeps an array from being read, if anything does."""
    if array.dtype.names is not None:
        fix = "Pass pd.DataFrame(array)"
        return Problem(None, "is an array with named fields", fix)
    if array.ndim != n_dimensions:
        fix = "a 2-d array, rows by columns" if n_dimensions == 2 else "y.ravel()"
        return Problem(None, f"has {array.ndim} dimensions", f"Pass {fix}")
    if isinstance(array, np.ma.MaskedArray):
        fix = "Fill the masked cells: array.astype(float).filled(np.nan)"
        return Problem(None, "is a masked array", fix)
    if array.dtype.kind not in "biufcOUSMm" or array.dtype == np.longdouble:
        fix = "Use an array of numbers, strings or objects, or a DataFrame"
        return Problem(None, f"has dtype {array.dtype}", fix)
    return None


def array_columns(array: NDArray[Any]) -> list[pd.Series]:
    """Return the columns of a 2-d array, each in a dtype that pandas keeps exactly."""
    kind = array.dtype.kind
    if kind in "USO":
        array = array.astype(object)
        return [pd.Series(column, dtype=object) for column in array.T]
    if kind in "Mm" and np.datetime_data(array.dtype)[0] not in _TIME_UNITS:
        array = array.astype(f"{kind}8[s]")
    array = array.astype(array.dtype.newbyteorder("="))
    return [pd.Series(np.ascontiguousarray(column)) for column in array.T]


def pack_array(columns: Sequence[pd.Series], dtype: str) -> NDArray[Any]:
    """Return columns as one array, wider only if a hole leaves no other way."""
    wanted = np.dtype(dtype)
    holes = any(column.isna().any() for column in columns)
    if holes and wanted.kind in "biuUS":
        wanted = np.dtype(np.float64 if _fit_floats(columns, wanted) else object)
    n_rows = len(columns[0]) if columns else 0
    array = np.empty((n_rows, len(columns)), dtype=wanted)
    for i, column in enumerate(columns):
        array[:, i] = _cells(column, wanted)
    return array


def _cells(column: pd.Series, wanted: np.dtype[Any]) -> NDArray[Any]:
    if wanted.kind == "f" and column.dtype != wanted:
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    return np.asarray(column.to_numpy(dtype=object if wanted.kind in "OU" else None))


def _fit_floats(columns: Sequence[pd.Series], wanted: np.dtype[Any]) -> bool:
    if wanted.kind not in "iu":
        return False
    present = [column.dropna() for column in columns]
    largest = [max(abs(int(c.max())), abs(int(c.min()))) for c in present if len(c)]
    return max(largest, default=0) <= _EXACT_FLOAT
