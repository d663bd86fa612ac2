"""Whether commitments keep their promises: docs/results/calibration.md, from records.

Everything here is arithmetic on records of the study; nothing is fitted.

The crossfit rule promises a gain of the referee's score over real rows alone; the
paper's rule a reduction of its evaluator's loss over the incumbent.  Each is held to
its own promise: the truth is the referee's, in the unit of the promise.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

import numpy as np
from pages import markdown_table
from records import Records

from tabtap.domain import Bound
from tabtap.domain.judgement import confidence_at, cross_fitted, one_sided

Record = Mapping[str, Any]

HELPFUL = 0.01
"""A true gain of the score from which a refusal counts as a chance missed."""


class Promise(NamedTuple):
    """A lower bound, how often it may be wrong, and what was true."""

    estimate: float
    lower: float
    nominal: float
    truth: float

    @property
    def kept(self) -> bool:
        """Whether the truth is not below the bound."""
        return self.truth >= self.lower


class Share(NamedTuple):
    """A share of some cases with its error, cases of one cell counted together."""

    share: float
    error: float
    n: int
    n_cells: int


class Decisions(NamedTuple):
    """What a rule did with the pools it was offered."""

    n: int
    n_committed: int
    harmful: float
    """Share of the committed whose true gain over real rows alone is negative."""

    harmful_step: float
    """The same over the incumbent."""

    power: float
    """Share committed of those that truly help by more than ``HELPFUL``, over real."""

    power_step: float
    """The same over the incumbent."""


def cell_of(record: Record) -> tuple[Any, ...]:
    """Return the cell that a record belongs to."""
    return tuple(record[name] for name in ("table", "n_real", "split", "seed"))


def promise(record: Record, level: float | None = None) -> Promise:
    """Return what a check promised, or what it would have promised at another level.

    Parameters
    ----------
    record : mapping
        A commitment check.
    level : float, optional
        One-sided confidence of the bound.  Default: as certified, looks included.
    """
    if record["protocol"] == "paper":
        truth = record["truth"]["over_incumbent"]["loss"]
        stated, differences = record["over_incumbent"], record["evidence"]["fold_gains"]
        nominal = (1 + stated["confidence"]) / 2  # its interval is two-sided
    else:
        truth = record["truth"]["over_real"]["score"]
        stated, differences = record["over_real"], _minus_real(record, "after")
        nominal = stated["confidence"]
    if level is None:
        lower = stated["gain"] - stated["margin"]
        return Promise(stated["gain"], lower, nominal, truth)
    # The paper's gain weighs rows, its folds' mean weighs folds: only the margin is
    # taken from them.
    margin = _bounded(record, np.asarray(differences, np.float64), level).margin
    return Promise(stated["gain"], stated["gain"] - margin, level, truth)


def coverage(records: Iterable[Record], level: float | None = None) -> Share:
    """Return how often bounds held, and the error of that share."""
    kept, cells = [], []
    for record in records:
        made = promise(record, level)
        if np.isfinite(made.estimate):
            kept.append(made.kept)
            cells.append(cell_of(record))
    return clustered_share(kept, cells)


def clustered_share(hits: Sequence[bool], cells: Sequence[object]) -> Share:
    """Return a share and its standard error when whole cells are drawn, not cases."""
    n, names = len(hits), list(dict.fromkeys(cells))
    if not n:
        return Share(float("nan"), float("nan"), 0, 0)
    share = float(np.mean(hits))
    totals = dict.fromkeys(names, 0.0)
    for hit, cell in zip(hits, cells, strict=True):
        totals[cell] += hit - share
    count = len(names)
    if count < 2:
        return Share(share, float("nan"), n, count)
    spread = np.sqrt(sum(t**2 for t in totals.values()) * count / (count - 1))
    return Share(share, float(spread / n), n, count)


def decisions(records: Records, committed: Sequence[bool] | None = None) -> Decisions:
    """Count what was committed, what of it was harmful, and what was missed.

    Parameters
    ----------
    records : sequence of mappings
        Commitment checks.
    committed : sequence of bool, optional
        Other decisions on them than those on record.
    """
    chosen = np.asarray(
        [record["committed"] for record in records] if committed is None else committed,
        dtype=np.bool_,
    )
    truth, step = (
        np.asarray([record["truth"][name]["score"] for record in records])
        for name in ("over_real", "over_incumbent")
    )
    return Decisions(
        len(records),
        int(chosen.sum()),
        _share(truth[chosen] < 0),
        _share(step[chosen] < 0),
        _share(chosen[truth > HELPFUL]),
        _share(chosen[step > HELPFUL]),
    )


def decided_at(record: Record, confidence: float) -> bool:
    """Tell what the crossfit rule would decide on one check at another confidence.

    The same pool beside the same incumbent: what would have come before at that
    confidence is not replayed.
    """
    level = confidence_at(record["look"], confidence)
    over_real = _bounded(record, _minus_real(record, "after"), level)
    worth = record.get("worth", over_real.gain)
    worth_having = worth >= record.get("min_gain", 0.0)
    if not (over_real.lower > 0 and worth_having) or record.get("plain_falls"):
        return False
    if record["first"]:
        return True
    step = _minus_real(record, "after") - _minus_real(record, "before")
    return _bounded(record, step, record["over_incumbent"]["confidence"]).lower > 0


def _bounded(record: Record, differences: np.ndarray, level: float) -> Bound:
    """Bound a mean as the rule of a record does; older ones did not mind the folds."""
    n_folds = record.get("n_folds")
    if not n_folds:
        return one_sided(differences, level)
    clusters = record["evidence"].get("clusters")
    groups = None if clusters is None else np.asarray(clusters, dtype=np.int64)
    return cross_fitted(differences, level, n_folds, groups)


def _minus_real(record: Record, name: str) -> np.ndarray:
    evidence = record["evidence"]
    return np.asarray(evidence[name]) - np.asarray(evidence["real"])


def _share(hits: np.ndarray) -> float:
    return float(np.mean(hits)) if len(hits) else float("nan")


# ---- Poisoned pools against the truth and against their clean twins.


CLEAN = "clean"
LIMIT = 1 / 20
"""Most harmful pools committed, and most poisoned pools preferred to their twins."""


class Count(NamedTuple):
    """How many of how many."""

    hits: int
    n: int

    def __str__(self) -> str:
        """Return the count and, in brackets, the share."""
        percent = f" ({100 * self.hits / self.n:.0f} %)" if self.n else ""
        return f"{self.hits} of {self.n}{percent}"


def lower_bound(record: Record) -> float:
    """Return what a rule can promise of a pool: over real rows, where it says so."""
    bound = record["over_real"] or record["over_incumbent"]
    return float(bound["gain"] - bound["margin"])


def committed(records: Iterable[Record]) -> Count:
    """Count the pools that were let in."""
    return _count(record["committed"] for record in records)


def harmful_committed(records: Iterable[Record]) -> Count:
    """Count, of the pools whose true gain is negative, those that were let in."""
    return _count(record["committed"] for record in records if _true_gain(record) < 0)


def preferred(records: Records, pool: str) -> Count:
    """Count the cells in which a poisoned pool is let in instead of its clean twin."""
    return _count(
        bad["committed"] and lower_bound(bad) > lower_bound(good)
        for good, bad in _twins(records, pool)
    )


def ranked_above(records: Records, pool: str) -> Count:
    """Count the cells in which a poisoned pool promises more than its clean twin.

    Whether or not anything is let in: where the clean pool does not help either, which
    of the two bounds is the higher is chance.
    """
    return _count(
        lower_bound(bad) > lower_bound(good) for good, bad in _twins(records, pool)
    )


def _twins(records: Records, pool: str) -> list[tuple[Record, Record]]:
    clean, poisoned = _by_cell(records, CLEAN), _by_cell(records, pool)
    return [(clean[cell], poisoned[cell]) for cell in clean if cell in poisoned]


def total(counts: Sequence[Count]) -> Count:
    """Add up some counts."""
    return Count(sum(c.hits for c in counts), sum(c.n for c in counts))


def _by_cell(records: Records, pool: str) -> dict[tuple[Any, ...], Record]:
    return {cell_of(record): record for record in records if record["pool"] == pool}


def _true_gain(record: Record) -> float:
    return float(record["truth"]["over_real"]["score"])


def _count(hits: Iterable[bool]) -> Count:
    found = [bool(hit) for hit in hits]
    return Count(sum(found), len(found))


# ---- Estimates against the truth, with their bounds: a scatter plot as SVG text.


SIZE, MARGIN = 360, 52
COLORS = {True: "#1b7837", False: "#999999"}
"""Committed and refused."""


class Point(NamedTuple):
    """One check."""

    truth: float
    estimate: float
    lower: float
    committed: bool


class Panel(NamedTuple):
    """One plot beside others."""

    title: str
    unit: str
    points: Sequence[Point]


def scatter_svg(panels: Sequence[Panel]) -> str:
    """Draw panels side by side.

    Each check is a dot at (truth, estimate) with a line down to its bound; where the
    line ends above the diagonal, the bound was broken.  Bounds that would leave the
    plot are cut at its edge.
    """
    width, height = SIZE * len(panels), SIZE + 24
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="11">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for place, panel in enumerate(panels):
        parts.append(f'<g transform="translate({place * SIZE},0)">')
        parts += [*_panel(panel), "</g>"]
    legend = (
        f'<text x="{MARGIN}" y="{height - 6}">green: committed; grey: refused; '
        "the line down is the bound; dashed: estimate = truth</text>"
    )
    return "\n".join([*parts, legend, "</svg>"]) + "\n"


def limits_of(points: Sequence[Point]) -> tuple[float, float]:
    """Return ends of both axes: all but the farthest hundredth of the dots, and 0."""
    values = [v for p in points for v in (p.truth, p.estimate) if np.isfinite(v)]
    if not values:
        return -1.0, 1.0
    low, high = np.quantile(values, (0.01, 0.99))
    room = 0.08 * max(high - low, 1e-3)
    return float(min(low, 0) - room), float(max(high, 0) + room)


def _panel(panel: Panel) -> list[str]:
    low, high = limits_of(panel.points)
    start, end = MARGIN, SIZE - 14

    def across(value: float) -> str:
        share = (min(max(value, low), high) - low) / (high - low)
        return f"{start + share * (end - start):.1f}"

    def up(value: float) -> str:
        share = (min(max(value, low), high) - low) / (high - low)
        return f"{end - share * (end - start):.1f}"

    grey = 'stroke="#cccccc"'
    drawn = [
        f'<text x="{start}" y="20" font-weight="bold">{escape(panel.title)}</text>',
        f'<rect x="{start}" y="{start}" width="{end - start}" height="{end - start}" '
        f'fill="none" {grey}/>',
        f'<line x1="{across(0)}" x2="{across(0)}" y1="{start}" y2="{end}" {grey}/>',
        f'<line y1="{up(0)}" y2="{up(0)}" x1="{start}" x2="{end}" {grey}/>',
        f'<line x1="{across(low)}" y1="{up(low)}" x2="{across(high)}" y2="{up(high)}" '
        'stroke="black" stroke-dasharray="4 3"/>',
    ]
    for value in (low, 0.0, high):
        drawn.append(
            f'<text x="{across(value)}" y="{end + 13}" text-anchor="middle">'
            f"{value:.2f}</text>"
        )
        drawn.append(
            f'<text x="{start - 4}" y="{up(value)}" text-anchor="end">'
            f"{value:.2f}</text>"
        )
    drawn.append(f'<text x="{start}" y="36">estimate (up) against {panel.unit}</text>')
    for point in panel.points:
        if np.isfinite(point.estimate):
            color, x = COLORS[point.committed], across(point.truth)
            drawn.append(
                f'<path d="M{x} {up(point.estimate)}V{up(point.lower)}" '
                f'stroke="{color}" opacity="0.4"/>'
                f'<circle cx="{x}" cy="{up(point.estimate)}" r="2.2" fill="{color}"/>'
            )
    return drawn


# ---- The page.


LEVELS = (0.8, 0.9, 0.95)
CONFIDENCES = (0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.99)
MOST_HARM = 0.05
"""Share of harmful commitments that the default confidence may lead to."""

PROTOCOLS = {
    "crossfit": "gain of the referee's score over real rows alone",
    "paper loop": "reduction of the loss over the incumbent",
}
"""What each protocol promises, by the name that pages show."""

RECORDED = {"paper loop": "paper"}
"""The names of protocols in records, where they differ."""

HEADING = f"""# Calibration

