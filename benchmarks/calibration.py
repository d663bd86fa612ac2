"""Whether commitments keep their promises: coverage, harm and power, from records.

Read by: study_report.  Everything here is arithmetic on records; nothing is fitted.

The crossfit rule promises a gain of the referee's score over real rows alone; the
paper's rule a reduction of its evaluator's loss over the incumbent.  Each is held to
its own promise: the truth is the referee's, in the unit of the promise.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tabtap.domain.judgement import confidence_at, one_sided

Record = Mapping[str, Any]

HELPFUL = 0.01
"""A true gain of the score from which a refusal counts as a chance missed."""


class Promise(NamedTuple):
    """A lower bound, how often it may be wrong, and what was true."""

    estimate: float
    lower: float
    nominal: float
    truth: float

    @property
    def kept(self) -> bool:
        """Whether the truth is not below the bound."""
        return self.truth >= self.lower


class Share(NamedTuple):
    """A share of some cases with its error, cases of one cell counted together."""

    share: float
    error: float
    n: int
    n_cells: int


class Decisions(NamedTuple):
    """What a rule did with the pools it was offered."""

    n: int
    n_committed: int
    harmful: float
    """Share of the committed whose true gain over real rows alone is negative."""

    harmful_step: float
    """The same over the incumbent."""

    power: float
    """Share committed of those that truly help by more than ``HELPFUL``, over real."""

    power_step: float
    """The same over the incumbent."""


def cell_of(record: Record) -> tuple[Any, ...]:
    """Return the cell that a record belongs to."""
    return tuple(record[name] for name in ("table", "n_real", "split", "seed"))


def promise(record: Record, level: float | None = None) -> Promise:
    """Return what a check promised, or what it would have promised at another level.

    Parameters
    ----------
    record : mapping
        A commitment check.
    level : float, optional
        One-sided confidence of the bound.  Default: as certified, looks included.
    """
    if record["protocol"] == "paper":
        truth = record["truth"]["over_incumbent"]["loss"]
        stated, differences = record["over_incumbent"], record["evidence"]["fold_gains"]
        nominal = (1 + stated["confidence"]) / 2  # its interval is two-sided
    else:
        truth = record["truth"]["over_real"]["score"]
        stated, differences = record["over_real"], _minus_real(record, "after")
        nominal = stated["confidence"]
    if level is None:
        lower = stated["gain"] - stated["margin"]
        return Promise(stated["gain"], lower, nominal, truth)
    # The paper's gain weighs rows, its folds' mean weighs folds: only the margin is
    # taken from them.
    margin = one_sided(np.asarray(differences, dtype=np.float64), level).margin
    return Promise(stated["gain"], stated["gain"] - margin, level, truth)


def coverage(records: Iterable[Record], level: float | None = None) -> Share:
    """Return how often bounds held, and the error of that share."""
    kept, cells = [], []
    for record in records:
        made = promise(record, level)
        if np.isfinite(made.estimate):
            kept.append(made.kept)
            cells.append(cell_of(record))
    return clustered_share(kept, cells)


def clustered_share(hits: Sequence[bool], cells: Sequence[object]) -> Share:
    """Return a share and its standard error when whole cells are drawn, not cases."""
    n, names = len(hits), list(dict.fromkeys(cells))
    if not n:
        return Share(float("nan"), float("nan"), 0, 0)
    share = float(np.mean(hits))
    totals = dict.fromkeys(names, 0.0)
    for hit, cell in zip(hits, cells, strict=True):
        totals[cell] += hit - share
    count = len(names)
    if count < 2:
        return Share(share, float("nan"), n, count)
    spread = np.sqrt(sum(t**2 for t in totals.values()) * count / (count - 1))
    return Share(share, float(spread / n), n, count)


def decisions(
    records: Sequence[Record], committed: Sequence[bool] | None = None
) -> Decisions:
    """Count what was committed, what of it was harmful, and what was missed.

    Parameters
    ----------
    records : sequence of mappings
        Commitment checks.
    committed : sequence of bool, optional
        Other decisions on them than those on record.
    """
    chosen = np.asarray(
        [record["committed"] for record in records] if committed is None else committed,
        dtype=np.bool_,
    )
    truth, step = (
        np.asarray([record["truth"][name]["score"] for record in records])
        for name in ("over_real", "over_incumbent")
    )
    return Decisions(
        len(records),
        int(chosen.sum()),
        _share(truth[chosen] < 0),
        _share(step[chosen] < 0),
        _share(chosen[truth > HELPFUL]),
        _share(chosen[step > HELPFUL]),
    )


def decided_at(record: Record, confidence: float) -> bool:
    """Tell what the crossfit rule would decide on one check at another confidence.

    The same pool beside the same incumbent: what would have come before at that
    confidence is not replayed.
    """
    level = confidence_at(record["look"], confidence)
    if not one_sided(_minus_real(record, "after"), level).lower > 0:
        return False
    if record["first"]:
        return True
    step = _minus_real(record, "after") - _minus_real(record, "before")
    return one_sided(step, record["over_incumbent"]["confidence"]).lower > 0


def _minus_real(record: Record, name: str) -> np.ndarray:
    evidence = record["evidence"]
    return np.asarray(evidence[name]) - np.asarray(evidence["real"])


def _share(hits: np.ndarray) -> float:
    return float(np.mean(hits)) if len(hits) else float("nan")
