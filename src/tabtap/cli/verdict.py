"""What came of a run: a few lines for people, one object for programs."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from tabtap.cli.screen import Screen

if TYPE_CHECKING:
    from tabtap.domain import Bound
    from tabtap.result import AugmentResult


def show_verdict(
    screen: Screen, result: AugmentResult, files: Mapping[str, str]
) -> None:
    """Say whether rows were added, on what evidence, and what was written."""
    n_real, n_new = len(result.real), len(result.delivered)
    if result.verdict == "augment":
        said, style = f"\nAugmented: {n_new} rows added to your {n_real}.", "bold green"
    else:
        said = "\nNo gain: nothing was added, and your rows are as you gave them."
        style = "bold yellow"
    screen.say(said, style)
    screen.say(f"{result.why}\n")
    width = max((len(what) for what in files), default=0)
    for what, path in files.items():
        named = "standard output" if path == "-" else path
        screen.say(f"{what.capitalize():<{width}}  {named}")


def verdict_json(
    result: AugmentResult, files: Mapping[str, str], seconds: float
) -> str:
    """Return the verdict as one JSON object."""
    bound = evidence(result)
    return json.dumps(
        {
            "verdict": result.verdict,
            "why": result.why,
            "n_real": len(result.real),
            "n_synthetic": len(result.delivered),
            "gain": None if bound is None else _finite(bound.gain),
            "bound": None if bound is None else _finite(bound.lower),
            "confidence": None if bound is None else _finite(bound.confidence),
            "files": dict(files),
            "seconds": round(seconds, 3),
            "seed": result.about.seed,
            "notes": list(result.about.notes),
        },
        indent=2,
        allow_nan=False,
    )


def evidence(result: AugmentResult) -> Bound | None:
    """Return the bound that the added rows rest on; None if none were added."""
    accepted = [c for c in result.certificates if c.committed]
    if not accepted or result.verdict != "augment":
        return None
    return accepted[-1].over_real or accepted[-1].over_incumbent


def _finite(number: float) -> float | None:
    return float(number) if math.isfinite(number) else None
