"""The section on which real rows would help most: targets and regions left unsure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import GroupKFold, cross_val_predict
from sklearn.tree import DecisionTreeRegressor

from tabtap.report.blocks import Block, Section, TableBlock, Text
from tabtap.report.drawing import clean
from tabtap.report.words import ColumnValues, column_title, column_values, short_name
from tabtap.result import AugmentResult
from tabtap.result.frames import condition_names
from tabtap.result.set_aside import learned_places
from tabtap.result.why import n_given
from tabtap.table.schema import BoolArray, FloatArray, IntArray
from tabtap.table.table import Table
from tabtap.wording import count, count_of, number_text, score

MAX_TARGETS = 10
MAX_REGIONS = 3
FEW = 5
"""Real rows of a target below which its figures say little."""

_TITLE = "What real rows would help most"


def wanted_section(result: AugmentResult) -> Section:
    """Say of which targets, and in which regions, learners stay unsure.

    Parameters
    ----------
    result : AugmentResult
        Any run.  If it measured nothing, the section says so.
    """
    scores = row_scores(result)
    doubts = target_doubts(result)
    if scores is None and doubts is None:
        said = "Nothing was measured, so nothing can be said about which rows to add."
        return Section("wanted", _TITLE, said)
    blocks: list[Block] = [_targets(result, scores, doubts)]
    if scores is not None:
        blocks.append(_regions(result, scores))
    lead = (
        "Synthetic rows cannot add what was never seen. Where learners stay wrong or "
        "unsure, a few more real rows are worth the most. These figures come from "
        f"{count_of(len(result.real), 'real row')}: take them as a hint where to look."
    )
    return Section("wanted", _TITLE, lead, tuple(blocks))


def row_scores(result: AugmentResult) -> FloatArray | None:
    """Return each real row's score with what was added; None if there is none.

    Learners that gave it had not seen the row.  It is that of the last pool which was
    committed, or of the real rows alone.
    """
    for certificate in reversed(result.certificates):
        if certificate.committed:
            return _of_rows(result, certificate.evidence.get("after"))
    if not result.certificates:
        return None
    return _of_rows(result, result.certificates[-1].evidence.get("real"))


def target_doubts(result: AugmentResult) -> FloatArray | None:
    """Return the judge's last uncertainty about each target; None if never asked."""
    if not result.steps:
        return None
    doubts = np.asarray(result.steps[-1].state.uncertainty, dtype=np.float64)
    n_targets = result.real.schema.n_conditions
    usable = len(doubts) == n_targets and np.isfinite(doubts).any()
    return doubts if usable else None


def _of_rows(result: AugmentResult, evidence: FloatArray | None) -> FloatArray | None:
    # One score per fold, or a table of which rows were forgotten.
    if evidence is None or len(evidence) != n_given(result):
        return None
    scores = np.asarray(evidence, dtype=np.float64)[
        learned_places(result.real.origin, result.set_aside)
    ]
    return scores if np.isfinite(scores).all() else None


def _targets(
    result: AugmentResult, scores: FloatArray | None, doubts: FloatArray | None
) -> TableBlock:
    condition = result.real.condition
    present = np.unique(condition)
    order = _worst_first(condition, present, scores, doubts)
    rows = [_target_row(result, k, scores, doubts) for k in order[:MAX_TARGETS]]
    figures = [text for text, is_there in _columns(scores, doubts) if is_there]
    return TableBlock(
        title=_targets_title(result, order, scores, doubts),
        header=("Target", "Real rows", *figures),
        rows=tuple(rows),
        caption=_targets_caption(result, len(order), scores, doubts),
        align_right=frozenset(range(1, 2 + len(figures))),
    )


def _columns(
    scores: FloatArray | None, doubts: FloatArray | None
) -> tuple[tuple[str, bool], tuple[str, bool]]:
    return ("Mean score", scores is not None), ("Uncertainty", doubts is not None)


def _worst_first(
    condition: IntArray,
    present: IntArray,
    scores: FloatArray | None,
    doubts: FloatArray | None,
) -> list[int]:
    if scores is not None:
        worst = [float(scores[condition == k].mean()) for k in present]
    else:
        worst = [-float(doubts[k]) if doubts is not None else 0.0 for k in present]
    return [int(k) for k in present[np.argsort(worst, kind="stable")]]


def _target_row(
    result: AugmentResult, k: int, scores: FloatArray | None, doubts: FloatArray | None
) -> tuple[str, ...]:
    own = result.real.condition == k
    row = [target_name(result, k), count(int(own.sum()))]
    if scores is not None:
        row.append(score(float(scores[own].mean())))
    if doubts is not None:
        row.append("unknown" if np.isnan(doubts[k]) else f"{doubts[k]:.2f}")
    return tuple(row)


