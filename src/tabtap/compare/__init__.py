"""Methods compared on one's own table, and the runner for such work and the study's.

Needs the ``bench`` extra for the boosters and for SMOTE: ``pip install
"tabtap[bench]"``.
"""
