"""Augmentation methods compared: predictors, controls, fidelity and source tables.

Reads from: table, rng, errors.  Read by: study, cli, benchmarks.

Needs the ``bench`` extra for the boosters and for SMOTE: ``pip install
"tabtap[bench]"``.
"""