def target_name(result: AugmentResult, k: int) -> str:
    """Return what a class or target bin is called, for a sentence."""
    schema = result.real.schema
    label = condition_names(schema)[k]
    if schema.target is None or schema.target.task == "classification":
        return short_name(label)
    return short_name(f"{schema.target.column.name} {label}")


def _targets_title(
    result: AugmentResult,
    order: list[int],
    scores: FloatArray | None,
    doubts: FloatArray | None,
) -> str:
    worst = _with_target(result, order[0])
    if len(order) == 1:
        return f"There are only rows {worst}"
    if scores is not None:
        own = float(scores[result.real.condition == order[0]].mean())
        mean = float(scores.mean())
        return f"Rows {worst} score lowest: {score(own)} against {score(mean)} overall"
    said = "unknown" if doubts is None else f"{doubts[order[0]]:.2f}"
    return f"The judge is least sure of rows {worst}: uncertainty {said}"


def _with_target(result: AugmentResult, k: int) -> str:
    """Return a target as it follows the word "rows"."""
    target = result.real.schema.target
    label = target_name(result, k)
    if target is None or target.task == "regression":
        return f"with {label}"
    return f"whose {short_name(target.column.name)} is {label}"


def _targets_caption(
    result: AugmentResult,
    n_targets: int,
    scores: FloatArray | None,
    doubts: FloatArray | None,
) -> str:
    parts = []
    if scores is not None:
        added = any(certificate.committed for certificate in result.certificates)
        learned = "with the rows that were added" if added else "from real rows alone"
        parts.append(
            "Score: the mean over real rows that the learners had not seen, having "
            f"learned {learned}; larger is better."
        )
    if doubts is not None:
        parts.append(
            "Uncertainty: the mean doubt of the judge that guided the run, from 0 "
            "(sure) to 1 (it may be anything)."
        )
    if n_targets > MAX_TARGETS:
        parts.append(f"{count(n_targets - MAX_TARGETS)} more targets are not shown.")
    parts.append(f"A figure of fewer than {FEW} rows says little.")
    return " ".join(parts)


def _regions(result: AugmentResult, scores: FloatArray) -> Block:
    families = result.about.groups
    found = low_regions(
        result.real,
        scores,
        families=None if families is None else _numbered(result),
        seed=result.about.seed,
    )[:MAX_REGIONS]
    if not found:
        return Text(
            (
                "No region of the table stands out: what scores low lies among what "
                "scores well. More rows of the kinds that are there, and of the "
                "targets above, are the safest choice.",
            )
        )
    mean = float(scores.mean())
    return TableBlock(
        title=f"Rows score lowest where {found[0].words}",
        header=("Region", "Real rows", "Mean score", "Overall"),
        rows=tuple(_region_row(region, mean) for region in found),
        caption=(
            "Found by a tree of two questions, which was believed because it did "
            "better than the mean on rows it had not seen."
        ),
        align_right=frozenset({1, 2, 3}),
    )


def _region_row(region: Region, mean: float) -> tuple[str, str, str, str]:
    size = count(int(region.rows.sum()))
    return region.words, size, score(region.mean), score(mean)


def _numbered(result: AugmentResult) -> IntArray:
    """Return the family of every real row, as a number."""
    own = [str(label) for label in result.real_groups]
    return np.unique(own, return_inverse=True)[1].astype(np.int64)


# ---- Regions of a table in which rows score low, said in words.
#
# A tree of two questions finds them. Any tree finds something, so it is asked about
# rows it has not seen first, and believed only if it does better there than the mean.


N_QUESTIONS = 2
N_FOLDS = 5
MIN_ROWS = 20
"""Fewer rows are too few to find a region in."""

MIN_REGION = 5
MIN_SHARE = 0.1
_NAME_WIDTH = 40


@dataclass(frozen=True, slots=True, eq=False)
class Region:
    """Some rows that answer the same questions alike."""

    words: str
    rows: BoolArray
    mean: float
    """Mean score of the rows."""


@dataclass(frozen=True, slots=True, eq=False)
class _Question:
    """One thing to ask of every row."""

    answers: FloatArray
    """Ranks of numbers with -1 for holes, or 1 for a level and 0 for others."""

    column: ColumnValues

    level: int | None = None
    """The level asked about; None for numbers."""

    values: FloatArray | None = None
    """The number of each rank."""


