"""What was added: how many rows of each class or target range, and why it stopped."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tabtap.loop import Stop
from tabtap.report import wording as say
from tabtap.report.blocks import Figure, Section, TableBlock
from tabtap.report.charts import Bar, bar_chart
from tabtap.report.reading import n_added, target_names, target_titles
from tabtap.result import AugmentResult

MOST_BARS = 12
"""Classes that the chart shows; the table has them all."""

_STOPS = {
    Stop.BUDGET: "the run stopped because that many rows had been let in",
    Stop.PATIENCE: "the run stopped because several sets in a row were refused",
    Stop.TIME: "the run stopped because its time was over",
    Stop.STEPS: "the run stopped because it had used all of its steps",
    Stop.LEVEL: "the run stopped because more rows no longer added to the gain",
    Stop.INTERRUPT: "the run was interrupted",
}


@dataclass(frozen=True, slots=True)
class Share:
    """How many rows there are of one class or target range."""

    name: str
    n_real: int
    n_synthetic: int


def added_section(result: AugmentResult) -> Section:
    """Return how many rows of each class or target range were added."""
    shares = shares_of(result)
    blocks = (_chart(shares, result), _table(shares)) if len(result.delivered) else ()
    return Section("added", "What was added", _lead(result), blocks)


def shares_of(result: AugmentResult) -> list[Share]:
    """Return the rows of each class or target range, in the order of the target."""
    names = target_names(result)
    real, synthetic = (
        np.bincount(rows.condition, minlength=len(names))
        for rows in (result.real, result.delivered.rows)
    )
    return [
        Share(label, int(real[k]), int(synthetic[k])) for k, label in enumerate(names)
    ]


def stop_words(result: AugmentResult) -> str:
    """Say why the run stopped, to go into a sentence."""
    if result.about.budget == 0:
        return "the run had nothing to do"
    return _STOPS[result.stop]


def _lead(result: AugmentResult) -> str:
    budget = result.about.budget
    asked = "As many rows as help were asked for"
    if budget != "auto":
        asked = f"{say.counted(int(budget), 'row')} at most were asked for"
    if not n_added(result):
        return f"Nothing. {asked}, and {stop_words(result)}."
    now = len(result.delivered)
    share = say.percent(now / (now + len(result.real)))
    said = f"{say.counted(n_added(result), 'synthetic row')} were added"
    if n_added(result) == 1:
        said = "1 synthetic row was added"
    left = "" if not result.n_removed else f", of which {say.count(now)} are left"
    return (
        f"{said}{left}: {share} of the table that results. {asked}, and "
        f"{stop_words(result)}."
    )


def _chart(shares: list[Share], result: AugmentResult) -> Figure:
    most = sorted(shares, key=lambda s: -(s.n_real + s.n_synthetic))[:MOST_BARS]
    shown = [share for share in shares if share in most]
    bars = [
        Bar(
            share.name,
            share.n_real,
            say.count(share.n_real),
            share.n_synthetic,
            say.count(share.n_synthetic),
        )
        for share in shown
    ]
    title = _title(shares, target_titles(result))
    alt = f"Bars of real and synthetic rows by {_target_name(result)}. " + "; ".join(
        f"{s.name}: {s.n_real} real, {s.n_synthetic} synthetic" for s in shown
    )
    hidden = len(shares) - len(shown)
    caption = f"Rows by {_target_name(result)}."
    if hidden:
        caption += f" The {MOST_BARS} largest; {hidden} more are in the table."
    return Figure(title, bar_chart(bars, name="added", title=title), alt, caption)


def _title(shares: list[Share], names: list[str]) -> str:
    """Say how the mix changed: by the class whose share moved most."""
    real = np.array([share.n_real for share in shares], dtype=float)
    both = real + np.array([share.n_synthetic for share in shares])
    before, after = real / real.sum(), both / both.sum()
    moved = int(np.argmax(np.abs(after - before)))
    if abs(after[moved] - before[moved]) < 0.02:
        return "The new rows keep the mix of the real ones"
    verb = "rises" if after[moved] > before[moved] else "falls"
    return (
        f"The share of {names[moved]} {verb} from {say.percent(before[moved])} to "
        f"{say.percent(after[moved])}"
    )


def _table(shares: list[Share]) -> TableBlock:
    n_real = max(sum(share.n_real for share in shares), 1)
    n_synthetic = max(sum(share.n_synthetic for share in shares), 1)
    rows = tuple(
        (
            share.name,
            say.count(share.n_real),
            say.percent(share.n_real / n_real),
            say.count(share.n_synthetic),
            say.percent(share.n_synthetic / n_synthetic),
        )
        for share in shares
    )
    return TableBlock(
        "Rows by target",
        ("Target", "Real", "Share of real", "Synthetic", "Share of synthetic"),
        rows,
        align_right=frozenset({1, 2, 3, 4}),
    )


def _target_name(result: AugmentResult) -> str:
    target = result.real.schema.target
    return "target" if target is None else say.name(target.column.name)
