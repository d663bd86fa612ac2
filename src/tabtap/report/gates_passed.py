"""The waterfall: how many rows were proposed, and where the others went."""

from __future__ import annotations

from dataclasses import dataclass

from tabtap.report import wording as say
from tabtap.report.blocks import Figure, Section, TableBlock
from tabtap.report.charts import Bar, bar_chart
from tabtap.report.reading import is_paper, setting
from tabtap.result import AugmentResult

_GATES = {
    "types": "not a value that its column can hold",
    "range": "outside the range of the real rows",
    "rules": "breaks one of your rules",
    "plausibility": "implausible to a judge that has not seen its ancestor",
    "diversity": "too near to a row that is there already",
}


@dataclass(frozen=True, slots=True)
class Hurdle:
    """How many rows were left after a hurdle, and why the others were not."""

    name: str
    n_left: int
    why: str


def gates_section(result: AugmentResult) -> Section:
    """Return how many rows were left after each hurdle."""
    hurdles = hurdles_of(result)
    if not hurdles[0].n_left:
        lead = "No rows were proposed, so there was nothing to refuse."
        return Section("gates", "What was refused on the way", lead)
    title = _title(result)
    bars = [
        Bar(h.name, h.n_left, say.count(h.n_left), is_end=h is hurdles[-1])
        for h in hurdles
    ]
    alt = "Bars that grow shorter: " + "; ".join(
        f"{h.name} {h.n_left}" for h in hurdles
    )
    chart = Figure(title, bar_chart(bars, name="gates", title=title), alt)
    table = TableBlock(
        "Rows left after each hurdle",
        ("Hurdle", "Rows left", "What it takes away"),
        tuple((h.name, say.count(h.n_left), h.why) for h in hurdles),
        align_right=frozenset({1}),
    )
    return Section(
        "gates", "What was refused on the way", _lead(result), (chart, table)
    )


def hurdles_of(result: AugmentResult) -> list[Hurdle]:
    """Return the hurdles in order, from all rows proposed to those delivered."""
    counts = result.waterfall
    left = counts.proposed
    hurdles = [Hurdle("Proposed", left, "")]
    for gate, refused in counts.refused.items():
        if not refused:  # the lead names it
            continue
        left -= refused
        why = _GATES.get(gate, "refused by a gate of your own")
        hurdles.append(
            Hurdle(f"Passed the gate \u201c{say.name(gate)}\u201d", left, why)
        )
    n_judged = sum(c.n_judged for c in result.certificates)
    surplus = "more rows than the budget has room for, or a run that ended"
    hurdles.append(Hurdle("Put to the test", n_judged, surplus))
    refused_pools = "sets of rows that were not shown to help"
    hurdles.append(Hurdle("In a set that passed", counts.committed, refused_pools))
    hurdles.append(Hurdle("Delivered to you", counts.delivered, _why_fewer(result)))
    return hurdles


def _why_fewer(result: AugmentResult) -> str:
    if is_paper(result) or not result.waterfall.committed:
        return "rows removed since" if result.n_removed else ""
    folds = setting(result, "augment", "utility", "n_folds")
    kept = "some" if folds is None else f"one in {folds}"
    said = (
        "rows that only served the test: each part of the real rows is judged with new "
        f"rows of a generator that never saw it, and {kept} of those is delivered"
    )
    return f"{said}; and rows removed since" if result.n_removed else said


def _title(result: AugmentResult) -> str:
    counts = result.waterfall
    refused = sum(counts.refused.values())
    share = say.percent(refused / max(counts.proposed, 1))
    if not refused:
        return "No proposed row was refused by a gate"
    gate = max(counts.refused, key=lambda name: counts.refused[name])
    return (
        f"The gates refused {share} of the proposed rows, most by "
        f"\u201c{say.name(gate)}\u201d"
    )


def _lead(result: AugmentResult) -> str:
    counts = result.waterfall
    idle = [
        f"\u201c{say.name(gate)}\u201d" for gate, n in counts.refused.items() if not n
    ]
    more = f" Nothing was refused by the gates {say.listed(idle)}." if idle else ""
    if len(idle) == 1:
        more = f" Nothing was refused by the gate {idle[0]}."
    return (
        f"{say.counted(counts.proposed, 'row')} were proposed by all generators "
        f"together, {say.count(counts.admitted)} passed every gate, and "
        f"{say.count(counts.delivered)} reached your table. Gates look at single rows; "
        f"the test looks at what a whole set of rows does to a learner.{more}"
    )
