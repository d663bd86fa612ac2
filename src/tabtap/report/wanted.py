"""The section on which real rows would help most: targets and regions left unsure."""

from __future__ import annotations

import numpy as np

from tabtap.report.blocks import Block, Section, TableBlock, Text
from tabtap.report.reading import n_given
from tabtap.report.regions import Region, low_regions
from tabtap.report.wording import count, counted, name, score
from tabtap.result import AugmentResult
from tabtap.result.frames import condition_names
from tabtap.table.schema import FloatArray, IntArray

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
        f"{counted(len(result.real), 'real row')}: take them as a hint where to look."
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
    scores = np.asarray(evidence, dtype=np.float64)[result.real.origin]
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
        return name(label)
    return name(f"{schema.target.column.name} {label}")


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
    return f"whose {name(target.column.name)} is {label}"


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
    own = [str(label) for label in result.groups[: len(result.real)]]
    return np.unique(own, return_inverse=True)[1].astype(np.int64)
