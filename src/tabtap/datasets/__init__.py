"""Small real tables that ship with the package, for demos and tests."""

from __future__ import annotations

from importlib.resources import as_file, files

import pandas as pd

__all__ = ["load_penguins"]


# ---- The Palmer penguins: 344 birds, mixed column types, real missing values.
#
# Collected by Kristen B. Gorman and the Palmer Station Long Term Ecological Research
# (LTER) Program and dedicated to the public domain (CC0 1.0).  The file is the one that
# the ``palmerpenguins`` package 0.1.6 carries, unchanged.


def load_penguins() -> pd.DataFrame:
    """Return the Palmer penguins as they were recorded, holes included.

    Returns
    -------
    DataFrame of shape (344, 8)
        ``species`` (the usual target: Adelie, Chinstrap or Gentoo), ``island``, four
        measurements, ``sex`` and ``year``.  Two birds were not measured; eleven,
        those two among them, have no recorded sex.

    Notes
    -----
    Source: Gorman KB, Williams TD, Fraser WR (2014), Ecological sexual dimorphism and
    environmental variability within a community of Antarctic penguins (genus
    Pygoscelis), PLoS ONE 9(3): e90081, https://doi.org/10.1371/journal.pone.0090081.

    Examples
    --------
    >>> birds = load_penguins()
    >>> birds["species"].value_counts().to_dict()
    {'Adelie': 152, 'Gentoo': 124, 'Chinstrap': 68}
    """
    with as_file(files("tabtap.datasets") / "penguins.csv") as path:
        return pd.read_csv(path)
