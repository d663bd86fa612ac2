"""Let a strong model teach the learner that you have to stay with.

Run it as a script.  A program runs boosted trees, and it is to stay; with leaves of
twenty rows they know little of forty birds.  A teacher of the same birds gives new rows
their sex.  The birds that are left out are the proof.
"""

from __future__ import annotations

import textwrap

import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from tabtap import augment
from tabtap.datasets import load_penguins

TARGET = "sex"


def errors(learner: object, rows: pd.DataFrame, unseen: pd.DataFrame) -> int:
    """Train on some rows; return how many unseen birds are taken for the other sex."""
    text = make_column_selector(dtype_include=["object", "string", "category"])
    prepare = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), text),
        remainder=StandardScaler(),
    )
    model = make_pipeline(prepare, learner)
    model.fit(rows.drop(columns=TARGET), rows[TARGET])
    return int((model.predict(unseen.drop(columns=TARGET)) != unseen[TARGET]).sum())


def main() -> None:
    """Have the learner taught, and compare it with its teacher on unseen birds."""
    birds = load_penguins().dropna()
    real = birds.sample(40, random_state=1)
    unseen = birds.drop(real.index)
    learner = HistGradientBoostingClassifier(max_iter=30, random_state=0)
    teacher = VotingClassifier(
        [
            ("linear", LogisticRegression(max_iter=1000)),
            ("trees", ExtraTreesClassifier(100, random_state=0)),
        ],
        voting="soft",
    )

    result = augment(
        real,
        TARGET,
        learner=learner,
        teacher=teacher,
        budget=300,
        preset="fast",
        random_state=0,
    )

    print(f"Who teaches: {result.about.teacher_why}")
    print(textwrap.fill(f"{result.verdict}: {result.why}", 79))
    if len(result.provenance):
        other = (result.provenance["target"] != result.provenance["asked_target"]).sum()
        print(f"\nRows whose target is another than they were drawn for: {other}")
    bigger, _ = result.augmented()
    print(f"\nErrors on the {len(unseen)} birds that were left out:")
    print(f"boosting, real rows alone    {errors(learner, real, unseen):>3}")
    print(f"boosting with new rows       {errors(learner, bigger, unseen):>3}")
    print(f"the teacher, real rows alone {errors(teacher, real, unseen):>3}")


if __name__ == "__main__":
    main()
