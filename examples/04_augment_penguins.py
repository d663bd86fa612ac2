"""Add rows to sixty penguins, if rows are shown to help, and look whether they did.

Run it with ``make demo``, or as a script.  The sex of a bird is to be told from its
measures.  The birds that are left out know nothing of the run: they are the proof.
"""

from __future__ import annotations

import textwrap
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

from tabtap import augment
from tabtap.datasets import load_penguins
from tabtap.errors import EvaluatorFallbackWarning
from tabtap.evaluate import PanelEvaluator
from tabtap.table import read_frame

N_REAL = 60
FOLDER = Path("build/demo")


def panel_scores(
    real: pd.DataFrame, added: pd.DataFrame, unseen: pd.DataFrame
) -> dict[str, float]:
    """Train each learner of the panel with some rows added; score the unseen birds."""
    table = read_frame(pd.concat([real, added, unseen], ignore_index=True), "sex")
    n_known = len(real) + len(added)
    queries = table.take(np.arange(n_known, len(table)))
    (answer,) = PanelEvaluator().predict([table.take(np.arange(n_known))], [queries])
    scores = {name: m.scores(queries) for name, m in answer.members.items()}
    return {name: float(np.mean(score)) for name, score in scores.items()}


def main() -> None:
    """Run, say what came of it, write the table, and check it on unseen birds."""
    birds = load_penguins().dropna(subset=["sex"]).reset_index(drop=True)
    real = birds.sample(N_REAL, random_state=1)
    unseen = birds.drop(real.index)

    print(f"\n{N_REAL} birds of {len(birds)}: may rows be added to learn their sex?")
    with warnings.catch_warnings():
        # Which evaluator stands in for which is in the result.
        warnings.simplefilter("ignore", EvaluatorFallbackWarning)
        result = augment(real, "sex", budget=300, random_state=0, verbose=1)
    print("\n" + textwrap.fill(f"{result.verdict}: {result.why}", 79))

    FOLDER.mkdir(parents=True, exist_ok=True)
    bigger, _ = result.augmented()
    bigger.to_csv(FOLDER / "penguins_augmented.csv", index=False)
    result.save(FOLDER / "penguins.tap")
    print(f"\nWritten to {FOLDER}: penguins_augmented.csv, penguins.tap")

    print(f"\nMean score on the {len(unseen)} birds that were left out:")
    before = panel_scores(real, real.iloc[:0], unseen)
    after = panel_scores(real, result.synthetic, unseen)
    print("learner      real rows  with added")
    for name in before:
        print(f"{name:<12} {before[name]:>9.3f} {after[name]:>11.3f}")


if __name__ == "__main__":
    main()