def low_regions(
    real: Table, scores: FloatArray, *, families: IntArray | None = None, seed: int = 0
) -> list[Region]:
    """Find the regions whose rows score below the mean, the lowest first.

    Parameters
    ----------
    real : Table
        Real rows.
    scores : array of shape (n_rows,)
        Larger is better.
    families : array of shape (n_rows,), optional
        Who a row belongs to; rows of one family are held out together.
    seed : int
        Of the folds, and of ties between questions.

    Returns
    -------
    list of Region
        Empty where no region stands out on rows that were held out.
    """
    questions = _questions(real)
    if len(real) < MIN_ROWS or not questions or not np.isfinite(scores).all():
        return []
    answers = np.column_stack([question.answers for question in questions])
    smallest = max(MIN_REGION, math.ceil(MIN_SHARE * len(real)))
    tree = DecisionTreeRegressor(
        max_depth=N_QUESTIONS, min_samples_leaf=smallest, random_state=seed
    )
    if not _holds(tree, answers, scores, _families(families, len(real), seed)):
        return []
    tree.fit(answers, scores)
    leaf = tree.apply(answers)
    paths = _paths(tree.tree_)
    found = [
        Region(
            _words(questions, paths[one]),
            leaf == one,
            float(scores[leaf == one].mean()),
        )
        for one in np.unique(leaf)
    ]
    below = [part for part in found if part.mean < scores.mean() and part.words]
    return sorted(below, key=lambda part: part.mean)


def _holds(
    tree: DecisionTreeRegressor,
    answers: FloatArray,
    scores: FloatArray,
    families: IntArray,
) -> bool:
    """Tell whether the tree does better than the mean on rows it has not seen."""
    n_folds = min(N_FOLDS, len(np.unique(families)))
    if n_folds < 2:
        return False
    folds = GroupKFold(n_folds)
    said = cross_val_predict(tree, answers, scores, groups=families, cv=folds)
    plain = np.zeros(len(scores))
    for train, test in folds.split(answers, scores, families):
        plain[test] = scores[train].mean()
    return bool(((said - scores) ** 2).sum() < ((plain - scores) ** 2).sum())


def _families(families: IntArray | None, n_rows: int, seed: int) -> IntArray:
    if families is not None:
        return families
    # In a random order: a table may be sorted.
    return np.random.default_rng(seed).permutation(n_rows)


def _questions(real: Table) -> list[_Question]:
    schema = real.schema
    found: list[_Question] = []
    for place in sorted([*schema.numeric, *schema.categorical]):
        column = column_values(real, real.empty(), int(place))
        found.extend(_of_levels(column) if column.levels else [_of_numbers(column)])
    return [question for question in found if np.ptp(question.answers) > 0]


def _of_numbers(column: ColumnValues) -> _Question:
    hole = np.isnan(column.real)
    values, rank = np.unique(column.real[~hole], return_inverse=True)
    answers = np.full(len(hole), -1.0)
    answers[~hole] = rank
    return _Question(answers, column, values=values)


def _of_levels(column: ColumnValues) -> list[_Question]:
    codes, counts = np.unique(column.real, return_counts=True)
    return [
        _Question((column.real == code).astype(np.float64), column, level=int(code))
        for code in codes[counts >= MIN_REGION]
    ]


def _paths(tree: Any) -> dict[int, list[tuple[int, bool, float]]]:  # noqa: ANN401
    """Return for each leaf the questions on the way to it, and the answers."""
    found: dict[int, list[tuple[int, bool, float]]] = {}

    def walk(node: int, path: list[tuple[int, bool, float]]) -> None:
        left, right = int(tree.children_left[node]), int(tree.children_right[node])
        if left == right:
            found[node] = path
            return
        asked = int(tree.feature[node]), float(tree.threshold[node])
        walk(left, [*path, (asked[0], True, asked[1])])
        walk(right, [*path, (asked[0], False, asked[1])])

    walk(0, [])
    return found


def _words(
    questions: Sequence[_Question], path: Sequence[tuple[int, bool, float]]
) -> str:
    return " and ".join(
        _answer(questions[number], cut, is_low=is_low) for number, is_low, cut in path
    )


def _answer(question: _Question, cut: float, *, is_low: bool) -> str:
    column = question.column
    name = column_title(column.name)
    if question.level is not None:
        level = clean(column.text(question.level), _NAME_WIDTH)
        return f"{name} is not {level}" if is_low else f"{name} is {level}"
    values = question.values
    has_holes = bool((question.answers < 0).any())
    below = math.floor(cut)
    if values is None or below < 0:
        return f"{name} is missing" if is_low else f"{name} is known"
    border = _border(column, float(values[below]), float(values[below + 1]))
    if not is_low:
        return f"{name} above {border}"
    return f"{name} up to {border}" + (" or missing" if has_holes else "")


def _border(column: ColumnValues, low: float, high: float) -> str:
    """Return the shortest number that is not below ``low`` and below ``high``."""
    if column.sort == "date" or column.step:
        return column.text(low) if column.sort == "date" else _exact(column, low)
    for digits in range(1, 17):
        border = float(f"{(low + high) / 2:.{digits}g}")
        if low <= border < high:
            return number_text(border, column.power, max(digits, 3))
    return _exact(column, low)


def _exact(column: ColumnValues, value: float) -> str:
    unit = f" {column.unit}" if column.unit else ""
    return number_text(value, column.power, 15) + unit
