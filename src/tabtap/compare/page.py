"""A comparison on one's own table as a ranking, as a matrix of learners, as a page."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import numpy as np

from tabtap import __version__
from tabtap.archive import put_in_place
from tabtap.compare.advice import (
    advice,
    gain_text,
    headline,
    recommend,
    score_gain_text,
    unit_words,
)
from tabtap.compare.printing import TextTable
from tabtap.compare.standings import BEST, CONFIDENCE, Comparison, Standing
from tabtap.domain.judgement import PANEL_MEAN
from tabtap.report.blocks import Figure, Section, TableBlock, Text
from tabtap.report.drawing import Interval, interval_chart
from tabtap.report.page import page_html
from tabtap.report.verdict import Card, Point, Verdict
from tabtap.result.why import figure_text
from tabtap.wording import capital, counted, learner_words, plain_percent


def ranking(comparison: Comparison) -> TextTable:
    """Return the methods in a table, the best first."""
    name = comparison.figure.name
    unit = "points" if comparison.task == "classification" else "%"
    gain = f"gain, {unit}"
    header = ("method", "learner", name, gain, "score gain", "rows", "CPU s")
    write = _writer(comparison)
    rows = [_line(standing, comparison, write) for standing in comparison.standings]
    asked = f"{comparison.n_test} real rows were asked"
    if (groups := comparison.asked.groups) is not None:
        asked += f", which count as {len(np.unique(groups))}"
    notes = (*_failures(comparison), *_reading(comparison))
    title = f"Methods by score; {asked}"
    return TextTable(title, header, tuple(rows), notes, n_labels=2)


def matrix(comparison: Comparison) -> TextTable:
    """Return the plain figure of every learner with every method's rows."""
    methods = [comparison.of("Real"), *comparison.others]
    figures = {
        learner: [standing.by_learner.get(learner, math.nan) for standing in methods]
        for learner in methods[0].by_learner
    }
    pick = np.nanmax if comparison.figure.larger_is_better else np.nanmin
    # The first of equals: learners in their order, and real rows before others.
    best = {name: line.index(float(pick(line))) for name, line in figures.items()}
    tops = {name: figures[name][place] for name, place in best.items()}
    whole = list(tops.values()).index(float(pick(list(tops.values()))))
    top = list(tops)[whole]
    write = _writer(comparison)
    rows = []
    for name, line in figures.items():
        texts = [write(value) if math.isfinite(value) else "-" for value in line]
        texts[best[name]] += "**" if name == top else "*"
        # So that digits stand below digits.
        n_signs = [2 if place == best[top] else 1 for place in range(len(line))]
        pairs = zip(texts, n_signs, strict=True)
        rows.append((name, *(_padded(text, n) for text, n in pairs)))
    return TextTable(
        f"{capital(comparison.figure.name)} of every learner with every method's rows",
        ("learner", *(standing.method for standing in methods)),
        tuple(rows),
        (
            "* best of its learner, ** best of all; Real: no new rows. The methods are "
            "ranked by the score, not by this figure.",
        ),
    )


def _padded(text: str, n_signs: int) -> str:
    return text + " " * (n_signs - text.count("*"))


def _writer(comparison: Comparison) -> Callable[[float], str]:
    """Return how the plain figure is written: with the same decimals everywhere."""
    if comparison.task == "classification":
        return "{:.3f}".format
    every = [value for s in comparison.standings for value in s.by_learner.values()]
    smallest = min((value for value in every if value > 0.0), default=1.0)
    decimals = 2 - math.floor(math.log10(smallest))
    if decimals > _MOST_DECIMALS or max(every, default=0.0) >= _LARGE:
        return figure_text
    return f"{{:.{max(0, decimals)}f}}".format


_MOST_DECIMALS, _LARGE = 6, 1e7
"""Beyond these, figures are written with powers of ten."""


def _line(
    standing: Standing, comparison: Comparison, write: Callable[[float], str]
) -> tuple[str, ...]:
    first = (standing.method, standing.learner, write(standing.plain.value))
    if standing.method == "Real":
        return (*first, "-", "-", "0", "-")
    return (
        *first,
        gain_text(comparison, standing),
        score_gain_text(standing),
        f"{standing.n_rows:.0f}",
        f"{standing.cpu_seconds:.1f}",
    )


def _failures(comparison: Comparison) -> list[str]:
    return [
        f"{s.method} failed in {len(s.failures)} repeats: {s.failures[0]}"
        for s in comparison.standings
        if s.failures
    ]


_SCORE = {
    "classification": "half of it accuracy, half 1 less half the Brier score",
    "regression": "1 less the squared error in variances of the target, an R2",
}


def _reading(comparison: Comparison) -> tuple[str, ...]:
    """Say what the figures are."""
    sure = plain_percent(CONFIDENCE)
    ours = any(s.method.startswith("TAP") for s in comparison.others)
    return (
        f"Gains are over your rows alone, with {sure} intervals that hold all at once; "
        "the bars of tabtap augment are of one gain each. "
        f"The score decides: {_SCORE[comparison.task]}.",
        *_cuts(comparison),
        _whom(comparison),
        *(["TAP is tabtap's own method: what tabtap augment does."] if ours else []),
    )


