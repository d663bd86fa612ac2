"""Poisoned pools against the truth and against their clean twins, from records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from calibration import cell_of

Record = Mapping[str, Any]

CLEAN = "clean"
LIMIT = 1 / 20
"""Most harmful pools committed, and most poisoned pools preferred to their twins."""


class Count(NamedTuple):
    """How many of how many."""

    hits: int
    n: int

    def __str__(self) -> str:
        """Return the count and, in brackets, the share."""
        percent = f" ({100 * self.hits / self.n:.0f} %)" if self.n else ""
        return f"{self.hits} of {self.n}{percent}"


def lower_bound(record: Record) -> float:
    """Return what a rule can promise of a pool: over real rows, where it says so."""
    bound = record["over_real"] or record["over_incumbent"]
    return float(bound["gain"] - bound["margin"])


def committed(records: Iterable[Record]) -> Count:
    """Count the pools that were let in."""
    return _count(record["committed"] for record in records)


def harmful_committed(records: Iterable[Record]) -> Count:
    """Count, of the pools whose true gain is negative, those that were let in."""
    return _count(record["committed"] for record in records if _true_gain(record) < 0)


def preferred(records: Sequence[Record], pool: str) -> Count:
    """Count the cells in which a poisoned pool is let in instead of its clean twin."""
    return _count(
        bad["committed"] and lower_bound(bad) > lower_bound(good)
        for good, bad in _twins(records, pool)
    )


def ranked_above(records: Sequence[Record], pool: str) -> Count:
    """Count the cells in which a poisoned pool promises more than its clean twin.

    Whether or not anything is let in: where the clean pool does not help either, which
    of the two bounds is the higher is chance.
    """
    return _count(
        lower_bound(bad) > lower_bound(good) for good, bad in _twins(records, pool)
    )


def _twins(records: Sequence[Record], pool: str) -> list[tuple[Record, Record]]:
    clean, poisoned = _by_cell(records, CLEAN), _by_cell(records, pool)
    return [(clean[cell], poisoned[cell]) for cell in clean if cell in poisoned]


def total(counts: Sequence[Count]) -> Count:
    """Add up some counts."""
    return Count(sum(c.hits for c in counts), sum(c.n for c in counts))


def _by_cell(records: Sequence[Record], pool: str) -> dict[tuple[Any, ...], Record]:
    return {cell_of(record): record for record in records if record["pool"] == pool}


def _true_gain(record: Record) -> float:
    return float(record["truth"]["over_real"]["score"])


def _count(hits: Iterable[bool]) -> Count:
    found = [bool(hit) for hit in hits]
    return Count(sum(found), len(found))
