"""The paper's tables from the records of a comparison: scores, wins, costs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import t as student

from tabtap.compare.printing import TextTable
from tabtap.compare.store import Record
from tabtap.errors import UserInputError
from tabtap.rivals import METHOD_NAMES
from tabtap.study.sources import SOURCES, Published, published_figure

LARGER_IS_BETTER: Mapping[str, bool] = {
    "accuracy": True,
    "macro_f1": True,
    "rmse": False,
    "mae": False,
}

AVERAGE = "mean"
"""Stands for the mean over predictors where predictors go by name."""

_COLUMNS = ("dataset", "n_real", "split", "method", "predictor", "metric", "score")


_LARGEST = 1e300
"""Figures beyond it, and NaN, are nothing that was measured."""


def is_record(record: Record) -> bool:
    """Whether a record has what the tables and figures read of it."""
    cell, scores = record.get("cell"), record.get("scores")
    failure, costs = record.get("failure"), record.get("costs")
    return (
        isinstance(cell, dict)
        and all(isinstance(cell.get(key), str) for key in ("dataset", "method"))
        and all(type(cell.get(key)) is int for key in ("n_real", "split"))
        and isinstance(cell.get("settings"), dict)
        and isinstance(scores, dict)
        and all(_holds_figures(part) for part in scores.values())
        and (failure is None or (isinstance(failure, dict) and "reason" in failure))
        and (not costs or _is_cost(costs, record.get("n_rows")))
    )


def _is_cost(costs: object, n_rows: object) -> bool:
    return (
        isinstance(costs, dict)
        and _is_figure(n_rows)
        and _holds_figures(costs.get("cpu_seconds"))
        and _holds_figures(costs.get("peak_bytes"), or_none=True)
    )


def _holds_figures(part: object, *, or_none: bool = False) -> bool:
    return isinstance(part, dict) and all(
        _is_figure(value) or (or_none and value is None) for value in part.values()
    )


def _is_figure(value: object) -> bool:
    return isinstance(value, (int, float)) and -_LARGEST < value < _LARGEST


def method_label(cell: Mapping[str, Any]) -> str:
    """Return a method's name, with the settings that a grid gave it.

    Examples
    --------
    >>> method_label({"method": "TAP", "settings": {"preset": "fast"}})
    'TAP (preset=fast)'
    >>> method_label({"method": "TAP", "settings": {"augment": {"n_steps": 64}}})
    'TAP (augment.n_steps=64)'
    """
    given = ", ".join(_spelled(cell["settings"]))
    return f"{cell['method']} ({given})" if given else str(cell["method"])


def _spelled(settings: Mapping[str, Any], within: str = "") -> Iterator[str]:
    for key, part in settings.items():
        if isinstance(part, Mapping):
            yield from _spelled(part, f"{within}{key}.")
        else:
            yield f"{within}{key}={part}"


def score_frame(records: Iterable[Record]) -> pd.DataFrame:
    """Return one row per cell, predictor and metric.

    Columns are dataset, n_real, split, method, predictor, metric, score.  Accuracy and
    macro F1 are in percent, as in the paper.  Each cell also has the mean over its
    predictors.
    """
    lines = []
    for record in records:
        cell = record["cell"]
        key = (cell["dataset"], cell["n_real"], cell["split"], method_label(cell))
        by_metric: dict[str, list[float]] = {}
        for predictor, scores in record["scores"].items():
            for metric, score in scores.items():
                shown = 100.0 * score if LARGER_IS_BETTER.get(metric) else score
                lines.append((*key, predictor, metric, shown))
                by_metric.setdefault(metric, []).append(shown)
        for metric, values in by_metric.items():
            lines.append((*key, AVERAGE, metric, float(np.mean(values))))
    return in_paper_order(pd.DataFrame(lines, columns=list(_COLUMNS)))


def mean_frame(
    entries: Iterable[tuple[Mapping[str, Any], str, Mapping[str, Mapping[str, float]]]],
) -> pd.DataFrame:
    """Return the means over predictors of some cells, as ``score_frame`` has them.

    An entry is a cell as its record keeps it, the name of what was tried, and scores.
    """
    lines = []
    for cell, name, scores in entries:
        key = (cell["dataset"], cell["n_real"], cell["split"], name)
        for metric in next(iter(scores.values()), {}):
            mean = float(np.mean([part[metric] for part in scores.values()]))
            shown = 100.0 * mean if LARGER_IS_BETTER.get(metric) else mean
            lines.append((*key, AVERAGE, metric, shown))
    return pd.DataFrame(lines, columns=list(_COLUMNS))


_NOTHING = (
    "Every cell of this store failed, so there is nothing to show but why. "
    "See: tabtap bench table failures"
)


def scored_frame(records: Iterable[Record]) -> pd.DataFrame:
    """As ``score_frame``, of which at least one row can be shown."""
    frame = score_frame(records)
    if not frame["metric"].isin(METRICS).any():
        raise UserInputError(_NOTHING)
    return frame


def in_paper_order(frame: pd.DataFrame) -> pd.DataFrame:
    """Sort rows as the paper has its tables: by dataset, size, split and method."""
    orders = {"dataset": list(SOURCES), "method": list(METHOD_NAMES)}
    keys = [name for name in ("dataset", "n_real", "split", "method") if name in frame]

    def rank(column: pd.Series) -> pd.Series:
        order = orders.get(str(column.name))
        if order is None:
            return column
        return column.map(lambda name: (_rank(name, order), name))

    return frame.sort_values(keys, key=rank, kind="stable", ignore_index=True)


def _rank(name: str, order: list[str]) -> int:
    base = name.partition(" (")[0]
    return order.index(base) if base in order else len(order)


def means(frame: pd.DataFrame, metric: str, predictor: str = AVERAGE) -> pd.DataFrame:
    """Return mean, deviation and number of splits per dataset, n_real and method."""
    chosen = frame[(frame["metric"] == metric) & (frame["predictor"] == predictor)]
    by = chosen.groupby(["dataset", "n_real", "method"], sort=False)["score"]
    # The deviation as numpy has it, of splits that are all there are.
    return by.agg(
        mean="mean", deviation=lambda part: part.std(ddof=0), splits="count"
    ).reset_index()


def gains(frame: pd.DataFrame, metric: str, over: str = "Real") -> pd.DataFrame:
    """Return what each method gains over another, cell by cell; larger is better.

    Columns are dataset, n_real, split, method, gain: points of the metric, or percent
    of the error.  Only cells that both have.
    """
    chosen = frame[(frame["metric"] == metric) & (frame["predictor"] == AVERAGE)]
    keys = ["dataset", "n_real", "split"]
    base = chosen[chosen["method"] == over].set_index(keys)["score"]
    joined = chosen.join(base.rename("base"), on=keys, how="inner")
    if LARGER_IS_BETTER[metric]:
        gain = joined["score"] - joined["base"]
    else:
        gain = 100.0 * (joined["base"] - joined["score"]) / joined["base"]
    others = joined.assign(gain=gain)[joined["method"] != over]
    return others[[*keys, "method", "gain"]].reset_index(drop=True)


# ---- The paper's tables from the records of a comparison, with the paper's own
# figures.


_WORDS = {
    "accuracy": "Accuracy in percent, larger is better",
    "macro_f1": "Macro F1 in percent, larger is better",
    "rmse": "RMSE in units of the target's deviation, smaller is better",
    "mae": "MAE in units of the target's deviation, smaller is better",
}

MISSING = "-"


def score_tables(
    frame: pd.DataFrame, metrics: Sequence[str], *, beside_paper: bool = True
) -> list[TextTable]:
    """Return one table per metric: rows as in the paper, a column for each method.

    ``frame`` comes from ``score_frame``; a metric without a record is left out.  With
    ``beside_paper`` the paper's figure, and ours minus it, follow in lines of their
    own.
    """
    return [
        _score_table(frame, metric, beside_paper=beside_paper)
        for metric in metrics
        if (frame["metric"] == metric).any()
    ]


def predictor_tables(frame: pd.DataFrame, metric: str) -> list[TextTable]:
    """Return one table per predictor, without the paper's figures."""
    chosen = frame[frame["metric"] == metric]
    names = [name for name in chosen["predictor"].unique() if name != AVERAGE]
    return [
        _score_table(frame, metric, predictor=name, beside_paper=False)
        for name in names
    ]