def _cuts(comparison: Comparison) -> tuple[str, ...]:
    """Say how often the rows were cut, where they were."""
    n_folds = comparison.asked.n_trained_folds
    if n_folds is None:
        return ()
    times = counted(len(comparison.asked.partitions), "time")
    return (
        f"Your rows were cut {times} into {n_folds} parts, as tabtap augment cuts "
        "them; every figure is a mean over all cuts.",
    )


def _whom(comparison: Comparison) -> str:
    """Say whom the comparison is about."""
    if comparison.promise == PANEL_MEAN:
        return f"Figures are means over {', '.join(comparison.alone)}."
    if comparison.promise != BEST:
        return f"All is about {comparison.promise}, the learner that you will train."
    return (
        "No learner was named, so each method has the one that does best with its "
        f"rows, of {', '.join(comparison.alone)}. --learner NAME is about one."
    )


# ---- The page.


def write_comparison(comparison: Comparison, path: str | Path) -> Path:
    """Write a page about a comparison, whole or not at all."""
    path = Path(path)
    put_in_place(comparison_html(comparison).encode(), path)
    return path


def comparison_verdict(comparison: Comparison) -> Verdict:
    """Return what to use, in words for someone who was not there."""
    best = recommend(comparison)
    return Verdict(
        headline=headline(comparison),
        sentences=(advice(comparison),),
        cards=_cards(comparison, best),
        meaning=(Point("How it was found out", _METHOD),),
        tone="caution" if best is None else "good",
    )


def comparison_html(comparison: Comparison) -> str:
    """Return a page about a comparison: what to use, the ranking, how it is known."""
    verdict = comparison_verdict(comparison)
    sections = (
        Section(
            "ranking",
            "All methods",
            "The better a method scores on unseen rows, the higher it stands.",
            (_block(ranking(comparison)),),
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
            "Rows may help one learner and harm another, and another learner may do "
            "without any.",
            (_block(matrix(comparison)),),
        ),
        Section(
            "trained",
            "Who was trained",
            "Settings other than the default ones, and versions.",
            (_described(comparison),),
        ),
        *_seen(comparison),
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


_METHOD = (
    "The same learners were trained with each method's rows and without, and asked "
    "about real rows that neither they nor the method had seen. A method stands by the "
    "learner that does best with its rows, or by the one that you named, against the "
    "best without new rows. Choosing a learner is paid for: for each part of the rows "
    "it is chosen by the other parts. The intervals are wide enough to hold all at "
    "once: of many methods that change nothing, one looks good by chance."
)

_LIMITS = (
    "The intervals know of the rows that were asked, not of other tables, and only "
    "partly of the luck in what a method drew.",
    "Parts of one small table are not independent: two comparisons of the same table "
    "cut otherwise may rank close methods in another order.",
    "A method that was given its usual settings might do better with others.",
)


def _block(table: TextTable) -> TableBlock:
    return TableBlock(
        table.title,
        table.header,
        tuple(tuple(cell.strip() for cell in row) for row in table.rows),
        caption=" ".join(table.notes),
        align_right=frozenset(range(table.n_labels, len(table.header))),
    )


def _described(comparison: Comparison) -> TableBlock:
    rows = [
        (name, learner_words(name, comparison.task), text)
        for name, text in comparison.learners.items()
    ]
    return TableBlock("The learners", ("name", "learner", "settings"), tuple(rows))


def _seen(comparison: Comparison) -> tuple[Section, ...]:
    """Return what there is to know of the table, if there is anything."""
    if not comparison.notes:
        return ()
    return (
        Section(
            "notes",
            "What was seen in the table",
            "What was assumed, and what may make figures better than they are.",
            (Text(comparison.notes),),
        ),
    )


def _cards(comparison: Comparison, best: Standing | None) -> tuple[Card, ...]:
    others, real = comparison.others, comparison.of("Real")
    helpful, harmful = sum(s.helps for s in others), sum(s.harms for s in others)
    name = comparison.figure.name
    cards = [
        Card("Shown to help", f"{helpful} of {len(others)}", "methods"),
        Card("Shown to harm", f"{harmful} of {len(others)}", "methods"),
        Card(
            f"{capital(name)} without new rows",
            figure_text(real.plain.value),
            learner_words(real.learner, comparison.task),
        ),
    ]
    if best is not None:
        gain = gain_text(comparison, best)
        cards.append(Card(f"Gain of {best.method}", gain, unit_words(comparison)))
    return tuple(cards)


def _plot(comparison: Comparison) -> Figure:
    others = comparison.others
    helpful = [s.method for s in others if s.helps]
    title = "No method is shown to help"
    if helpful:
        title = f"{len(helpful)} of {len(others)} methods are shown to help"
    drawn = [
        Interval(
            s.method,
            s.gain.value,
            s.gain.value - s.gain.margin,
            s.gain.value + s.gain.margin,
            score_gain_text(s),
            _mark(s),
        )
        for s in others
    ]
    svg = interval_chart(drawn, name="methods", title=title)
    summary = "; ".join(f"{s.method} {score_gain_text(s)}" for s in others)
    caption = (
        "Gain of the score over real rows alone; right of the dotted line is better. A "
        "bar that crosses the line may be chance."
    )
    return Figure(title, svg, f"Gains of the methods: {summary}.", caption)


def _mark(standing: Standing) -> Literal["good", "open", "bad"]:
    if standing.helps:
        return "good"
    return "bad" if standing.harms else "open"
