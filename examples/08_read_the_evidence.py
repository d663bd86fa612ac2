"""Read where new rows come from and on what evidence, then verify and forget.

Run it as a script.  It writes one file, ``build/evidence/birds.tap``.
"""

from __future__ import annotations

from pathlib import Path

import tabtap
from tabtap.datasets import load_penguins
from tabtap.result import AugmentResult, verify

FOLDER = Path("build/evidence")


def show_certificates(result: AugmentResult) -> None:
    """Print what each commitment check found and decided."""
    print("pool  rows   real  after  at least  confidence  decision")
    for check in result.certificates:
        bound = check.over_real
        decision = "let in" if check.committed else "refused"
        print(
            f"{check.window:>4} {check.n_rows:>5} {check.score_real:>6.3f} "
            f"{check.score_after:>6.3f} {bound.lower:>9.3f} {bound.confidence:>11.0%}"
            f"  {decision}"
        )


def show_learners(result: AugmentResult) -> None:
    """Print the score of each learner before and after the first pool."""
    first = result.certificates[0]
    print("\nlearner    before  after")
    for name, after in first.learners_after.items():
        print(f"{name:<10} {first.learners_before[name]:>6.3f} {after:>6.3f}")


def show_provenance(result: AugmentResult) -> None:
    """Print the family of the real row with most descendants."""
    family = result.provenance.groupby("anchor_row").size().sort_values()
    if family.empty:
        print("\nNo rows were added, so none has an ancestor.")
        return
    row, n_children = int(family.index[-1]), int(family.iloc[-1])
    print(f"\nReal row {row} has {n_children} descendants.")
    less = result.forget(row)
    print(f"Without it and them:\n  {less}")
    for finding in verify(less):
        print(f"  {finding}")


def main() -> None:
    """Run, save, load, and read."""
    birds = load_penguins().dropna(subset=["sex"]).sample(60, random_state=1)
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / "birds.tap"
    tabtap.augment(birds, "sex", budget=150, preset="fast", random_state=0).save(path)

    result = tabtap.load(path)
    findings = verify(result)

    print(f"{result}: {findings or 'as certified'}\n")
    show_certificates(result)
    show_learners(result)
    show_provenance(result)


if __name__ == "__main__":
    main()
