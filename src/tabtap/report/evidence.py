"""The evidence: what every check found, what its bar means, and how often bars hold."""

from __future__ import annotations

import math

from tabtap.domain import Bound, Certificate
from tabtap.report import wording as say
from tabtap.report.blocks import Block, Figure, Section, TableBlock, Text
from tabtap.report.charts import Interval, interval_chart
from tabtap.report.comparison import comparison_blocks
from tabtap.report.meaning import score_meaning
from tabtap.report.reading import (
    is_panel,
    is_paper,
    is_per_row,
    metric_name,
    setting,
)
from tabtap.result import AugmentResult

# As published in docs/results/calibration.md, table "Coverage".
CROSSFIT_HELD, CROSSFIT_PROMISED, CROSSFIT_CHECKS = 0.922, 0.919, 179
PAPER_HELD, PAPER_PROMISED, PAPER_CHECKS = 0.540, 0.975, 63


def evidence_section(result: AugmentResult) -> Section:
    """Return what the checks of a run found."""
    anchor, title = "evidence", "The evidence"
    checks = result.certificates
    if not checks:
        return Section(anchor, title, "No set of rows was checked, so there is none.")
    blocks: list[Block] = [_chart(result), Text((_bar_words(result),)), _table(result)]
    blocks += comparison_blocks(result)
    blocks.append(Text((coverage_words(result),)))
    lead = score_meaning(result)
    if is_paper(result):
        lead = (
            "The paper\u2019s rule looks at the loss of the evaluator on the hardest "
            "rows; a gain is a lower loss."
        )
    return Section(anchor, title, lead, tuple(blocks))


def coverage_words(result: AugmentResult) -> str:
    """Say how often bounds of this kind were found to hold."""
    if is_paper(result):
        return (
            "How often such bars hold: in the measurements published with tabtap "
            f"(seven tables of 50 rows, {PAPER_CHECKS} checks), the paper\u2019s rule "
            f"promised {say.percent(PAPER_PROMISED)} and held in "
            f"{say.percent(PAPER_HELD)}."
        )
    said = (
        "How often such bounds hold: in the measurements published with tabtap (seven "
        f"tables of 50 and 100 rows, {CROSSFIT_CHECKS} checks), "
        f"{say.percent(CROSSFIT_HELD)} of the bounds held on rows nobody had touched, "
        f"where {say.percent(CROSSFIT_PROMISED)} had been promised. Table by table it "
        "was between 75 % and 100 %.".replace(" %", f"{say.THIN}%")
    )
    if is_panel(result) and metric_name(result) == "score":
        return said
    return f"{said} That was measured with the usual learners and the default score."


def _bar_words(result: AugmentResult) -> str:
    if is_paper(result):
        return (
            "A set of rows is let in if its estimated gain exceeds its error bar, a "
            "two-sided interval over folds."
        )
    run = setting(result, "augment", "commit", "confidence")
    shared = ""
    if run is not None:
        shared = (
            " Sets that fail use up confidence, so that a run on a table that no new "
            f"rows can help adds some in at most {say.percent(1 - run)} of cases. Of "
            "several sets the luckiest tends to be kept: a gain found after several "
            "attempts is on the high side."
        )
    last = result.certificates[-1]
    by = "real row by real row" if is_per_row(result, last) else "fold by fold"
    return (
        "Each set of new rows was checked once. The gain is the mean difference, "
        f"{by}, between the score with all new rows so far and the score without any. "
        "Its bar reaches down to what the gain is at least, with the confidence "
        "stated. A set is let in if its bar stays to the right of the dotted line, and "
        f"if it also adds to the sets before it.{shared}"
    )


def _chart(result: AugmentResult) -> Figure:
    checks = result.certificates
    title = _title(result)
    bar = setting(result, "augment", "commit", "min_gain") or 0.0
    rows = [_interval(check) for check in checks]
    svg = interval_chart(rows, name="checks", title=title, bar=float(bar))
    alt = "One line per check. " + "; ".join(
        f"{row.name}: gain {row.text}, bar down to {say.at_least(row.low)}"
        for row in rows
    )
    over = "over the rows held before" if is_paper(result) else "over real rows alone"
    return Figure(
        title,
        svg,
        alt,
        f"Gain {over}, with its error bar. A dot was let in, a cross was refused.",
    )


def _interval(check: Certificate) -> Interval:
    bound = _bound(check)
    return Interval(
        name=f"Check {check.window + 1}: {decision_words(check)}",
        gain=bound.gain,
        low=bound.lower,
        high=bound.gain,
        text=say.gain(bound.gain),
        mark="good" if check.committed else "open",
    )


def _title(result: AugmentResult) -> str:
    checks = result.certificates
    passed = sum(check.committed for check in checks)
    if not passed and len(checks) == 1:
        return "The only set of rows did not clear the bar"
    if not passed:
        return f"None of {len(checks)} sets of rows cleared the bar"
    if passed == len(checks):
        only = "The only set" if passed == 1 else f"All {passed} sets"
        return f"{only} of rows cleared the bar"
    clear = "1 cleared" if passed == 1 else f"{passed} cleared"
    return f"Of {len(checks)} sets of rows {clear} the bar and added to the gain"


def _table(result: AugmentResult) -> TableBlock:
    rows = tuple(_table_row(check) for check in result.certificates)
    return TableBlock(
        "Every check",
        (
            "Check",
            "Decision",
            "Rows",
            "Score before",
            "Score with them",
            "Gain over real rows",
            "At least",
            "Confidence",
            "Adds to those before",
        ),
        rows,
        align_right=frozenset(range(2, 9)),
    )


def _table_row(check: Certificate) -> tuple[str, ...]:
    over_real, step = check.over_real, check.over_incumbent
    shown = over_real or step
    return (
        str(check.window + 1),
        decision_words(check),
        say.count(check.n_rows),
        say.score(check.score_before, 0.001),
        say.score(check.score_after, 0.001),
        "not asked" if over_real is None else say.gain(over_real.gain),
        say.at_least(shown.lower),
        say.percent(shown.confidence),
        say.gain(step.gain),
    )


def decision_words(check: Certificate) -> str:
    """Return the decision of a check with its reason, in a few words."""
    if check.committed:
        return "let in"
    if not check.n_rows:
        return "refused, no rows left"
    if check.shown:
        return "refused, adds nothing"
    bound = check.over_real or check.over_incumbent
    return "refused, may be chance" if bound.gain > 0 else "refused, no gain"


def _bound(check: Certificate) -> Bound:
    bound = check.over_real or check.over_incumbent
    if math.isnan(bound.gain):
        return Bound(bound.gain, float("inf"), bound.confidence)
    return bound
