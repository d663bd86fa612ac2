"""The section on where the rows lie: a map, the columns, and how they go together."""

from __future__ import annotations

import numpy as np

from tabtap.fidelity import measure_closeness
from tabtap.report.blocks import Block, Section
from tabtap.report.column_shapes import column_changes, shapes_block
from tabtap.report.relations_map import measure_relations, relation_blocks
from tabtap.report.rows_map import map_block
from tabtap.result import AugmentResult


def where_section(result: AugmentResult) -> Section:
    """Show where real and synthetic rows lie.

    Parameters
    ----------
    result : AugmentResult
        Any run.  Without synthetic rows the section is about the real ones.
    """
    near = measure_closeness(result.real, result.delivered.rows)
    blocks: list[Block] = [map_block(result, near)]
    order = _columns(result)
    has_new = len(result.delivered) > 0
    if has_new and order:
        changes = column_changes(result)
        blocks.append(shapes_block(result, changes))
        order = changes.order
    relations = measure_relations(result, order)
    blocks.extend(relation_blocks(relations, has_new=has_new))
    lead = (
        "Synthetic rows should lie where real ones could: in the same region, with the "
        "same shapes of columns, and with columns that go together in the same way."
        if has_new
        else "No rows were added, so this is how the real rows lie."
    )
    return Section("rows", "Where the rows lie", lead, tuple(blocks))


def _columns(result: AugmentResult) -> list[int]:
    """Return the places of the generated columns, the target last."""
    schema = result.real.schema
    places = np.sort(np.concatenate([schema.numeric, schema.categorical]))
    target = [] if schema.target is None else [-1]
    return [*(int(place) for place in places), *target]