def gain_table(frame: pd.DataFrame, metric: str) -> TextTable:
    """Return the mean gain of every method over real rows, and over copies.

    The error bar is the standard error over cells; cells of one dataset are not
    independent of each other, so it is on the small side.
    """
    columns = {
        over: gains(frame, metric, over)
        for over in ("Real", "Copies")
        if (frame["method"] == over).any()
    }
    rows = []
    for method in _methods(frame):
        cells = [_gain(table[table["method"] == method]) for table in columns.values()]
        if any(cell != MISSING for cell in cells):
            rows.append((method, *cells))
    unit = "points" if LARGER_IS_BETTER[metric] else "% of the error"
    return TextTable(
        f"Mean gain in {metric}, {unit}, with its standard error over cells",
        ("method", *(f"over {over}" for over in columns)),
        tuple(rows),
    )


def _score_table(
    frame: pd.DataFrame,
    metric: str,
    *,
    predictor: str = AVERAGE,
    beside_paper: bool,
) -> TextTable:
    averages = means(frame, metric, predictor)
    methods = _methods(averages)
    rows: list[tuple[str, ...]] = []
    for (dataset, n_real), part in averages.groupby(["dataset", "n_real"], sort=False):
        ours = part.set_index("method")
        rows.append(
            (str(dataset), str(n_real), *(_ours(ours, m, metric) for m in methods))
        )
        if beside_paper:
            rows += _paper_rows(str(dataset), int(n_real), metric, methods, ours)
    who = "mean over predictors" if predictor == AVERAGE else predictor
    splits = sorted(set(averages["splits"]))
    n_splits = " to ".join(map(str, sorted({splits[0], splits[-1]})))
    of = "one split" if n_splits == "1" else f"mean ± deviation over {n_splits} splits"
    return TextTable(
        f"{_WORDS[metric]}; {who}; {of}",
        ("dataset", "n_real", *methods),
        tuple(rows),
        n_labels=2,
    )


