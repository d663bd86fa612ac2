"""The containers a table may come in: opened column by column, packed the same way.

polars is never imported unless the user's frame is a polars frame.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tabtap.errors import Problem, UserInputError
from tabtap.table.array_form import (
    array_columns,
    pack_array,
    unusable_array,
)
from tabtap.table.pandas_columns import read_series, write_series
from tabtap.table.pandas_dtypes import dtype_from_text, dtype_text
from tabtap.table.problems import Findings, not_a_frame
from tabtap.table.raw import RawColumn
from tabtap.table.schema import Column, Container, FrameForm

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
        y = _listed(y)
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


def _listed(labels: Any) -> NDArray[Any]:  # noqa: ANN401
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
