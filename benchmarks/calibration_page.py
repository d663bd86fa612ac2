"""Calibration and poison as a page: docs/results/calibration.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from calibration import (
    HELPFUL,
    Decisions,
    Share,
    coverage,
    decided_at,
    decisions,
    promise,
)
from records import markdown_table
from scatter import Panel, Point, scatter_svg
from twins import (
    CLEAN,
    LIMIT,
    committed,
    harmful_committed,
    preferred,
    ranked_above,
    total,
)

Records = Sequence[Mapping[str, Any]]

LEVELS = (0.8, 0.9, 0.95)
CONFIDENCES = (0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.99)
MOST_HARM = 0.05
"""Share of harmful commitments that the default confidence may lead to."""

PROTOCOLS = {
    "crossfit": "gain of the referee's score over real rows alone",
    "paper": "reduction of the loss over the incumbent",
}
"""What each protocol promises."""

HEADING = f"""# Calibration

Computed by `benchmarks/study_report.py` from recorded measurements; none is typed.
Every commitment check of whole runs (presets `default` and `fast`: *crossfit*; `paper`:
*paper*), n_real 50 and up. The truth is what the referee (the panel) gains on untouched
test rows when it is trained on the real rows and the rows that would be delivered.
*Crossfit* promises the gain of the bounded score over real rows alone, *paper* the
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
        (name, [record for record in records if record["protocol"] == name])
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
