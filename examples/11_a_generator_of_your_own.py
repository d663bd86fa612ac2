"""Make rows with a generator of your own: cells are borrowed from birds of one sex.

Run it as a script.  A copy of the object is fitted for each part of the rows that
judges, without that part; what it makes passes the same gates and the same test.
"""

from __future__ import annotations

import textwrap

import numpy as np
from numpy.typing import NDArray

from tabtap import augment
from tabtap.datasets import load_penguins
from tabtap.table import Table


class BorrowedCells:
    """Takes the redrawn cells of a row from another row of the same class."""

    def fit(self, rows: Table, rng: np.random.Generator) -> BorrowedCells:
        """Learn the rows that one lineage may see; the rng is for those who train."""
        del rng
        self.rows = rows
        return self

    def inpaint(
        self, anchors: Table, regenerate: NDArray[np.bool_], rng: np.random.Generator
    ) -> Table:
        """Return the anchors with the chosen cells redrawn, and no others."""
        known = self.rows.condition
        lenders = [rng.choice(np.flatnonzero(known == c)) for c in anchors.condition]
        lent = self.rows.take(np.array(lenders))
        return anchors.redrawn(regenerate, lent.numeric, lent.categorical)


def main() -> None:
    """Run with the generator, and say what came of it."""
    birds = load_penguins().dropna().sample(60, random_state=1)

    result = augment(
        birds,
        "sex",
        inpainter=BorrowedCells(),
        budget=40,
        preset="fast",
        random_state=0,
    )

    made = result.about.settings["own_parts"]["inpainter"]
    print(f"{made} proposed {result.waterfall.proposed} rows.")
    print(textwrap.fill(f"{result.verdict}: {result.why}", 79))


if __name__ == "__main__":
    main()
