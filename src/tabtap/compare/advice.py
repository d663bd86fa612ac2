"""What a comparison means for its user, in a few sentences.

Only gains that are shown count.  Among what nothing shows to be worse than the best,
the cheapest is enough, and no new rows are the cheapest.
"""

from __future__ import annotations

import numpy as np

from tabtap.compare.standings import Comparison, Standing
from tabtap.domain import Measured
from tabtap.result.why import figure_text
from tabtap.wording import capital, learner_words


def recommend(comparison: Comparison) -> Standing | None:
    """Return the method to use; None if none is shown to help.

    The cheapest of those that help and are not shown to be worse than the best of them.
    """
    helpful = [s for s in comparison.others if s.helps]
    if not helpful:
        return None
    best = comparison.scores[helpful[0].method]
    as_good = [
        s for s in helpful if not comparison.is_worse(comparison.scores[s.method], best)
    ]
    return min(as_good, key=lambda standing: standing.cpu_seconds)


def advice(comparison: Comparison) -> str:
    """Return what to do in words, with its figures."""
    chosen = recommend(comparison)
    said = _without_rows(comparison) if chosen is None else _with(comparison, chosen)
    untested, because = untested_groups(comparison)
    parts = (said[0], untested, *said[1:], _elsewhere(comparison, chosen), because)
    return " ".join(part for part in parts if part)


def headline(comparison: Comparison) -> str:
    """Return what to do in a few words, and that new groups were not tested."""
    said, (untested, _) = _what_to_do(comparison), untested_groups(comparison)
    return f"{said}. {untested}" if untested else said


def untested_groups(comparison: Comparison) -> tuple[str, str]:
    """Say that new groups were not tested, and why, as ``tabtap augment`` does.

    Both are empty where the table does not seem to have groups.
    """
    column = comparison.likely_groups
    if not column:
        return "", ""
    return (
        f"No new {column!r} was tested.",
        f"Rows of one {column!r} stood on both sides of the checks, so nothing is said "
        f"of a new {column!r}; with groups={column!r} it would be.",
    )


def _what_to_do(comparison: Comparison) -> str:
    chosen = recommend(comparison)
    if chosen is None:
        return f"Use {_who(comparison, comparison.of('Real'))} and no new rows"
    return f"Train {_who(comparison, chosen)} {_rows_of(chosen)}"


# ---- Sentences.


def _without_rows(comparison: Comparison) -> tuple[str, ...]:
    """Say that no rows are needed, and what came nearest to helping."""
    real = comparison.of("Real")
    first = f"{_what_to_do(comparison)}: {_plain(comparison, real.plain)}."
    if not comparison.others:
        return (first, "No method was compared.")
    best = max(comparison.others, key=lambda s: (s.is_shown, s.score))
    if best.gain.value <= 0.0:
        return (first, "No method did better than your own rows alone.")
    told = f"{best.method} with {_who(comparison, best)} did best"
    return (first, f"{told}, {_change(comparison, best)}, {_reason(comparison, best)}.")


def _reason(comparison: Comparison, best: Standing) -> str:
    if not best.is_shown:
        return "which may be chance"
    if best.plain_gain.value < 0.0:
        return f"but the {comparison.figure.name} is estimated to get worse"
    return "a gain too small to matter"


def _with(comparison: Comparison, chosen: Standing) -> tuple[str, ...]:
    """Say what to train on which rows, and why not on those of another method."""
    said = f"{_what_to_do(comparison)}: {_change(comparison, chosen)}."
    best = next(s for s in comparison.others if s.helps)
    if best is chosen:
        return (said,)
    return (
        said,
        f"{best.method} did best, {_change(comparison, best)}, but is not shown to be "
        f"better and costs {best.cpu_seconds:.0f} CPU seconds instead of "
        f"{chosen.cpu_seconds:.0f}.",
    )


def _elsewhere(comparison: Comparison, chosen: Standing | None) -> str:
    """Say that another learner does without new rows what the named one does not."""
    alone, real = dict(comparison.alone), comparison.of("Real")
    if alone.pop(comparison.promise, None) is None or not alone:
        return ""
    other = max(alone, key=lambda name: float(np.mean(alone[name])))
    if real.score >= float(np.mean(alone[other])):
        return ""
    ours = comparison.scores["Real" if chosen is None else chosen.method]
    # Together: the best of several is ahead by luck as well.
    ahead = comparison.asked.measured_together([s - ours for s in alone.values()])
    is_better = any(
        name == other and found.value - found.margin > 0.0
        for name, found in zip(alone, ahead, strict=True)
    )
    if not is_better and (chosen is None or comparison.is_worse(alone[other], ours)):
        return ""
    who = capital(learner_words(other, comparison.task))
    figure = f"{comparison.figure.name} {figure_text(real.by_learner[other])}"
    how = "better" if is_better else "as well"
    return f"{who} on your rows alone does {how}: {figure}."


# ---- Words and figures.


_ROWS_OF = {
    "Copies": "on your rows repeated",
    "Jitter": "on your rows repeated with a little noise",
    "TAP": "on the table that tabtap augment makes without a teacher",
    "TAP + teacher": "on the table that tabtap augment makes",
}


def _rows_of(standing: Standing) -> str:
    return _ROWS_OF.get(standing.method, f"on your rows and those of {standing.method}")


def _who(comparison: Comparison, standing: Standing) -> str:
    return learner_words(standing.learner, comparison.task)


def _plain(comparison: Comparison, plain: Measured) -> str:
    name = comparison.figure.name
    return f"{name} {figure_text(plain.value)} ± {figure_text(plain.margin)}"


def _change(comparison: Comparison, standing: Standing) -> str:
    """Return a gain in the plain figure and in the score."""
    real, name = comparison.of("Real"), comparison.figure.name
    before = figure_text(real.plain.value)
    if standing.learner != real.learner:
        before = f"{before} ({_who(comparison, real)}, no new rows)"
    return (
        f"{name} {before} -> {figure_text(standing.plain.value)}, "
        f"{_gained(comparison, standing)} {unit_words(comparison)} "
        f"(score {score_gain_text(standing)})"
    )


def _gained(comparison: Comparison, standing: Standing) -> str:
    text = gain_text(comparison, standing)
    # A score may rise while the plain figure gets worse.
    return f"a loss of {text[1:]}" if text.startswith("-") else f"a gain of {text}"


def gain_text(comparison: Comparison, standing: Standing) -> str:
    """Return the gain of the plain figure, in points or percent."""
    unit, gain = comparison.gain_unit, standing.plain_gain
    return f"{unit * gain.value:+.1f} ± {unit * gain.margin:.1f}"


def score_gain_text(standing: Standing) -> str:
    """Return the gain of the score."""
    return f"{standing.gain.value:+.3f} ± {standing.gain.margin:.3f}"


def unit_words(comparison: Comparison) -> str:
    """Return what the gain of the plain figure is counted in."""
    return "points" if comparison.task == "classification" else "% of the RMSE"
