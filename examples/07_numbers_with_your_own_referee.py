"""Predict a number, and let the learner that will be trained decide.

Run it as a script.  The mass of a penguin is to be told from its other measures; the
birds that are left out are the proof.
"""

from __future__ import annotations

import textwrap

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from tabtap import augment
from tabtap.datasets import load_penguins

TARGET = "body_mass_g"


def error(learner: object, rows: pd.DataFrame, unseen: pd.DataFrame) -> float:
    """Return the root mean squared error on unseen rows, in grams."""
    text = make_column_selector(dtype_include=["object", "string", "category"])
    prepare = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), text),
        remainder="passthrough",
    )
    model = make_pipeline(prepare, learner)
    model.fit(rows.drop(columns=TARGET), rows[TARGET])
    missed = model.predict(unseen.drop(columns=TARGET)) - unseen[TARGET]
    return float(np.sqrt(np.mean(missed**2)))


def main() -> None:
    """Run about a booster, and train it with and without the new rows."""
    birds = load_penguins().dropna()
    real = birds.sample(40, random_state=2)
    unseen = birds.drop(real.index)
    booster = HistGradientBoostingRegressor(max_iter=50, random_state=0)

    result = augment(
        real, TARGET, learner=booster, budget=100, preset="fast", random_state=0
    )

    print(f"{len(real)} birds; the learner is {result.about.referee}.\n")
    print(textwrap.fill(f"{result.verdict}: {result.why}", 79))
    bigger, _ = result.augmented()
    print(f"\nError on the {len(unseen)} birds that were left out, in grams:")
    print(f"real rows alone {error(booster, real, unseen):>6.0f}")
    print(f"with new rows   {error(booster, bigger, unseen):>6.0f}")


if __name__ == "__main__":
    main()
