"""One repetition of the paper's study: real rows, held-out rows, and a score.

What ``n_real`` means, by the name of the variant: ``study`` trains on all of them and
validates on a quarter as many more, which reproduces the paper's own figures for real
rows; ``literal`` takes the validation rows out of them, as the paper's text has it;
``grouped`` is ``study`` with rows that belong together on one side.

Classes keep their shares.  Rows of a regression table are drawn evenly, as the paper's
deviations say: with shares kept by target bin, splits differ a third as much.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tabtap.compare.predictors import mean_losses, score_parts, score_predictors
from tabtap.errors import UserInputError
from tabtap.rng import stream
from tabtap.table.schema import IntArray
from tabtap.table.split import MAX_TEST_ROWS, Split, allot, paper_split
from tabtap.table.table import Table, concat

VARIANTS = ("study", "literal", "grouped")


@dataclass(frozen=True, slots=True, eq=False)
class Repetition:
    """The three parts of a table that one repetition works with."""

    number: int
    real: Table
    validation: Table
    test: Table

    groups: IntArray | None = None
    """Whom each real row belongs to, where that is minded."""

    def score(
        self, synthetic: Table | None = None, names: Sequence[str] | None = None
    ) -> dict[str, dict[str, float]]:
        """Score predictors trained on the real rows and, if given, synthetic ones.

        As ``score_predictors``; regression errors are in the unit of the real training
        rows, whatever was added.
        """
        return self.score_both(synthetic, names)[0]

    def score_both(
        self, synthetic: Table | None = None, names: Sequence[str] | None = None
    ) -> tuple[dict[str, dict[str, float]], dict[str, dict[str, float]]]:
        """As ``score``, and the same predictors' scores on the validation rows."""
        asked = [self.test, self.validation]
        train = self.training(synthetic)
        if not len(self.validation):
            return score_predictors(train, self.test, names, reference=self.real), {}
        test, validation = score_parts(train, asked, names, reference=self.real)
        return test, validation

    def loss(
        self, synthetic: Table | None = None, names: Sequence[str] | None = None
    ) -> float:
        """Return the mean over predictors of their loss on the test rows.

        Equation 1: cross-entropy in nats, or the squared error of the target in the
        unit of the real rows.
        """
        train = self.training(synthetic)
        (found,) = mean_losses(train, [self.test], names, reference=self.real)
        return float(np.mean(list(found.values())))

    def training(self, synthetic: Table | None) -> Table:
        """Return the real rows and, if given, synthetic ones."""
        return self.real if synthetic is None else concat([self.real, synthetic])

    def renumbered(self) -> Repetition:
        """Return the same with real rows numbered from 0, as a user's are."""
        origin = np.arange(len(self.real), dtype=np.int64)
        return replace(self, real=replace(self.real, origin=origin))


def repetitions(
    table: Table, n_real: int, n_splits: int = 5, *, seed: int = 0
) -> Iterator[Repetition]:
    """Split a table again and again, as appendix D.1 of the paper does.

    Validation rows, a quarter as many, come on top of the ``n_real`` training rows.
    The test rows are the same for every ``n_real``.  Equal seeds give equal splits,
    whatever else is drawn.
    """
    for number in range(n_splits):
        yield repetition(table, n_real, number, seed=seed)


def repetition(
    table: Table,
    n_real: int,
    number: int,
    *,
    seed: int = 0,
    variant: str = "study",
    groups: IntArray | None = None,
) -> Repetition:
    """Return one repetition by its number.

    What ``n_real`` means depends on the variant, "study", "literal" or "grouped"; see
    the head of this module.  ``groups`` says whom each row belongs to; ``grouped``
    alone needs it.  Equal seeds give equal splits, whatever else is drawn.
    """
    rng = stream(seed, "split", number)
    split = _split(table, n_real, rng, variant, groups)
    return Repetition(
        number,
        table.take(split.train),
        table.take(split.validation),
        table.take(split.test),
        groups[split.train] if groups is not None and variant == "grouped" else None,
    )


def _split(
    table: Table,
    n_real: int,
    rng: np.random.Generator,
    variant: str,
    groups: IntArray | None,
) -> Split:
    condition = table.condition
    if table.schema.target is not None and table.schema.target.task == "regression":
        condition = np.zeros_like(condition)
    if variant != "grouped":
        inside = variant == "literal"
        return paper_split(condition, n_real, rng, validation_inside=inside)
    if groups is None:
        raise UserInputError(
            "variant='grouped' needs to know which rows belong together, and this "
            "table does not say. Use 'study'."
        )
    return grouped_split(condition, groups, n_real, rng)


# ---- A split of the study that keeps rows that belong together on one side.
#
# Fifteen rows of one mouse are nearly copies: a random split asks predictors about mice
# that they have seen.


def grouped_split(
    condition: IntArray,
    groups: IntArray,
    n_real: int,
    rng: np.random.Generator,
) -> Split:
    """Deal out test, training and validation rows, whole groups to one side.

    Shares are kept by ``condition``, the class code or target bin of every row.  Half
    of the groups are for testing: at most ``min(n_rows // 2, 500)`` of their rows.  The
    others give ``n_real`` training rows and a quarter as many for validation on top.
    """
    for_test = _half_of_groups(condition, groups, rng)
    n_test = min(len(condition) // 2, MAX_TEST_ROWS, int(for_test.sum()))
    test = _draw_rows(condition, np.flatnonzero(for_test), n_test, rng)
    rest = np.flatnonzero(~for_test)
    if not 2 <= n_real <= len(rest):
        raise UserInputError(
            f"n_real={n_real} is not usable: {len(rest)} rows are left beside the "
            f"groups that test. Use a number from 2 to {len(rest)}."
        )
    train = _draw_rows(condition, rest, n_real, rng)
    rest = np.setdiff1d(rest, train)
    n_validation = min(-(-n_real // 4), len(rest))
    validation = _draw_rows(condition, rest, n_validation, rng)
    return Split(train=train, validation=validation, test=test)


def _half_of_groups(
    condition: IntArray, groups: IntArray, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Return, for every row, whether its group is for testing; evenly by condition."""
    _, first, code = np.unique(groups, return_index=True, return_inverse=True)
    of_group = condition[first]
    chosen = np.zeros(len(first), dtype=np.bool_)
    for wanted in np.unique(of_group):
        members = rng.permutation(np.flatnonzero(of_group == wanted))
        # The odd one trains: a class that is only tested can never be right.
        chosen[members[: len(members) // 2]] = True
    return chosen[code]


def _draw_rows(
    condition: IntArray, rows: IntArray, n: int, rng: np.random.Generator
) -> IntArray:
    """Draw some of the rows, in the shares of their conditions."""
    present, code = np.unique(condition[rows], return_inverse=True)
    counts = np.bincount(code, minlength=len(present))
    quota = allot(counts, n, rng.random(len(present)), counts)
    picked = [
        rng.permutation(rows[code == index])[:size] for index, size in enumerate(quota)
    ]
    return rng.permutation(np.concatenate(picked))
