"""Proposals: an action becomes candidate rows, near real ones and with their label.

Equations 11 and 12 of the paper: ``anchors.py`` chooses where to start, ``columns.py``
and ``masks.py`` what is redrawn, and ``kernel.py`` asks the backbones for it.
"""

from tabtap.proposal.anchors import AnchorPool, choose_anchors
from tabtap.proposal.batches import InpainterStack
from tabtap.proposal.columns import important_by_lineage, important_columns
from tabtap.proposal.kernel import LineageProposer
from tabtap.proposal.masks import draw_masks, free_columns

__all__ = [
    "AnchorPool",
    "InpainterStack",
    "LineageProposer",
    "choose_anchors",
    "draw_masks",
    "free_columns",
    "important_by_lineage",
    "important_columns",
]
