"""For any text table: the real bytes come back, and new rows read as they were."""

import csv
import io
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tabtap.files import read_table, write_table

bounded = settings(
    max_examples=60, deadline=None, suppress_health_check=list(HealthCheck)
)
CHARACTERS = st.characters(exclude_categories=("Cs",), exclude_characters="\x00\ufeff")
# Without spaces at the end, which are not told apart from none.
TEXTS = st.text(CHARACTERS, max_size=8).map(lambda text: ("t" + text).rstrip())
WHOLE = st.integers(-(2**63), 2**63 - 1)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
DAYS = st.integers(-700_000, 2_900_000).map(lambda day: np.datetime64(day, "D"))
KINDS = {
    "text": (TEXTS, str),
    "whole": (WHOLE, str),
    "float": (FLOATS, lambda value: f"{value:.2f}" if value == 1.0 else repr(value)),
    "truth": (st.booleans(), str),
    "day": (DAYS, str),
}
HOLES = ("", "NA", "null")


@st.composite
def tables(draw):
    """Return the bytes of a text table, and new rows of the same columns."""
    kinds = draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=2, max_size=4))
    n_rows = draw(st.integers(1, 5))
    columns = [_column(draw, kind, n_rows) for kind in kinds]
    text = io.StringIO(newline="")
    # Python leaves a bare line end of another kind unquoted, which is a broken line.
    broken = any("\r" in cell or "\n" in cell for column in columns for cell in column)
    quote_all = broken or draw(st.booleans())
    writer = csv.writer(
        text,
        delimiter=draw(st.sampled_from(",;\t|")),
        lineterminator=draw(st.sampled_from(["\n", "\r\n", "\r"])),
        quoting=csv.QUOTE_ALL if quote_all else csv.QUOTE_MINIMAL,
    )
    writer.writerow([f"{kind} {i}" for i, kind in enumerate(kinds)])
    writer.writerows(zip(*columns, strict=True))
    codec = draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]))
    whole = text.getvalue()
    if draw(st.booleans()):
        whole = whole.rstrip("\r\n")
    n_new = draw(st.integers(1, 4))
    new = [[_new_cell(draw, kind) for _ in range(n_new)] for kind in kinds]
    return whole.encode(codec), kinds, new


def _column(draw, kind, n_rows):
    values, write = KINDS[kind]
    hole = draw(st.sampled_from(HOLES))
    cells = [
        write(draw(values)) if row == 0 or draw(st.booleans()) else hole
        for row in range(n_rows)
    ]
    return draw(st.permutations(cells))


def _new_cell(draw, kind):
    return draw(st.none() | KINDS[kind][0])


def _series(kind, cells, dtype):
    if kind == "day":
        days = [np.datetime64("NaT", "s") if cell is None else cell for cell in cells]
        return pd.Series(np.array(days, dtype="M8[s]"))
    nullable = {"int64": "Int64", "bool": "boolean"}.get(str(dtype), dtype)
    return pd.Series(cells, dtype=nullable if kind != "text" else object)


@bounded
@given(tables())
def test_real_bytes_come_back_and_new_rows_read_as_they_were(drawn):
    content, kinds, cells = drawn
    with tempfile.TemporaryDirectory() as folder:
        source, out = Path(folder) / "in.csv", Path(folder) / "out.csv"
        source.write_bytes(content)
        table = read_table(source)
        n_real = len(table.frame)
        series = [
            _series(kind, new, table.frame.iloc[:, i].dtype)
            for i, (kind, new) in enumerate(zip(kinds, cells, strict=True))
        ]
        added = pd.DataFrame(dict(enumerate(series)))
        added.columns = table.frame.columns
        columns = {
            name: pd.concat(
                [table.frame[name].astype(object), added[name].astype(object)]
            )
            for name in table.frame
        }
        typed = {
            name: pd.Series(column.to_list(), dtype=added[name].dtype)
            for name, column in columns.items()
        }

        write_table(table.frame, out, n_real=n_real, like=table)
        same = out.read_bytes()
        write_table(pd.DataFrame(typed), out, n_real=n_real, like=table, force=True)
        again = read_table(out)

    assert same == content
    codec = table.dialect.encoding
    stem = content.decode(codec).rstrip("\r\n").encode(codec)
    assert again.content.startswith(stem)
    pd.testing.assert_frame_equal(
        again.frame.iloc[:n_real], table.frame, check_dtype=False
    )
    for i, expected in enumerate(cells):
        column = again.frame.iloc[n_real:, i]
        found = [None if pd.isna(cell) else cell for cell in column]
        if kinds[i] == "day":
            found = [
                None if cell is None else np.datetime64(cell, "D") for cell in found
            ]
        assert found == expected
