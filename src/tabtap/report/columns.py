"""Each column's distribution in real and in synthetic rows, those that moved first."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.dates import (
    HOURS_PER_DAY,
    MINUTES_PER_DAY,
    SEC_PER_DAY,
    AutoDateFormatter,
    AutoDateLocator,
    date2num,
)
from matplotlib.ticker import MaxNLocator

from tabtap.fidelity import drawn_again, shape_errors
from tabtap.report.blocks import Figure
from tabtap.report.drawing import (
    FONT_SIZE,
    MUTED,
    REAL,
    SYNTHETIC,
    Layout,
    clean,
    draw,
    key,
    label,
    panels,
    stacked,
)
from tabtap.report.words import ColumnValues, column_title, column_values
from tabtap.result import AugmentResult
from tabtap.rng import stream
from tabtap.table.schema import FloatArray
from tabtap.wording import count, listed, percent, tick_texts

MAX_PANELS = 12
N_DRAWS = 20
"""Times that real rows are drawn again, to learn how far chance moves a column."""


@dataclass(frozen=True, slots=True, eq=False)
class ColumnChanges:
    """How far every column moved, and how far chance would move it."""

    errors: FloatArray
    """Shape (n_features + 1,): as ``fidelity.shape_errors``."""

    chance: FloatArray
    """Shape (n_features + 1,): the largest of ``N_DRAWS`` draws of real rows."""

    @property
    def order(self) -> list[int]:
        """Places of the columns, the one that moved most first; the target is -1."""
        places = np.flatnonzero(~np.isnan(self.errors))
        ranked = places[np.argsort(-self.errors[places], kind="stable")]
        last = len(self.errors) - 1
        return [-1 if place == last else int(place) for place in ranked]

    @property
    def moved(self) -> list[int]:
        """Those of them that moved farther than chance did in any draw."""
        return [i for i in self.order if self.errors[i] > self.chance[i] + 1e-12]


def column_changes(result: AugmentResult) -> ColumnChanges:
    """Measure how far the columns of the synthetic rows moved."""
    real, new = result.real, result.delivered.rows
    rng = stream(result.about.seed, "report", "columns")
    draws = [
        shape_errors(real, drawn_again(real, new.condition, rng))
        for _ in range(N_DRAWS)
    ]
    return ColumnChanges(shape_errors(real, new), np.max(draws, axis=0))


def shapes_block(result: AugmentResult, changes: ColumnChanges) -> Figure:
    """Draw the columns that moved most."""
    columns = [
        column_values(result.real, result.delivered.rows, place)
        for place in changes.order[:MAX_PANELS]
    ]
    title = _title(result, changes)
    drawn = [
        column_panel(column, name=f"column {number}")
        for number, column in enumerate(columns)
    ]
    names = listed([column.name for column in columns])
    return Figure(
        title=title,
        svg=stacked(column_key("columns key"), panels(drawn)),
        alt=f"Distributions of {names} in real and in synthetic rows. {title}.",
        caption=_caption(changes),
    )


def _title(result: AugmentResult, changes: ColumnChanges) -> str:
    n_all, moved = len(changes.order), changes.moved
    if not moved:
        return "No column moved farther than chance would move it"
    names = [
        column_title(column_values(result.real, result.delivered.rows, place).name)
        for place in moved[:3]
    ]
    if len(moved) <= 3:
        them = "it" if len(moved) == 1 else "them"
        return f"{listed(names)} moved farther than chance would move {them}"
    return (
        f"{count(len(moved))} of {count(n_all)} columns moved farther than chance "
        f"would move them, most of all {listed(names)}"
    )


def _caption(changes: ColumnChanges) -> str:
    said = (
        "Shares of the rows; the columns that moved most come first. What chance does "
        f"was seen by drawing real rows again {N_DRAWS} times, with the same mix of "
        "targets."
    )
    n_left = len(changes.order) - MAX_PANELS
    if n_left > 0:
        said += f" {count(n_left)} more columns moved less and are not shown."
    return said


# ---- One column in real and in synthetic rows: an outline over a shape, or paired
# bars.


MAX_BARS = 5

_N_BINS = 16
_FEW = 14
_SIGN = 6.0
"""Pixels of one sign below an axis."""

_LAYOUT = Layout(width=250, height=166, left=8, right=10, top=42, bottom=24)
_BARS = Layout(width=250, height=166, left=88, right=66, top=42, bottom=8)
_FILLED: dict[str, Any] = {"color": REAL, "alpha": 0.38, "linewidth": 0}
_OUTLINE: dict[str, Any] = {"color": SYNTHETIC, "linewidth": 1.8}


def column_key(name: str) -> str:
    """Return the line that says which shape is whose."""
    marks = [("real rows", {**_FILLED, "bar": True}), ("synthetic rows", _OUTLINE)]
    return key(marks, name=name)


def column_panel(column: ColumnValues, *, name: str) -> str:
    """Draw one column: an outline over a filled shape, or bars in pairs."""
    remark = column_remark(column)
    layout = _BARS if column.sort == "level" else _LAYOUT
    paint = _bars if column.sort == "level" else _histogram

    def panel(axes: Axes) -> None:
        paint(axes, column)
        if column.sort == "level":
            # The name begins at the edge of the panel, as in all other panels.
            wide = Layout(width=layout.width, left=0)
            _label_at_edge(axes, (column.name, remark), wide)
        else:
            label(axes, (column.name, remark), layout)

    return draw(panel, name=name, title=f"{column.name}: {remark}", layout=layout)


def column_remark(column: ColumnValues) -> str:
    """Say in a few words what differs between real and synthetic rows."""
    if column.sort == "level":
        return _level_remark(column)
    middles = [_median(part) for part in (column.real, column.synthetic)]
    if column.sort == "date" and abs(middles[0] - middles[1]) >= 1:
        middles = [np.floor(middle) for middle in middles]  # the hour is not news
    texts = [column.text(middle) for middle in middles]
    said = f"median {texts[0]}"
    if column.sort == "date" and texts[0][:11] == texts[1][:11]:
        texts = [part[11:] for part in texts]
    if texts[0] != texts[1]:
        said += f" → {texts[1]}"
    holes = [float(np.isnan(part).mean()) for part in (column.real, column.synthetic)]
    if max(holes) > 0:
        said += f", {100 * holes[0]:.0f} → {percent(round(holes[1], 2))} missing"
    return said


def _median(values: FloatArray) -> float:
    present = values[~np.isnan(values)]
    return float(np.median(present)) if len(present) else float("nan")


def _level_shares(column: ColumnValues) -> FloatArray:
    """Return shares of (missing, level 0, level 1, ...) in real and new rows."""
    size = len(column.levels) + 1
    parts = (column.real, column.synthetic)
    return np.array(
        [np.bincount(part + 1, minlength=size) / max(len(part), 1) for part in parts]
    )


def _level_remark(column: ColumnValues) -> str:
    shares = _level_shares(column)
    code = int(np.abs(shares[1] - shares[0]).argmax())
    before, after = (percent(round(float(share), 2)) for share in shares[:, code])
    return f"{clean(column.text(code - 1), 18)}: {before} → {after}"


def _bars(axes: Axes, column: ColumnValues) -> None:
    rows = _bar_rows(column)
    top = max(max(shares) for _, shares in rows)
    axes.set(xlim=(0, top), ylim=(max(len(rows), 3) - 0.5, -0.5), xticks=[], yticks=[])
    axes.spines["bottom"].set_visible(False)
    for place, (text, (before, after)) in enumerate(rows):
        axes.barh(place - 0.18, before, 0.34, **_FILLED)
        axes.barh(
            place + 0.2, after, 0.26, fill=False, edgecolor=SYNTHETIC, linewidth=1.6
        )
        _beside(axes, (0, place), -6, clean(text, 14))
        both = f"{100 * before:.0f} → {percent(round(after, 2))}"
        _beside(axes, (max(before, after), place), 5, both)


def _bar_rows(column: ColumnValues) -> list[tuple[str, tuple[float, float]]]:
    """Return the commonest levels with their shares in real and in new rows."""
    shares = _level_shares(column)
    ranked = np.argsort(-shares.max(axis=0), kind="stable")
    order = [int(code) for code in ranked if shares[:, code].max() > 0]
    n_kept = MAX_BARS if len(order) > MAX_BARS + 1 else len(order)
    rows = [
        (column.text(code - 1), (float(shares[0, code]), float(shares[1, code])))
        for code in order[:n_kept]
    ]
    rest = shares[:, order[n_kept:]].sum(axis=1)
    if len(order) > n_kept:
        others = f"{count(len(order) - n_kept)} others"
        rows.append((others, (float(rest[0]), float(rest[1]))))
    return rows


def _beside(axes: Axes, place: tuple[float, float], offset: int, text: str) -> None:
    axes.annotate(
        text,
        place,
        xytext=(offset, 0),
        textcoords="offset points",
        ha="right" if offset < 0 else "left",
        va="center",
        color=MUTED,
        size=FONT_SIZE - 1,
    )


def _histogram(axes: Axes, column: ColumnValues) -> None:
    parts = [part[~np.isnan(part)] for part in (column.real, column.synthetic)]
    axes.set(yticks=[])
    both = np.concatenate(parts)
    if not len(both):
        axes.set(xticks=[])
        return
    edges = _edges(both, column.step)
    for part, values, style in zip(
        parts,
        (column.real, column.synthetic),
        ({**_FILLED, "fill": True}, _OUTLINE),
        strict=True,
    ):
        shares = np.histogram(part, edges)[0] / max(len(values), 1)
        axes.stairs(shares, edges, **style)
    axes.set_xlim(edges[0], edges[-1])
    axes.set_ylim(bottom=0)
    _ticks(axes, column)


def _edges(values: FloatArray, step: float) -> FloatArray:
    low, high = float(values.min()), float(values.max())
    if high - low <= 1e-13 * max(abs(low), abs(high)):
        # One value, or numbers so large that a float does not tell them apart.
        room = abs(low) / 2 or 0.5
        return np.array([low - room, low + room])
    if step and (high - low) / step <= _FEW:
        # One bin for each value that there can be.
        n_values = round((high - low) / step) + 1
        return np.arange(n_values + 1, dtype=np.float64) * step + low - step / 2
    return np.asarray(np.linspace(low, high, _N_BINS + 1), dtype=np.float64)


def _ticks(axes: Axes, column: ColumnValues) -> None:
    if column.sort == "date":
        _set_ticks(axes, *date_ticks(*axes.get_xlim()))
        return
    low, high = axes.get_xlim()
    wanted = MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
    places = np.asarray(wanted, dtype=np.float64)
    places = places[(places >= low) & (places <= high)]
    if column.step >= 1:
        places = places[places == np.round(places)]
    texts = tick_texts(places, column.power)
    if column.unit and texts:
        texts[-1] += f" {column.unit}"
    _set_ticks(axes, places.tolist(), texts)


def _set_ticks(axes: Axes, places: Sequence[float], texts: Sequence[str]) -> None:
    """Write the texts that do not reach over the edge of the panel."""
    low, high = axes.get_xlim()
    width = _LAYOUT.width - _LAYOUT.left - _LAYOUT.right
    fits = []
    for place, text in zip(places, texts, strict=True):
        middle = (place - low) / (high - low) * width
        reach = 0.5 * _SIGN * len(text)
        if reach - _LAYOUT.left <= middle <= width + _LAYOUT.right - reach:
            fits.append((place, text))
    axes.set_xticks([place for place, _ in fits], [text for _, text in fits])


def _label_at_edge(axes: Axes, texts: tuple[str, str], layout: Layout) -> None:
    label(axes, texts, layout)
    for written in axes.texts[-2:]:
        written.set_x(written.get_position()[0] - _BARS.left + _LAYOUT.left)


# ---- Round dates along an axis: years, months, days, hours, minutes or seconds.


MAX_TICKS = 3
"""More dates than these do not fit below a panel."""

SIGN_WIDTH = 0.027
"""Width of one sign, as a share of the axis."""

_START = dt.datetime(1970, 1, 1)
_FIRST, _LAST = -719_162.0, 2_932_896.0
"""The years 1 to 9999, in days since 1970."""

_SHORTEST = 2 / SEC_PER_DAY
"""Parts of a second are not written."""


def date_ticks(low: float, high: float) -> tuple[list[float], list[str]]:
    """Return places and texts of a few round dates between two.

    Parameters
    ----------
    low, high : float
        Days since 1970.

    Returns
    -------
    tuple of lists
        Places in days since 1970, at most ``MAX_TICKS`` of them, and what to write
        there.  None where there is no round date between.

    Examples
    --------
    >>> date_ticks(1.0, 1200.0)[1]
    ['1971', '1972', '1973']
    >>> date_ticks(18262.3, 18262.9)[1]
    ['01-01 08:00', '01-01 16:00']
    """
    low, high = max(low, _FIRST), min(high, _LAST)
    if high - low < _SHORTEST:
        return [], []
    # With fewer allowed it finds none that fits in some spans, and warns.
    locator = AutoDateLocator(minticks=2, maxticks=2 * MAX_TICKS - 1)
    formatter = AutoDateFormatter(locator)
    formatter.scaled[1 / HOURS_PER_DAY] = "%m-%d %H:%M"
    formatter.scaled[1 / MINUTES_PER_DAY] = "%m-%d %H:%M"
    zero = date2num(_START)  # not 0 where the user has chosen another epoch
    found = locator.tick_values(*(_START + dt.timedelta(days=d) for d in (low, high)))
    places = [float(tick - zero) for tick in found if low <= tick - zero <= high]
    room = SIGN_WIDTH * (len(formatter(zero)) + 1) * (high - low)
    while len(places) > MAX_TICKS or np.diff(places).min(initial=room) < room:
        places = places[::2]
    return places, [formatter(place + zero) for place in places]
