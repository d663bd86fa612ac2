"""Add rows that obey rules, and see how many were refused for breaking them.

Run it as a script.  Rules are what you know of every row; what they refuse never
reaches the table.
"""

from __future__ import annotations

import textwrap

from tabtap import augment
from tabtap.datasets import load_penguins
from tabtap.gates import Rules
from tabtap.table import read_frame

RULES = [
    "bill_depth_mm < bill_length_mm",
    "2500 <= body_mass_g <= 6500",
    "if species == 'Gentoo' then flipper_length_mm >= 200",
    "combination(species, island)",
]


def main() -> None:
    """Check the rules on the real rows, run, and check them on the new ones."""
    birds = load_penguins().dropna(subset=["sex"]).sample(60, random_state=1)
    broken = Rules.of(RULES).violations(read_frame(birds, "sex"))
    print(f"{len(RULES)} rules, {len(broken)} of them broken by real rows.")

    result = augment(
        birds, "sex", rules=RULES, budget=60, preset="fast", random_state=0
    )

    counts = result.waterfall
    print(f"\n{counts.proposed} rows proposed")
    for gate, n_refused in counts.refused.items():
        print(f"{n_refused:>6} refused by {gate}")
    print(f"{counts.delivered:>6} added\n")
    print(textwrap.fill(f"{result.verdict}: {result.why}", 79))
    bigger, _ = result.augmented()
    broken = Rules.of(RULES).violations(read_frame(bigger, "sex"))
    print(f"\nIn the larger table {len(broken)} rules are broken.")


if __name__ == "__main__":
    main()