def _paper_rows(
    dataset: str, n_real: int, metric: str, methods: Sequence[str], ours: pd.DataFrame
) -> list[tuple[str, ...]]:
    theirs, difference = [], []
    for method in methods:
        figure = _published(dataset, n_real, metric, method)
        mean = ours["mean"].get(method)
        theirs.append(
            MISSING if figure is None else _pair(figure.mean, figure.deviation, metric)
        )
        difference.append(
            MISSING
            if figure is None or mean is None
            else _signed(mean - figure.mean, metric)
        )
    if all(cell == MISSING for cell in theirs):
        return []
    return [("", "paper", *theirs), ("", "ours - paper", *difference)]


def _published(dataset: str, n_real: int, metric: str, label: str) -> Published | None:
    """Return the paper's figure for a method, whatever settings ours has."""
    return published_figure(dataset, n_real, metric, label.partition(" (")[0])


def _ours(ours: pd.DataFrame, method: str, metric: str) -> str:
    if method not in ours.index:
        return MISSING
    line = ours.loc[method]
    if line["splits"] == 1:  # one says nothing of how far others lie apart
        return f"{line['mean']:.{_digits(metric)}f}"
    return _pair(line["mean"], line["deviation"], metric)


def _pair(mean: float, deviation: float, metric: str) -> str:
    digits = _digits(metric)
    return f"{mean:.{digits}f} ± {deviation:.{digits}f}"


def _signed(value: float, metric: str) -> str:
    return f"{value:+.{_digits(metric)}f}"


def _digits(metric: str) -> int:
    return 1 if LARGER_IS_BETTER[metric] else 3


def _gain(part: pd.DataFrame) -> str:
    if part.empty:
        return MISSING
    gain = part["gain"]
    if len(gain) == 1:
        return f"{gain.iloc[0]:+.1f}"
    return f"{gain.mean():+.1f} ± {gain.sem():.1f} ({len(gain)})"


def _methods(frame: pd.DataFrame) -> list[str]:
    """Return the methods in the order in which a grid names them."""
    return [str(name) for name in frame["method"].unique()]


# ---- What methods cost, and where they failed, from the records of a comparison.


