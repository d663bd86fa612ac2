"""The first page: what to do next, what the verdict does not mean, some of the rows."""

from __future__ import annotations

import numpy as np

from tabtap import wording as say
from tabtap.domain import Certificate
from tabtap.fidelity import TARGET, is_copy, measure_closeness
from tabtap.report.blocks import Section, TableBlock
from tabtap.report.course import shares_of
from tabtap.report.facts import first_enough, is_named, target_titles, who_judged
from tabtap.report.plain import advice_sentence, with_page_signs
from tabtap.report.words import column_values, short_name
from tabtap.result import AugmentResult
from tabtap.result.privacy import cells_words
from tabtap.result.why import Case, case_of, deciding, task_name
from tabtap.table.schema import IntArray

N_EXAMPLES = 5
MOST_FEATURES = 5
MOVED = 0.02
"""Change in the share of a class that is worth a word."""


def next_steps(result: AugmentResult) -> tuple[str, ...]:
    """Return what to do now, in order."""
    case, check = case_of(result), deciding(result)
    if case is Case.SHOWN and check is not None:
        return (*_train(result, check), *_name_it(result))
    if len(result.delivered):
        return (
            "Measure on real rows of your own whether the new rows help, before you "
            "use them.",
        )
    if case in (Case.UNCHECKED, Case.UNASKED):
        return ("Run again, with more time or a budget of rows, to get an answer.",)
    first = first_enough(result)
    train = "Train on the table as it is: no rows were added."
    if first is not None:
        train = advice_sentence(first, task_name(result))
    return (train, *_name_it(result), "Collect more real rows: they help most.")


def _train(result: AugmentResult, check: Certificate) -> tuple[str, ...]:
    who = who_judged(result, check)
    return (
        f"Train {who} on the bigger table, real and new rows together.",
        "Test it on real rows only, and never on a real row whose descendants it was "
        "trained on.",
    )


def _name_it(result: AugmentResult) -> tuple[str, ...]:
    if is_named(result):
        return ()
    return (
        "If you will train another learner, run again with its name (--learner): the "
        "answer may differ.",
    )


def means_not(result: AugmentResult) -> tuple[tuple[str, str], ...]:
    """Return what must not be read into the verdict: a name and a text each."""
    points = [("New groups", _groups(result))]
    if len(result.delivered):
        points = [("Privacy", _privacy(result)), *points, *_base_rate(result)]
    seen = [("Note", with_page_signs(note)) for note in result.about.notes]
    return (*points, *seen)


def _privacy(result: AugmentResult) -> str:
    cells = with_page_signs(cells_words(result))
    more = f" {cells}" if cells else ""
    return (
        f"The new rows protect nobody: they descend from real ones.{more} This page "
        "shows real values; pass it on only to those who may see the table."
    )


def _groups(result: AugmentResult) -> str:
    if result.about.groups is not None:
        return "Groups were kept apart, so the answer is about new ones of them."
    if column := result.about.likely_groups:
        name = short_name(column)
        return (
            f"No new {name} was tested: rows of one {name} stood on both sides of the "
            f"checks. Run again with it as groups to ask about a new {name}."
        )
    return (
        "No groups were given. If several rows are of one person, device or day, every "
        "figure here is too good."
    )


def _base_rate(result: AugmentResult) -> list[tuple[str, str]]:
    """Say that a class has become more frequent than it is, where one has."""
    if task_name(result) != "classification":
        return []
    shares = shares_of(result)
    real = np.array([share.n_real for share in shares], dtype=np.float64)
    both = real + np.array([share.n_synthetic for share in shares])
    before, after = real / real.sum(), both / both.sum()
    moved = int(np.argmax(after - before))
    if after[moved] - before[moved] < MOVED:
        return []
    return [
        (
            "Changed base rate",
            f"The share of {target_titles(result)[moved]} goes from "
            f"{say.percent(before[moved])} to {say.percent(after[moved])}. "
            "A learner of the bigger table expects as many of them: its probabilities "
            "are not those of your real rows.",
        )
    ]


# ---- Some of the new rows, beside the real rows nearest to them.


def examples_section(result: AugmentResult) -> Section:
    """Return a few new rows, each above the real row that is nearest to it."""
    new = result.delivered.rows
    chosen = np.unique(
        np.linspace(0, len(new) - 1, min(N_EXAMPLES, len(new))).astype(np.int64)
    )
    near = measure_closeness(result.real, new.take(chosen)).row
    return Section(
        "examples",
        f"{say.capital(_NUMBERS[len(chosen)])} of the new rows",
        "",
        (_examples(result, chosen, near),),
    )


_NUMBERS = ("none", "one", "two", "three", "four", "five")


def _examples(result: AugmentResult, chosen: IntArray, near: IntArray) -> TableBlock:
    real, new = result.real, result.delivered.rows
    schema = real.schema
    features = sorted([*schema.numeric, *schema.categorical])
    shown = ([] if schema.target is None else [TARGET]) + features[:MOST_FEATURES]
    columns = [column_values(real, new, place) for place in shown]
    rows: list[tuple[str, ...]] = []
    copied = is_copy(real, new)
    for row, neighbour in zip(chosen.tolist(), near.tolist(), strict=True):
        name = f"New{say.TIED}{row}{', a copy' if copied[row] else ''}"
        rows.append((name, *(c.text(c.synthetic[row]) for c in columns)))
        place = int(real.origin[neighbour])
        rows.append(
            (f"Real{say.TIED}{place}", *(c.text(c.real[neighbour]) for c in columns))
        )
    hidden = len(features) - MOST_FEATURES
    more = ""
    if hidden > 0:
        more = f" The first {MOST_FEATURES} of {len(features)} features are shown."
    return TableBlock(
        "Each stands above the real row that is nearest to it",
        ("Row", *(column.name for column in columns)),
        tuple(rows),
        f"Rows are counted from 0, in the order of your table.{more}",
    )
