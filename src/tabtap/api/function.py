"""One call for people who have one table."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from tabtap.api.augmenter import TabularAugmenter
from tabtap.result import AugmentResult


def augment(
    frame: Any,  # noqa: ANN401
    target: Hashable,
    **settings: Any,  # noqa: ANN401
) -> AugmentResult:
    """Augment a table that holds its target.

    Parameters
    ----------
    frame : pandas.DataFrame, polars.DataFrame or 2-d array
        Features and target of the real rows.
    target : column name
        The column to be predicted.
    **settings
        As for ``TabularAugmenter``.

    Returns
    -------
    AugmentResult
        ``result.augmented()`` is the larger table, ``result.verdict`` and
        ``result.why`` say whether and why to use it.

    Examples
    --------
    >>> from tabtap.datasets import load_penguins
    >>> birds = load_penguins().dropna().iloc[::8]
    >>> augment(birds, "species", budget=0, random_state=0).verdict
    'no_gain'
    """
    return TabularAugmenter(**settings).fit_table(frame, target)
