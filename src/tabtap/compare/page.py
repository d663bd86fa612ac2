"""A comparison on one's own table as a ranking and as a page."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np

from tabtap import __version__
from tabtap.archive import put_in_place
from tabtap.compare.advice import advice, recommend
from tabtap.compare.contest import CONFIDENCE, Comparison, Standing
from tabtap.compare.printing import TextTable
from tabtap.report.blocks import Figure, Section, TableBlock, Text
from tabtap.report.drawing import Interval, interval_chart
from tabtap.report.page import page_html
from tabtap.report.verdict import Card, Point, Verdict


def ranking(comparison: Comparison) -> TextTable:
    """Return the methods in a table, the best first."""
    is_label = comparison.task == "classification"
    what = "accuracy %" if is_label else "RMSE"
    gained = "gain, points" if is_label else "gain, % of MSE"
    header = ("method", what, gained, f"{CONFIDENCE:.0%} interval", "rows", "CPU s")
    rows = [_line(standing, comparison) for standing in comparison.standings]
    notes = [
        f"{s.method} failed in {len(s.failures)} repeats: {s.failures[0]}"
        for s in comparison.standings
        if s.failures
    ]
    asked = f"{comparison.n_test} real rows were asked"
    if comparison.groups is not None:
        asked += f", which count as {len(np.unique(comparison.groups))}"
    return TextTable(f"Methods by score; {asked}", header, tuple(rows), tuple(notes))


def write_comparison(comparison: Comparison, path: str | Path) -> Path:
    """Write a page about a comparison, whole or not at all."""
    path = Path(path)
    put_in_place(comparison_html(comparison).encode(), path)
    return path


def comparison_html(comparison: Comparison) -> str:
    """Return a page about a comparison: what to use, the ranking, how it is known."""
    best = recommend(comparison)
    table = ranking(comparison)
    block = TableBlock(
        table.title,
        table.header,
        table.rows,
        caption=" ".join(table.notes),
        align_right=frozenset(range(1, len(table.header))),
    )
    verdict = Verdict(
        headline="Keep your rows as they are" if best is None else f"Use {best.method}",
        sentences=(advice(comparison),),
        cards=_cards(comparison, best),
        meaning=(
            Point(
                "How it was found out",
                "The same learners were trained with each method's rows and without, "
                "and asked about real rows that neither they nor the method had seen. "
                "An interval is of the mean difference, row by row. The intervals are "
                "wide enough to hold all at once: of many methods that change nothing, "
                "one looks good by chance.",
            ),
        ),
        tone="caution" if best is None else "good",
    )
    sections = (
        Section(
            "ranking",
            "All methods",
            "The smaller the loss on unseen rows, the higher a method stands.",
            (block,),
        ),
        Section(
            "gains",
            "Gains and their intervals",
            "Close methods change places when the table is cut otherwise.",
            (_plot(comparison),),
        ),
        Section(
            "learners",
            "Learner by learner",
            "A mean may hide that one learner gains and another loses.",
            (_by_predictor(comparison),),
        ),
        Section(
            "limits",
            "What this does not say",
            "Read the intervals before the ranks.",
            (Text(_LIMITS),),
        ),
    )
    return page_html(
        title="Comparison of methods",
        about=f"{comparison.n_test} real rows asked, {comparison.task}",
        verdict=verdict,
        sections=sections,
        version=__version__,
    )


_LIMITS = (
    "The intervals know of the rows that were asked, not of other tables, and only "
    "partly of the luck in what a method drew.",
    "Parts of one small table are not independent: two comparisons of the same table "
    "cut otherwise may rank close methods in another order.",
    "A method that was given its usual settings might do better with others.",
)


def _line(standing: Standing, comparison: Comparison) -> tuple[str, ...]:
    unit = comparison.gain_unit
    score = f"{np.sqrt(standing.loss):.3f}"
    if comparison.task == "classification":
        score = f"{100 * (1 - standing.loss):.1f}"
    if standing.method == "Real":
        return (standing.method, score, "-", "-", "0", "-")
    return (
        standing.method,
        score,
        f"{unit * standing.gain:+.1f}",
        f"{unit * standing.low:+.1f} to {unit * standing.high:+.1f}",
        f"{standing.n_rows:.0f}",
        f"{standing.cpu_seconds:.1f}",
    )


def _cards(comparison: Comparison, best: Standing | None) -> tuple[Card, ...]:
    others = comparison.others
    helpful = sum(s.low > 0 for s in others)
    harmful = sum(s.high < 0 for s in others)
    cards = [
        Card("Shown to help", f"{helpful} of {len(others)}", "methods"),
        Card("Shown to harm", f"{harmful} of {len(others)}", "methods"),
    ]
    if best is not None:
        line = _line(best, comparison)
        cards.append(Card(f"Gain of {best.method}", line[2], line[3]))
    return tuple(cards)


def _by_predictor(comparison: Comparison) -> TableBlock:
    names = list(comparison.of("Real").by_predictor)
    unit = comparison.gain_unit
    rows = [
        (s.method, *(f"{unit * s.by_predictor.get(name, 0.0):+.1f}" for name in names))
        for s in comparison.others
    ]
    what = "points" if comparison.task == "classification" else "% of the mean MSE"
    return TableBlock(
        f"Gain over real rows alone for each learner, {what}",
        ("method", *names),
        tuple(rows),
        align_right=frozenset(range(1, len(names) + 1)),
    )


def _plot(comparison: Comparison) -> Figure:
    others = comparison.others
    helpful = [s.method for s in others if s.low > 0]
    title = "No method is shown to help"
    if helpful:
        title = f"{len(helpful)} of {len(others)} methods are shown to help"
    unit = comparison.gain_unit
    intervals = [
        Interval(
            s.method,
            unit * s.gain,
            unit * s.low,
            unit * s.high,
            _line(s, comparison)[2],
            _mark(s),
        )
        for s in others
    ]
    svg = interval_chart(intervals, name="methods", title=title)
    summary = "; ".join(f"{s.method} {_line(s, comparison)[2]}" for s in others)
    caption = (
        "Gain over real rows alone; right of the dotted line is better. A bar that "
        "crosses the line may be chance."
    )
    return Figure(title, svg, f"Gains of the methods: {summary}.", caption)


def _mark(standing: Standing) -> Literal["good", "open", "bad"]:
    if standing.low > 0:
        return "good"
    return "bad" if standing.high < 0 else "open"
