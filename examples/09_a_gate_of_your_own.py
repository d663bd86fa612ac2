"""Refuse rows by a gate of your own: no bird may be heavier than any of its kind.

Run it as a script.  A gate is an object with a name and ``passes``; it sees the rows
that its lineage has seen, and answers with one bool per candidate.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tabtap import augment
from tabtap.datasets import load_penguins
from tabtap.domain import GateContext
from tabtap.table import Table, write_frame


class NoGiants:
    """Refuses birds heavier than every real one of their species and sex."""

    name = "no_giants"

    def passes(self, candidates: Table, context: GateContext) -> NDArray[np.bool_]:
        """Return one verdict per row, from the real rows that may be looked at."""
        real, rows = write_frame(context.real), write_frame(candidates)
        heaviest = real["body_mass_g"].groupby(real["species"] + real["sex"]).max()
        limit = (rows["species"] + rows["sex"]).map(heaviest)
        return ~(rows["body_mass_g"] > limit).to_numpy(dtype=bool)


def main() -> None:
    """Run with the gate, and show what each gate refused."""
    birds = load_penguins().dropna().sample(60, random_state=1)

    result = augment(
        birds, "sex", gates=[NoGiants()], budget=40, preset="fast", random_state=0
    )

    print(f"{result.waterfall.proposed} rows proposed")
    for gate, n_refused in result.waterfall.refused.items():
        print(f"{n_refused:>6} refused by {gate}")
    print(f"{result.waterfall.delivered:>6} added")


if __name__ == "__main__":
    main()