_MEGABYTE = 1_000_000


def cost_table(records: Iterable[Record]) -> TextTable:
    """Return rows made, CPU seconds by stage and peak memory: means per method."""
    lines = [_cost(record) for record in records if record.get("costs")]
    if not lines:
        raise UserInputError(_NOTHING)
    frame = in_paper_order(pd.DataFrame(lines))
    rows = []
    for (method, n_real), part in frame.groupby(["method", "n_real"], sort=False):
        figures = part.drop(columns=["method", "n_real"]).mean()
        rows.append(
            (
                str(method),
                str(n_real),
                f"{figures['rows']:.0f}",
                f"{figures['method_seconds']:.1f}",
                f"{part['method_seconds'].max():.1f}",
                f"{figures['score_seconds']:.1f}",
                f"{figures['peak'] / _MEGABYTE:.0f}",
            )
        )
    header = (
        "method",
        "n_real",
        "rows",
        "CPU s",
        "CPU s, dearest",
        "scoring CPU s",
        "peak MB",
    )
    return TextTable("Means over cells", header, tuple(rows), n_labels=2)


def failure_table(records: Iterable[Record]) -> TextTable:
    """Return how often each method failed, and why, most frequent reason first."""
    counts: dict[str, int] = {}
    reasons: dict[str, dict[str, int]] = {}
    for record in records:
        name = method_label(record["cell"])
        counts[name] = counts.get(name, 0) + 1
        if record["failure"]:
            times_of = reasons.setdefault(name, {})
            reason = str(record["failure"]["reason"])
            times_of[reason] = times_of.get(reason, 0) + 1
    rows = []
    for name, times_of in reasons.items():
        for reason, times in sorted(times_of.items(), key=lambda pair: -pair[1]):
            rows.append((name, reason, f"{times} of {counts[name]}"))
    notes = () if rows else (f"None of {sum(counts.values())} cells failed.",)
    title = "Cells in which a method failed, and added nothing"
    return TextTable(title, ("method", "reason", "cells"), tuple(rows), notes, 2)


def _cost(record: Record) -> dict[str, Any]:
    seconds: Mapping[str, float] = record["costs"]["cpu_seconds"]
    peaks: Mapping[str, int | None] = record["costs"]["peak_bytes"]
    peak = peaks.get("method")
    return {
        "method": method_label(record["cell"]),
        "n_real": record["cell"]["n_real"],
        "rows": record["n_rows"],
        "method_seconds": seconds.get("method", 0.0),
        "score_seconds": seconds.get("score", 0.0),
        "peak": np.nan if peak is None else float(peak),
    }


# ---- How often a method beats another, cell by cell.


METRICS = ("accuracy", "rmse")
"""By which a cell is won: one of each task."""

CONTROLS = (
    "Real",
    "Copies",
    "Jitter",
    "One shot",
    "Random inpainting",
    "Hard inpainting",
)
"""Methods that are no rivals of TAP: what it must beat, and the rungs it stands on."""


def win_table(frame: pd.DataFrame) -> TextTable:
    """Return, for every method, the share of cells in which it beats others.

    Others are real rows alone, copies, and the best of the other methods in that cell.
    A tie is half a win; cells that lack one of the two are left out.
    """
    ranks = _standings(frame)
    rows = []
    for method in ranks.columns:
        others = [name for name in ranks.columns if name not in (*CONTROLS, method)]
        rows.append(
            (
                str(method),
                _share(ranks, method, ["Real"]),
                _share(ranks, method, ["Copies"]),
                _share(ranks, method, others),
            )
        )
    return TextTable(
        "Cells won, in percent (accuracy or RMSE, mean over predictors)",
        ("method", "against Real", "against Copies", "against the best rival"),
        tuple(rows),
        ("A tie is half a win.",),
    )


def _standings(frame: pd.DataFrame) -> pd.DataFrame:
    """Return cells in rows and methods in columns; larger is better."""
    chosen = frame[
        frame["metric"].isin(METRICS) & (frame["predictor"] == AVERAGE)
    ].copy()
    sign = chosen["metric"].map(lambda name: 1.0 if LARGER_IS_BETTER[name] else -1.0)
    chosen["score"] *= sign
    keys = ["dataset", "n_real", "split"]
    wide = chosen.pivot_table("score", keys, "method", sort=False)
    return wide[[name for name in frame["method"].unique() if name in wide.columns]]


