"""What a comparison means for its user, in a sentence or two.

Only gains that are shown count.  Among methods that nothing shows to be worse than the
best, the cheapest is enough.
"""

from __future__ import annotations

from tabtap.compare.contest import CONFIDENCE, Comparison, Standing, intervals

_WORDS = {
    "Copies": "Repeating your rows is enough",
    "Jitter": "Repeating your rows with a little noise is enough",
}


def recommend(comparison: Comparison) -> Standing | None:
    """Return the method to use; None if none is shown to help.

    The cheapest of those whose gain is above zero with both ends of its interval and
    that are not shown to be worse than the best of them.
    """
    helpful = [s for s in comparison.others if s.low > 0]
    if not helpful:
        return None
    best = min(helpful, key=lambda standing: standing.loss)
    as_good = [s for s in helpful if not _is_worse(comparison, s, best)]
    return min(as_good, key=lambda standing: standing.cpu_seconds)


def advice(comparison: Comparison) -> str:
    """Return the recommendation in words, with its figures."""
    chosen = recommend(comparison)
    sure = f"{CONFIDENCE:.0%} interval"
    if not comparison.others:
        return "Nothing was compared: only real rows were asked for."
    best = comparison.others[0]
    if chosen is None:
        if best.gain <= 0:
            return "Nothing helps: no method did better than your own rows alone."
        return (
            f"Nothing is shown to help: {best.method} did best, with a gain of "
            f"{_said(best, comparison)}, which may be chance ({sure}). Keep your rows "
            "as they are, or test on more rows."
        )
    if chosen.method == "TAP":
        verdict = "Use TAP"
    else:
        verdict = _WORDS.get(chosen.method, f"{chosen.method} is enough")
    text = f"{verdict}: a gain of {_said(chosen, comparison)} ({sure})."
    if best.method != chosen.method:
        text += (
            f" {best.method} did best, with {_said(best, comparison)}, but is not "
            f"shown to be better and costs {best.cpu_seconds:.0f} CPU seconds instead "
            f"of {chosen.cpu_seconds:.0f}."
        )
    return text


def _is_worse(comparison: Comparison, one: Standing, best: Standing) -> bool:
    """Whether the best is shown to be better than one."""
    difference = comparison.pairs[one.method] - comparison.pairs[best.method]
    return bool(intervals(difference[:, None], comparison.groups)[0, 1] > 0)


def _said(standing: Standing, comparison: Comparison) -> str:
    found = (standing.low, standing.gain, standing.high)
    low, gain, high = (comparison.gain_unit * figure for figure in found)
    if comparison.task == "classification":
        return f"{gain:+.1f} points of accuracy [{low:+.1f}, {high:+.1f}]"
    return f"{gain:+.0f} % of the squared error [{low:+.0f}, {high:+.0f}]"
