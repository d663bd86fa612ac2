"""Good pools and their poisoned twins, offered to both rules of commitment.

A pool is offered alone, with nothing committed.  Twins share their rows; only labels
differ, so what a rule thinks of them can be compared pair by pair.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from runs import RUNS, checked
from study_cell import Ground
from truth import Truth

from tabtap.api.run import lineages_of, make_scene
from tabtap.diffusion import BackboneStack
from tabtap.domain import Baseline, Lineages, Standing, Trial
from tabtap.rivals.simple import independent_columns
from tabtap.stopwatch import Stopwatch
from tabtap.table import Table
from tabtap.table.table import concat

N_ROWS = 250
"""Rows of a pool in each lineage, which is also how many are delivered."""

CLEAN = "clean"
NOISE = "noise"
SHUFFLED = {"30 % shuffled": 0.3, "50 % shuffled": 0.5, "100 % shuffled": 1.0}
"""Pools by the share of their rows whose labels are shuffled."""

PROTOCOLS = {"crossfit": RUNS["default"], "paper": RUNS["paper"]}
"""The preset whose commitment is asked, by protocol."""

Record = dict[str, Any]


def poison_records(ground: Ground, truth: Truth) -> list[Record]:
    """Offer every pool to every rule; one record for each."""
    return [
        {"pool": name, **record}
        for protocol in PROTOCOLS
        for name, record in _offered(ground, protocol, truth)
    ]


def clean_pool(
    stack: BackboneStack, real: Table, lineages: Lineages, rng: np.random.Generator
) -> Table:
    """Draw whole rows from every member, targets as frequent as in what it saw."""
    targets = [
        real.condition[rng.choice(lineages.seen(member), size=N_ROWS)]
        for member in lineages.members
    ]
    return concat(stack.sample(targets, rng))


def shuffled(pool: Table, share: float, rng: np.random.Generator) -> Table:
    """Permute the targets of a share of the rows, within each lineage."""
    source = np.arange(len(pool))
    for member in np.unique(pool.unseen_fold):
        rows = rng.permutation(np.flatnonzero(pool.unseen_fold == member))
        chosen = rows[: round(share * len(rows))]
        source[chosen] = rng.permutation(chosen)
    if pool.schema.target is not None and pool.schema.target.task == "regression":
        return pool.with_target(pool.target_values[source])
    return _relabelled(pool, source)


def noise_pool(real: Table, lineages: Lineages, rng: np.random.Generator) -> Table:
    """Draw every column and the target by itself, from what each lineage has seen."""
    parts = []
    for member in lineages.members:
        seen = real.take(lineages.seen(member))
        rows = independent_columns(seen, N_ROWS, rng)
        parts.append(rows.with_origin(unseen_fold=member))
    return concat(parts)


def _relabelled(pool: Table, source: np.ndarray) -> Table:
    return replace(pool, target=pool.target[source])


def _pools(
    ground: Ground, lineages: Lineages, protocol: str
) -> Iterator[tuple[str, Table]]:
    cell, real = ground.cell, ground.real
    stack = ground.members(lineages)
    clean = clean_pool(stack, real, lineages, cell.stream(f"clean {protocol}"))
    yield CLEAN, clean
    for name, share in SHUFFLED.items():
        yield name, shuffled(clean, share, cell.stream(f"{name} {protocol}"))
    yield NOISE, noise_pool(real, lineages, cell.stream(f"noise {protocol}"))


def _offered(
    ground: Ground, protocol: str, truth: Truth
) -> Iterator[tuple[str, Record]]:
    request = ground.request(PROTOCOLS[protocol])
    lineages, real = lineages_of(request), ground.real
    scene = make_scene(request, lineages, ground.members(lineages), Stopwatch())
    standing, baseline = Standing(), _unasked(real)
    if not lineages.crossfit:
        baseline = scene.stages.utility.baseline(real.empty())
    for name, pool in _pools(ground, lineages, protocol):
        trial = Trial(0, lineages, real.empty(), pool, baseline, standing, 0)
        certificate, after = scene.stages.commitment.check(trial)
        # Whatever was decided, the next pool also comes first; what real rows alone
        # score is known now.
        standing = Standing(after.real, after.real)
        yield name, checked(trial, certificate, truth)


def _unasked(real: Table) -> Baseline:
    """Return a baseline for a rule that does not look at it."""
    nothing = np.zeros(len(real))
    return Baseline((), (), (), nothing, nothing)