def _share(ranks: pd.DataFrame, method: str, others: Sequence[str]) -> str:
    there = [name for name in others if name in ranks.columns and name != method]
    if not there:
        return "-"
    pair = pd.DataFrame({"own": ranks[method], "best": ranks[there].max(axis=1)})
    pair = pair.dropna()
    if pair.empty:
        return "-"
    won = (pair["own"] > pair["best"]).mean() + 0.5 * (
        pair["own"] == pair["best"]
    ).mean()
    return f"{100 * won:.0f} ({len(pair)})"


# ---- How far our figures are from the paper's, beside what chance alone would do.


_PAPER_SPLITS = 5


def difference_table(frame: pd.DataFrame, metric: str) -> TextTable:
    """Return, for every method of the paper, ours minus the paper's figures.

    Columns are how many figures both have, the mean difference, and the typical one as
    a multiple of the one that other splits alone would make.
    """
    figures = _figures(frame, metric)
    digits = 1 if LARGER_IS_BETTER[metric] else 3
    rows = tuple(
        (str(method), str(len(part)), *_difference_cells(part, digits))
        for method, part in figures.groupby("method", sort=False)
    )
    unit = "points" if LARGER_IS_BETTER[metric] else "the target's deviation"
    return TextTable(
        f"Ours minus the paper's {metric}, in {unit}",
        ("method", "figures", "mean difference", "of that by chance"),
        rows,
        (
            "The last column is 1 if only the splits differ: root mean square of the "
            "differences, over that of their standard errors.",
        ),
    )


