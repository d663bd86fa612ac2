"""The paper's experiments: its tables, splits, grids, and what is read from records.

Needs the ``bench`` extra for the boosters: ``pip install "tabtap[bench]"``.
"""
