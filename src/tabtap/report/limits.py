"""What the method cannot do, said on every page."""

from __future__ import annotations

from tabtap.report import wording as say
from tabtap.report.blocks import Section, TableBlock
from tabtap.report.reading import is_panel, is_paper, learner_name, n_given
from tabtap.result import AugmentResult

FEW_ROWS = 100
"""Below this many real rows the page warns of their number."""


def limits_section(result: AugmentResult) -> Section:
    """Return the limits of the method, those of this run first."""
    rows = (
        _few_rows(result),
        _learners(result),
        _groups(result),
        *_ALWAYS,
    )
    block = TableBlock("Limits", ("Limit", "What it means here"), rows)
    lead = "What this page cannot promise, whatever its figures."
    return Section("limits", "Limits of the method", lead, (block,))


def _few_rows(result: AugmentResult) -> tuple[str, str]:
    rows = say.counted(n_given(result), "real row")
    said = f"All evidence comes from your {rows}."
    if n_given(result) < FEW_ROWS:
        said += (
            " With so few, a gain of one or two points cannot be told from chance, and "
            "figures of single classes are rough."
        )
    return "The table is small", said


def _learners(result: AugmentResult) -> tuple[str, str]:
    checks = result.certificates
    asked = list(checks[-1].learners_after) if checks else []
    who = result.about.referee or "nobody"
    if is_panel(result) and asked:
        who = say.listed([learner_name(learner).lower() for learner in asked])
    if is_paper(result):
        who = result.about.evaluator or who
    said = f"Asked: {who}. Other learners, and other settings of these, may gain less"
    return (
        "Learners that were not asked",
        f"{said} or lose. Pass the learner you will train as referee.",
    )


def _groups(result: AugmentResult) -> tuple[str, str]:
    name = "Rows that belong together"
    if result.about.groups is not None:
        return (
            name,
            "Groups were given and kept apart; the bars count groups, not rows.",
        )
    return (
        name,
        "No groups were given. If rows share a person, a device or a day, every figure "
        "here is too good: run again with groups.",
    )


_ALWAYS = (
    (
        "Rows of another kind",
        "The gain is for rows like yours. Where the rows you will predict differ "
        "(another hospital, branch or year), nothing was measured.",
    ),
    (
        "Order in time",
        "Rows were split at random. If the past must predict the future, test on later "
        "rows of your own before you rely on this.",
    ),
    (
        "Not a privacy tool",
        "Synthetic rows descend from real ones and may come near to them. Treat them "
        "as you treat the real rows.",
    ),
    (
        "Bias stays",
        "What the real rows get wrong or leave out, the new ones repeat: nothing new "
        "about the world is in them.",
    ),
    (
        "Training only",
        "Scores on synthetic rows say nothing. Never put them into a test set.",
    ),
)