def _figures(frame: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return a line for each mean that both have: difference and its variance."""
    lines = []
    for ours in means(frame, metric).itertuples():
        theirs = _published(ours.dataset, ours.n_real, metric, ours.method)
        if theirs is None:
            continue
        own = ours.deviation**2 / (ours.splits - 1) if ours.splits > 1 else np.nan
        chance = own + theirs.deviation**2 / (_PAPER_SPLITS - 1)
        lines.append((ours.method, ours.mean - theirs.mean, chance))
    return pd.DataFrame(lines, columns=["method", "difference", "chance"])


def _difference_cells(part: pd.DataFrame, digits: int) -> tuple[str, str]:
    apart = part["difference"]
    mean = f"{apart.mean():+.{digits}f}"
    if len(apart) > 1:
        mean += f" ± {apart.sem():.{digits}f}"
    known = part.dropna()
    if known.empty:
        return mean, "-"
    ratio = np.sqrt((known["difference"] ** 2).mean() / known["chance"].mean())
    return mean, f"{ratio:.1f}"


# ---- A mean and what chance does to it, and whether a claim was found.


class Interval(NamedTuple):
    """A mean with its 95 % interval, whose ends are NaN if nothing is known of it."""

    mean: float
    low: float
    high: float

    n: int
    """Independent units that it is a mean of."""

    unit: str = "cells"
    """What these are."""


_LEAST_GROUPS = 3
"""With fewer tables than this, cells are what is counted."""


def mean_interval(
    values: Sequence[float], groups: Sequence[str] | None = None
) -> Interval:
    """Return the mean of some figures and its 95 % interval, by Student's t.

    ``groups`` are the tables they come from.  Figures of one table are no independent
    evidence: from three tables on it is their means that are counted.

    Examples
    --------
    >>> mean_interval([1.0, 3.0, 5.0, 7.0], ["a", "a", "b", "c"]).n
    3
    """
    units, unit = pd.Series(values, dtype=np.float64), "cells"
    if groups is not None and len(set(groups)) >= _LEAST_GROUPS:
        units, unit = units.groupby(list(groups)).mean(), "tables"
    mean, n = float(units.mean()), len(units)
    if n < 2:
        return Interval(mean, np.nan, np.nan, n, unit)
    half = float(student.ppf(0.975, n - 1) * units.std() / np.sqrt(n))
    return Interval(mean, mean - half, mean + half, n, unit)


def show_interval(interval: Interval, digits: int = 1) -> str:
    """Return an interval as a page shows it.

    Examples
    --------
    >>> show_interval(Interval(1.25, 0.5, 2.0, 7, "tables"))
    '+1.2 (+0.5 to +2.0)'
    """
    if np.isnan(interval.mean):
        return MISSING
    shown = f"{interval.mean:+.{digits}f}"
    if np.isnan(interval.low):
        return shown
    return f"{shown} ({interval.low:+.{digits}f} to {interval.high:+.{digits}f})"


def finding(claim: str, difference: Interval, digits: int = 1, unit: str = "") -> str:
    """Return whether a claim was found: that a difference is above 0.

    Examples
    --------
    >>> finding("TAP beats copies", Interval(1.25, 0.5, 2.0, 7, "tables"))
    '**Found.** TAP beats copies: +1.2 (+0.5 to +2.0), 7 tables.'
    >>> finding("TAP beats copies", Interval(-1.0, -3.0, 1.0, 4))
    '**Not found.** TAP beats copies: -1.0 (-3.0 to +1.0), 4 cells; chance alone may \
do that.'
    """
    if not difference.n:
        return f"**Not found.** {claim}: there is nothing to compare."
    said = f"{claim}: {show_interval(difference, digits)}{unit}"
    unit = difference.unit if difference.n > 1 else difference.unit.removesuffix("s")
    said = f"{said}, {difference.n} {unit}"
    if difference.low > 0:
        return f"**Found.** {said}."
    if difference.high < 0:
        return f"**Not found.** {said}; it is the other way round."
    if np.isnan(difference.low):
        return f"**Not found.** {said}; a single one shows nothing."
    return f"**Not found.** {said}; chance alone may do that."


def finding_of_several(claim: str, differences: Mapping[str, Interval]) -> str:
    """Return of which others a claim was found: that the difference is above 0.

    Examples
    --------
    >>> above, about = Interval(2.0, 1.0, 3.0, 7), Interval(1.0, -1.0, 3.0, 7)
    >>> finding_of_several("TAP beats", {"SMOTE": above, "ARF": about})
    '**In part found.** TAP beats SMOTE; not shown of ARF.'
    """
    shown = [name for name, apart in differences.items() if apart.low > 0]
    below = [name for name, apart in differences.items() if apart.high < 0]
    open_ = [name for name in differences if name not in (*shown, *below)]
    found = "In part found" if shown else "Not found"
    parts = [
        f"{claim} {', '.join(shown) or 'any other'}",
        *([f"it is the other way round of {', '.join(below)}"] if below else []),
        *([f"not shown of {', '.join(open_)}"] if open_ else []),
    ]
    return f"**{found if below or open_ else 'Found'}.** {'; '.join(parts)}."


# ---- The tables of a comparison by name.


Made = list[TextTable]


def _metrics(frame: pd.DataFrame) -> list[str]:
    return [metric for metric in METRICS if (frame["metric"] == metric).any()]


def _per_predictor(frame: pd.DataFrame) -> Made:
    return [t for metric in _metrics(frame) for t in predictor_tables(frame, metric)]


_OF_SCORES: Mapping[str, Callable[[pd.DataFrame], Made]] = MappingProxyType(
    {
        "main": lambda frame: score_tables(frame, ["accuracy", "rmse"]),
        "f1": lambda frame: score_tables(frame, ["macro_f1", "mae"]),
        "per-predictor": _per_predictor,
        "gains": lambda frame: [gain_table(frame, m) for m in _metrics(frame)],
        "wins": lambda frame: [win_table(frame)],
        "paper": lambda frame: [difference_table(frame, m) for m in _metrics(frame)],
    }
)
_OF_RECORDS: Mapping[str, Callable[[Sequence[Record]], TextTable]] = MappingProxyType(
    {"cost": cost_table, "failures": failure_table}
)

TABLE_NAMES = (*_OF_SCORES, *_OF_RECORDS)


def tables_named(name: str, records: Sequence[Record]) -> Made:
    """Return the tables that go by one of ``TABLE_NAMES``."""
    if name in _OF_RECORDS:
        return [_OF_RECORDS[name](records)]
    return _OF_SCORES[name](scored_frame(records))
