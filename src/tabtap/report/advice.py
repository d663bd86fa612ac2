"""The section on what else can be done with the same rows, and how well that does."""

from __future__ import annotations

from tabtap import wording as say
from tabtap.domain import Alternative
from tabtap.report.blocks import Section, TableBlock
from tabtap.report.facts import WITH_ROWS, first_enough
from tabtap.report.plain import (
    INTERVAL,
    advice_sentence,
    figure_name,
    measured_text,
)
from tabtap.result import AugmentResult
from tabtap.result.why import task_name


def advice_section(result: AugmentResult) -> Section:
    """Return what else can be done, the cheapest that is enough first."""
    options = sorted(result.advice, key=lambda option: not option.is_enough)
    figure = next((option.figure for option in options if option.figure), "")
    noted = any(option.note for option in options)
    header = (
        "What to do",
        say.capital(figure_name(figure)) or "Figure",
        "Score",
        "Is it enough?",
        *(["Note"] if noted else []),
    )
    rows = tuple(
        (*_row(option), *([option.note] if noted else [])) for option in options
    )
    table = TableBlock(
        "Ways to go, the cheapest that is enough first",
        header,
        rows,
        "All were scored on the same real rows, each by learners that had not seen it. "
        "Enough: nothing in this table is shown to do better, each comparison by "
        "itself with 90 % confidence, whatever that of the run is. "
        f"\u00b1 is a {say.percent(INTERVAL)} interval.".replace(" %", f"{say.THIN}%"),
        align_right=frozenset({1, 2}),
    )
    return Section(
        "advice", "What else you can do with these rows", _lead(result), (table,)
    )


def _row(option: Alternative) -> tuple[str, ...]:
    enough = "not measured"
    if option.value is not None:
        enough = "yes" if option.is_enough else "no, another way scores higher"
    return (
        option.words,
        measured_text(option.value),
        measured_text(option.score),
        enough,
    )


def _lead(result: AugmentResult) -> str:
    """Say which one to take."""
    first = first_enough(result)
    if first is None:
        return "None of these could be measured here, so none is recommended."
    said = f"Take the first: {_lower(advice_sentence(first, task_name(result)))}"
    why = " It is the cheapest of these ways that nothing is shown to beat."
    if first.name.endswith(WITH_ROWS) or not len(result.delivered):
        return f"{said}{why}"
    return (
        f"{said}{why} The new rows help the learner that the verdict names; this way "
        "needs none of them."
    )


def _lower(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]
