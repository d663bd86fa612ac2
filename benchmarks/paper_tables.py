"""The paper's tables, read once per process.

Read by: usefulness, fidelity.
"""

from __future__ import annotations

from functools import lru_cache

from tabtap.study.sources import load_source
from tabtap.table import Table, read_frame


@lru_cache(maxsize=2)
def load_table(name: str) -> Table:
    """Read one of the paper's tables, with the categories its publisher declares."""
    source = load_source(name)
    kinds = dict.fromkeys(source.categorical, "category")
    return read_frame(source.frame, source.target, task=source.task, kinds=kinds)
