"""Rows dealt out: the paper's train, validation and test rows, and folds.

Everything here is by row number and by condition (class code or target bin), so it
neither sees nor copies a table.  Sizes are exact and no class that could be had is
lost: a rare class is given its training row before the shares are rounded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tabtap.errors import UserInputError, bad_setting
from tabtap.rng import stream
from tabtap.table.schema import BoolArray, FloatArray, IntArray

MAX_TEST_ROWS = 500
"""Most rows the paper holds out for testing."""


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """Row numbers of three disjoint parts of one table, each in random order."""

    train: IntArray
    validation: IntArray
    test: IntArray


def paper_split(
    condition: IntArray,
    n_real: int,
    rng: np.random.Generator,
    *,
    validation_inside: bool = False,
) -> Split:
    """Deal out the rows of one repetition of the paper's study (appendix D.1).

    ``condition`` is the class code or target bin of every row; shares are kept by it,
    and every class keeps a row for training where ``n_real``, the real rows a method
    may learn from, allows.  There are ``min(n_rows // 2, 500)`` test rows, the same
    ones at every ``n_real`` for equal seeds.  Validation rows are a quarter as many as
    ``n_real``, on top of it; with ``validation_inside`` they are a fifth of ``n_real``
    (the paper read literally).  A table too small for all has fewer of them.

    Examples
    --------
    >>> split = paper_split(np.repeat([0, 1], [90, 10]), 10, np.random.default_rng(0))
    >>> len(split.train), len(split.validation), len(split.test)
    (10, 3, 50)
    """
    classes, code = np.unique(condition, return_inverse=True)
    counts = np.bincount(code, minlength=len(classes))
    n_test = min(len(code) // 2, MAX_TEST_ROWS)
    _check_n_real(n_real, len(code) - n_test)
    n_validation = n_real // 5 if validation_inside else -(-n_real // 4)
    n_train = n_real - n_validation if validation_inside else n_real
    luck = rng.random(len(classes))

    spare = np.maximum(counts - 1, 0)
    test = allot(counts, n_test, luck, spare if spare.sum() >= n_test else counts)
    left = counts - test
    train = allot(left, n_train, luck, left, every_class=True)
    left = left - train
    rest = allot(left, min(n_validation, int(left.sum())), luck, left)

    parts = _deal(code, np.stack([test, train, rest]), rng)
    return Split(train=parts[1], validation=parts[2], test=parts[0])


def allot(
    weights: ArrayLike,
    total: int,
    luck: FloatArray,
    at_most: IntArray | None = None,
    *,
    every_class: bool = False,
) -> IntArray:
    """Share a whole number among classes by largest remainder.

    All arrays have shape (n_classes,).  Shares are proportional to ``weights`` and sum
    to ``total`` exactly, for which the limits ``at_most`` must leave room.  The larger
    ``luck``, in [0, 1), wins a tie.  With ``every_class`` each class with weight gets
    at least 1, if ``total`` reaches so far.

    Examples
    --------
    >>> allot([990, 10], 20, np.zeros(2), every_class=True)
    array([19,  1])
    """
    weight = np.asarray(weights, dtype=np.float64)
    present = weight > 0
    top = np.full(len(weight), total) if at_most is None else at_most
    top = np.where(present, top, 0)
    enough = every_class and total >= present.sum()
    least = np.minimum(present, top) if enough else np.zeros_like(top)
    ideal = total * weight / max(float(weight.sum()), np.finfo(np.float64).tiny)
    share = np.clip(np.floor(ideal).astype(np.int64), least, top)
    while (gap := total - int(share.sum())) != 0:
        step = 1 if gap > 0 else -1
        able = share < top if step > 0 else share > least
        share[_neediest(step * (ideal - share), able, luck)] += step
    return share


RARE = 0.25
"""A class with less than this share of the most frequent one's rows is rare."""


def even_sample(condition: IntArray, n_rows: int, rng: np.random.Generator) -> IntArray:
    """Return the numbers of some rows of a larger table, ascending.

    ``condition`` is the class code or target bin of every row.  A rare class is kept
    whole, as far as an equal share of ``n_rows`` goes; the others keep their shares of
    the rest.

    Examples
    --------
    >>> condition = np.repeat([0, 1, 2], [10, 900, 90])
    >>> np.bincount(condition[even_sample(condition, 60, np.random.default_rng(0))])
    array([10, 30, 20])
    """
    _, code, counts = np.unique(condition, return_inverse=True, return_counts=True)
    is_rare = counts < RARE * counts.max()
    quota = np.where(is_rare, np.minimum(counts, n_rows // len(counts)), 0)
    others = np.where(is_rare, 0, counts)
    left = min(n_rows - int(quota.sum()), int(others.sum()))
    quota = quota + allot(others, left, rng.random(len(counts)), others)
    return np.sort(_deal(code, quota[None], rng)[0])


def folds(
    condition: IntArray,
    n_folds: int,
    rng: np.random.Generator,
    groups: ArrayLike | None = None,
) -> IntArray:
    """Give every row a fold, numbered from 0; none is empty.

    ``condition`` is the class code or target bin of every row.  The folds' sizes and
    their counts of any one class differ by at most one row.  Rows of equal group stay
    in one fold; then sizes and counts differ as little as a greedy placement of whole
    groups, largest first, achieves.

    Examples
    --------
    >>> fold = folds(np.repeat([0, 1], [6, 4]), 2, np.random.default_rng(0))
    >>> np.bincount(fold), np.bincount(fold[:6])
    (array([5, 5]), array([3, 3]))
    """
    _check_n_folds(n_folds, len(condition), "rows")
    if groups is not None:
        return _group_folds(np.asarray(condition), n_folds, rng, np.asarray(groups))
    shuffled = rng.permutation(len(condition))
    by_class = shuffled[np.argsort(np.asarray(condition)[shuffled], kind="stable")]
    fold = np.empty(len(condition), dtype=np.int64)
    # Dealt like cards, class after class: every count is even to within one.
    fold[by_class] = rng.permutation(n_folds)[np.arange(len(condition)) % n_folds]
    return fold


def cut_rows(
    condition: IntArray,
    n_folds: int,
    groups: ArrayLike | None = None,
    number: int = 0,
) -> IntArray:
    """Give every row a fold, alike in every run; ``number`` counts further cuts.

    No seed moves it: how rows are cut moves a verdict as much as what is drawn, and of
    both only the latter is what a user asks for with another seed (DECISIONS, 70).
    """
    rng = stream(0, "folds", *([number] if number else []))
    return folds(condition, n_folds, rng, groups)


def _group_folds(
    condition: IntArray,
    n_folds: int,
    rng: np.random.Generator,
    groups: NDArray[Any],
) -> IntArray:
    names, group = np.unique(groups, return_inverse=True)
    _check_n_folds(n_folds, len(names), "groups")
    classes, code = np.unique(condition, return_inverse=True)
    content = np.zeros((len(names), len(classes)))
    np.add.at(content, (group, code), 1.0)
    size = content.sum(axis=1)
    full = -(-len(code) // n_folds)
    rarity = 1.0 / content.sum(axis=0)
    held = np.zeros((n_folds, len(classes)))
    fold_of = np.empty(len(names), dtype=np.int64)
    for number in np.lexsort((rng.random(len(names)), -size)):
        overflow = np.maximum(held.sum(axis=1) + size[number] - full, 0)
        crowding = held @ (rarity * content[number])
        best = np.lexsort((held.sum(axis=1), crowding, overflow))[0]
        held[best] += content[number]
        fold_of[number] = best
    return fold_of[group]


def _deal(code: IntArray, quota: IntArray, rng: np.random.Generator) -> list[IntArray]:
    """Return row numbers per part; ``quota`` has shape (n_parts, n_classes)."""
    shuffled = rng.permutation(len(code))
    parts: list[list[IntArray]] = [[] for _ in quota]
    for label in range(quota.shape[1]):
        rows = shuffled[code[shuffled] == label]
        stops = np.cumsum(quota[:, label])
        for part, rows_of_class in zip(parts, np.split(rows, stops)[:-1], strict=True):
            part.append(rows_of_class)
    return [rng.permutation(np.concatenate(part)) for part in parts]


def _neediest(need: FloatArray, able: BoolArray, luck: FloatArray) -> int:
    # Rounded, so that equal remainders are a tie for luck and not for the last bit.
    rank = np.lexsort((luck, np.where(able, np.round(need, 9), -np.inf)))
    return int(rank[-1])


def _check_n_real(n_real: int, n_left: int) -> None:
    if n_real < 2:
        raise bad_setting("n_real", n_real, "be at least 2", "Try 20.")
    if n_real > n_left:
        raise bad_setting(
            "n_real",
            n_real,
            f"be at most the {n_left} rows left beside the test rows",
            f"Use {n_left} or less, or a larger table.",
        )


def _check_n_folds(n_folds: int, n_units: int, unit: str) -> None:
    if n_folds < 2:
        raise bad_setting("n_folds", n_folds, "be at least 2", "Try 5.")
    if n_folds > n_units:
        fix = "Add rows." if n_units < 2 else f"Use {n_units} or fewer."
        raise UserInputError(
            f"n_folds={n_folds} is not usable: there are only {n_units} {unit} to "
            f"share out and no fold may be empty. {fix}"
        )
