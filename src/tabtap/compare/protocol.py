"""One repetition of the paper's study: real rows, held-out rows, and a score.

Reads from: rng, table, compare.predictors.  Read by: study, benchmarks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tabtap.compare.predictors import score_predictors
from tabtap.rng import stream
from tabtap.table.split import paper_split
from tabtap.table.table import Table, concat


@dataclass(frozen=True, slots=True, eq=False)
class Repetition:
    """The three parts of a table that one repetition works with."""

    number: int
    real: Table
    validation: Table
    test: Table

    def score(
        self, synthetic: Table | None = None, names: Sequence[str] | None = None
    ) -> dict[str, dict[str, float]]:
        """Score predictors trained on the real rows and, if given, synthetic ones.

        Parameters
        ----------
        synthetic : Table, optional
            Rows added to the real training rows.
        names : sequence of str, optional
            Predictors to use; all of the task's by default.

        Returns
        -------
        dict of str to dict of str to float
            As ``score_predictors``.  Regression errors are in the unit of the real
            training rows, whatever was added.
        """
        train = self.real if synthetic is None else concat([self.real, synthetic])
        return score_predictors(train, self.test, names, reference=self.real)


def repetitions(
    table: Table, n_real: int, n_splits: int = 5, *, seed: int = 0
) -> Iterator[Repetition]:
    """Split a table again and again, as appendix D.1 of the paper does.

    Parameters
    ----------
    table : Table
        All rows there are.
    n_real : int
        Real training rows; validation rows, a quarter as many, come on top.
    n_splits : int, default=5
        How many repetitions.
    seed : int, default=0
        Equal seeds give equal splits, whatever else is drawn.

    Yields
    ------
    Repetition
        The same test rows for every ``n_real``.
    """
    for number in range(n_splits):
        split = paper_split(table.condition, n_real, stream(seed, "split", number))
        yield Repetition(
            number,
            table.take(split.train),
            table.take(split.validation),
            table.take(split.test),
        )