Computed by `benchmarks/study_report.py` from recorded measurements; none is typed.
Every commitment check of whole runs (presets `default` and `fast`: *crossfit*; the
paper's loop, 60 steps on the same compact backbones: *paper loop*), n_real 50 and up.
The truth is what the referee (the panel) gains on untouched test rows when it is
trained on the real rows and the rows that would be delivered.
*Crossfit* promises the gain of the bounded score over real rows alone, *paper loop* the
reduction of its evaluator's loss on focused rows over the incumbent; each is compared
with the truth in its own unit. Errors (`±`) count checks of one cell together.
*Harmful*: committed with a true gain below 0; *power*: committed among pools that truly
gain more than {HELPFUL:g} of the score; *over real*: the whole synthetic table;
*step*: the pool over its incumbent, which is all that the paper's rule asks about."""
POISON = f"""## Poison

Pools of 250 rows offered alone, nothing committed before: drawn whole by the backbones
(*clean*), the same rows with labels shuffled among a share of them, and rows whose
columns and label are drawn independently (*noise*). *Harmful committed*: let in, of
those whose true gain is negative; *preferred*: cells in which the poisoned pool is
let in with a higher lower bound than its clean twin; *bound above*: cells in which its
bound is the higher, let in or not. At most {LIMIT:.0%} is wanted, of harm and of
preference."""


def calibration_page(checks: Records, poison: Records, picture: str | None) -> str:
    """Return the page without its provenance."""
    parts = [HEADING]
    if picture:
        parts.append(f"![Estimates against the truth]({picture})")
    if checks:
        parts += ["## Coverage", coverage_table(checks)]
        parts += ["As certified, table by table:", coverage_by_table(checks)]
        parts += ["## Decisions", decision_table(checks)]
        parts += ["## Which confidence", *_confidence(checks)]
    if poison:
        parts += [POISON, poison_table(poison)]
        parts += ["Coverage of the bounds on these pools:", coverage_table(poison)]
    return "\n\n".join(parts)


def coverage_table(checks: Records) -> str:
    """Return how often bounds held against how often they should."""
    rows = []
    for protocol, own in _by_protocol(checks):
        found = coverage(own)
        nominal = float(np.mean([promise(record).nominal for record in own]))
        rows.append([protocol, "as certified", *_covered(nominal, found)])
        rows += _committed_only(protocol, own)
        for level in LEVELS:
            found = coverage(own, level)
            rows.append([protocol, f"{level:g}", *_covered(level, found)])
    header = ["protocol", "bound", "nominal %", "held %", "checks", "cells"]
    return markdown_table(header, rows)


def coverage_by_table(checks: Records) -> str:
    """Return coverage, estimate and truth for each table."""
    rows = []
    for protocol, own in _by_protocol(checks):
        for table in dict.fromkeys(record["table"] for record in own):
            part = [record for record in own if record["table"] == table]
            made = [promise(record) for record in part]
            estimate = np.mean([p.estimate for p in made])
            truth = np.mean([p.truth for p in made])
            found = coverage(part)
            rows.append(
                [protocol, table, f"{estimate:+.3f}", f"{truth:+.3f}", _held(found),
                 str(found.n)]
            )  # fmt: skip
    header = ["protocol", "table", "mean estimate", "mean truth", "held %", "checks"]
    return markdown_table(header, rows)


def decision_table(checks: Records) -> str:
    """Return harm and power by protocol and table, and in all."""
    rows = []
    for protocol, own in _by_protocol(checks):
        tables = [*dict.fromkeys(record["table"] for record in own)]
        groups = [(t, [r for r in own if r["table"] == t]) for t in tables]
        for name, part in [*groups, ("all", own)]:
            rows.append([protocol, name, *_decided(decisions(part))])
    return markdown_table(["protocol", "table", *DECIDED], rows)


def confidence_table(checks: Records) -> str:
    """Return what the crossfit rule would have done at other confidences."""
    rows = []
    for confidence in CONFIDENCES:
        chosen = [decided_at(record, confidence) for record in checks]
        rows.append([f"{confidence:g}", *_decided(decisions(checks, chosen))])
    return markdown_table(["confidence", *DECIDED], rows)


def least_safe_confidence(checks: Records) -> float | None:
    """Return the smallest confidence from which on harm stays within its limit."""
    safe = None
    for confidence in reversed(CONFIDENCES):
        chosen = [decided_at(record, confidence) for record in checks]
        found = decisions(checks, chosen)
        if found.harmful > MOST_HARM:
            break
        if found.n_committed:  # where nothing is committed, nothing is shown
            safe = confidence
    return safe


def poison_table(poison: Records) -> str:
    """Return what was let in, and what was preferred to its clean twin."""
    rows = []
    for protocol, own in _by_protocol(poison):
        kinds = list(dict.fromkeys(record["pool"] for record in own))
        bad = [pool for pool in kinds if pool != CLEAN]
        for name, pools in [*((pool, [pool]) for pool in kinds), ("all poisoned", bad)]:
            part = [record for record in own if record["pool"] in pools]
            truth = np.mean([r["truth"]["over_real"]["score"] for r in part])
            twins = ["-", "-"] if name == CLEAN else _preferences(own, pools)
            let_in = [str(committed(part)), str(harmful_committed(part))]
            rows.append([protocol, name, f"{truth:+.3f}", *let_in, *twins])
    header = ["protocol", "pool", "true gain", "committed", "harmful committed"]
    return markdown_table([*header, "preferred", "bound above"], rows)


def picture(checks: Records) -> str:
    """Return estimates against the truth as SVG, one panel for each protocol."""
    panels = []
    for protocol, own in _by_protocol(checks):
        points = []
        for record in own:
            made = promise(record)
            points.append(
                Point(made.truth, made.estimate, made.lower, record["committed"])
            )
        panels.append(Panel(protocol, PROTOCOLS[protocol], points))
    return scatter_svg(panels)


DECIDED = (
    *("checks", "committed", "harmful % over real", "harmful % step"),
    *("power % over real", "power % step"),
)


def _confidence(checks: Records) -> list[str]:
    own = [record for record in checks if record["protocol"] == "crossfit"]
    if not own:
        return []
    safe = least_safe_confidence(own)
    text = "No confidence tried is shown to keep"
    if safe is not None:
        text = f"From {safe:g} on, the confidences tried keep"
    said = (
        "What the crossfit rule would decide on the same pools beside the same\n"
        f"incumbents. {text} harmful commitments\n(over real) at {MOST_HARM:.0%} or "
        "less."
    )
    return [said, confidence_table(own)]


def _committed_only(protocol: str, own: Records) -> list[list[str]]:
    """Return a row for the committed alone: of several pools the luckiest are kept."""
    chosen = [record for record in own if record["committed"]]
    if not chosen:
        return []
    nominal = float(np.mean([promise(record).nominal for record in chosen]))
    return [[protocol, "of the committed", *_covered(nominal, coverage(chosen))]]


def _preferences(own: Records, pools: Sequence[str]) -> list[str]:
    return [
        str(total([count(own, pool) for pool in pools]))
        for count in (preferred, ranked_above)
    ]


def _by_protocol(records: Records) -> list[tuple[str, Records]]:
    groups = [
        (name, [r for r in records if r["protocol"] == RECORDED.get(name, name)])
        for name in PROTOCOLS
    ]
    return [(name, own) for name, own in groups if own]


def _covered(nominal: float, found: Share) -> list[str]:
    return [f"{100 * nominal:.1f}", _held(found), str(found.n), str(found.n_cells)]


def _held(found: Share) -> str:
    error = "" if np.isnan(found.error) else f" ± {100 * found.error:.1f}"
    return "-" if np.isnan(found.share) else f"{100 * found.share:.1f}{error}"


def _decided(found: Decisions) -> list[str]:
    shares = (found.harmful, found.harmful_step, found.power, found.power_step)
    shown = ["-" if np.isnan(share) else f"{100 * share:.0f}" for share in shares]
    return [str(found.n), str(found.n_committed), *shown]
