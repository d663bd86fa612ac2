"""Pools that were spoiled on purpose, offered to the check of a run.

The first pool of a run is offered again with wrong targets, and rows of noise are
offered in its place: a check that lets these in would let in anything.  What came of
it is a section of docs/results/answers.md.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from answers_cell import (
    check_record,
    load,
    offered_rows,
    run,
    split_frames,
    truth_of,
    watching,
)
from pages import Count, count, markdown_table, with_error
from records import Record
from threadpoolctl import threadpool_limits

from tabtap.domain import CommitRequest, Decision, Lineages
from tabtap.rivals.simple import independent_columns
from tabtap.rng import stream
from tabtap.table.table import Table, concat

CLEAN, NOISE = "clean", "noise"
SHUFFLED: Mapping[str, float] = {
    "30 % shuffled": 0.3,
    "50 % shuffled": 0.5,
    "100 % shuffled": 1.0,
}
"""Pools by the share of their rows whose targets are shuffled."""


def measure_poison(heading: Record) -> Record:
    """Run as a user would, and offer spoiled twins of the first pool to its check."""
    started, source = time.process_time(), load(heading["table"])
    frames = split_frames(source.name, heading["n_real"], heading["split"])
    place = (heading["table"], heading["n_real"], heading["split"])
    rng = stream(heading["seed"], "poison", *place)
    with watching(lambda inner, seen: PoisonedCommitment(inner, seen, rng)) as seen:
        run(frames[0], source.target, source.task, heading)
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        offered = [offered_rows(trial, decision) for trial, decision in seen]
        truth, pools = truth_of(source, frames, offered, heading)
        checks = [
            check_record(trial, decision, rows, truth)
            for (trial, decision), rows in zip(seen, pools, strict=True)
        ]
    names = (CLEAN, *SHUFFLED, NOISE)
    return {
        **heading,
        "task": source.task,
        "n_test": len(frames[1]),
        "pools": [{"pool": n, **c} for n, c in zip(names, checks, strict=True)],
        "seconds": {"run": round(time.process_time() - started, 2)},
    }


@dataclass(frozen=True, slots=True, eq=False)
class PoisonedCommitment:
    """Decides as the commitment it wraps, which is asked about spoiled twins as well.

    Of the first pool only, which is offered alone.
    """

    inner: Any
    seen: list[tuple[CommitRequest, Decision]] = field(default_factory=list)
    rng: np.random.Generator = field(default_factory=np.random.default_rng)

    def check(self, trial: CommitRequest) -> Decision:
        """Let the commitment decide, about the twins of the first pool too."""
        decision = self.inner.check(trial)
        if not self.seen:
            self.seen.append((trial, decision))
            for pool in self._twins(trial):
                twin = replace(trial, pool=pool)
                self.seen.append((twin, self.inner.check(twin)))
        return decision

    def _twins(self, trial: CommitRequest) -> Iterator[Table]:
        for share in SHUFFLED.values():
            yield shuffled(trial.pool, share, self.rng)
        n_rows = len(trial.pool) // len(trial.lineages.members)
        yield noise_pool(self.inner.real, trial.lineages, n_rows, self.rng)


def shuffled(pool: Table, share: float, rng: np.random.Generator) -> Table:
    """Permute the targets of a share of the rows, within each lineage."""
    source = np.arange(len(pool))
    for member in np.unique(pool.unseen_fold):
        rows = rng.permutation(np.flatnonzero(pool.unseen_fold == member))
        chosen = rows[: round(share * len(rows))]
        source[chosen] = rng.permutation(chosen)
    if pool.schema.target is not None and pool.schema.target.task == "regression":
        return pool.with_target(pool.target_values[source])
    return replace(pool, target=pool.target[source])


def noise_pool(
    real: Table, lineages: Lineages, n_rows: int, rng: np.random.Generator
) -> Table:
    """Draw every column and the target by itself, from what each lineage has seen."""
    parts = []
    for member in lineages.members:
        seen = real.take(lineages.seen(member))
        rows = independent_columns(seen, n_rows, rng)
        parts.append(rows.with_origin(unseen_fold=member))
    return concat(parts)


# ---- What came of it, from records.


POISON = """## Poison

The first pool of a run (*clean*), the same rows with targets shuffled among a share of
them, and as many rows whose columns and target are drawn independently (*noise*), each
offered alone to the run's check. *True gain*: of the named learner's yardstick, in per
cent of what it lost without. *Harmful let in*: of pools whose true gain is negative.
*Preferred*: let in with a higher bound than the clean twin."""


def poison_section(by_run: Mapping[str, Sequence[Record]]) -> str:
    """Return the section of the page, runs by what they were asked for."""
    rows = []
    for name, records in by_run.items():
        pools = [pool for record in records for pool in record["pools"]]
        pools = [pool for pool in pools if pool["truth"] is not None]
        kinds = dict.fromkeys(pool["pool"] for pool in pools)
        bad = [kind for kind in kinds if kind != CLEAN]
        for kind, own in [*((k, [k]) for k in kinds), ("all poisoned", bad)]:
            part = [pool for pool in pools if pool["pool"] in own]
            cells = [
                with_error([pool["truth"]["share"] for pool in part], "+.1f", 100),
                str(count(pool["committed"] for pool in part)),
                str(harmful_let_in(part)),
                "-" if kind == CLEAN else str(preferred(records, own)),
            ]
            rows.append([name, kind, *cells])
    header = ["run", "pool", "true gain %", "let in", "harmful let in", "preferred"]
    return f"{POISON}\n\n{markdown_table(header, rows)}"


def harmful_let_in(pools: Sequence[Record]) -> Count:
    """Count, of the pools whose true gain is negative, those that were let in."""
    return count(p["committed"] for p in pools if p["truth"]["score"] < 0)


def preferred(records: Sequence[Record], kinds: Sequence[str]) -> Count:
    """Count the poisoned pools that were let in and promise more than the clean one."""
    return count(
        pool["committed"]
        and pool["over_real"]["lower"] > record["pools"][0]["over_real"]["lower"]
        for record in records
        for pool in record["pools"]
        if pool["pool"] in kinds
    )
