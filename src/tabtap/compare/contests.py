"""Runs a contest on one's own table from its cells to its ranking."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence

from tabtap.compare.cells import Terms
from tabtap.compare.clusters import Cluster
from tabtap.compare.own_table import Comparison, Contest, summarise
from tabtap.compare.run import RunObserver, run_cells
from tabtap.compare.store import Store


def run_contest(
    contest: Contest,
    methods: Sequence[str],
    terms: Terms | None = None,
    *,
    cluster: Cluster | None = None,
    observer: RunObserver | None = None,
) -> Comparison:
    """Let methods compete on a table.

    Parameters
    ----------
    contest : Contest
        Rows to train on and to test on.
    methods : sequence of str
        Names from the catalogue of methods; real rows alone always compete.
    terms : Terms, optional
        Budget and seed.
    cluster : Cluster, optional
        Where the work is done; by default in processes of this machine.
    observer : RunObserver, optional
        Told of every cell as it comes back.

    Returns
    -------
    Comparison
        All methods, the smallest loss first.
    """
    target = contest.table.schema.target
    if target is None:
        raise AssertionError("a contest has a target")
    named = ["Real", *(name for name in methods if name != "Real")]
    cells = contest.cells(named, terms or Terms())
    with tempfile.TemporaryDirectory(prefix="tabtap-compare-") as folder:
        store = Store(folder)
        run_cells(cells, contest.work(), store, cluster=cluster, observer=observer)
        records = list(store.records())
        return summarise(records, target.task, contest.asked_groups)
