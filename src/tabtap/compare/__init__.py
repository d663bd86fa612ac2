"""Augmentation methods compared: predictors, controls, fidelity and source tables.

Needs the ``bench`` extra for the boosters and for SMOTE: ``pip install
"tabtap[bench]"``.
"""
