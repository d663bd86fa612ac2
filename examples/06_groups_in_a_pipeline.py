"""Cross-validate a pipeline that augments, with several rows of each patient.

Run it as a script.  Rows are added inside each fold, to its training part only, and no
patient stands on both sides: of the outer split, or of those inside a run.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from imblearn.pipeline import make_pipeline
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import GroupKFold, cross_validate

from tabtap import TabularAugmenter

N_PATIENTS = 24
N_VISITS = 4


def make_visits(rng: np.random.Generator) -> pd.DataFrame:
    """Return made-up patients who each come several times; some are sick."""
    sick = rng.random(N_PATIENTS) < 0.5
    own_pulse = rng.normal(70, 8, N_PATIENTS) + 10 * sick
    own_marker = rng.normal(1.0, 0.5, N_PATIENTS) + 1.0 * sick
    visits = np.repeat(np.arange(N_PATIENTS), N_VISITS)
    n_rows = len(visits)
    return pd.DataFrame(
        {
            "patient": [f"patient {number}" for number in visits],
            "pulse": own_pulse[visits] + rng.normal(0, 4, n_rows),
            "marker": own_marker[visits] + rng.normal(0, 0.3, n_rows),
            "fever": 36.8 + 0.5 * sick[visits] + rng.normal(0, 0.5, n_rows),
            "sick": np.where(sick[visits], "yes", "no"),
        }
    )


def main() -> None:
    """Score the booster with and without new rows, patients kept apart."""
    visits = make_visits(np.random.default_rng(0))
    X, y = visits.drop(columns="sick"), visits["sick"]
    booster = HistGradientBoostingClassifier(max_iter=50, random_state=0)
    measures = make_column_transformer(("passthrough", ["pulse", "marker", "fever"]))
    augmenter = TabularAugmenter(
        groups="patient", learner=booster, budget=60, preset="fast", random_state=0
    )
    pipelines = {
        "real rows alone": make_pipeline(measures, booster),
        "augmented": make_pipeline(augmenter, measures, booster),
    }

    print(f"{N_PATIENTS} patients, {N_VISITS} visits each, 2 folds of patients")
    for name, pipeline in pipelines.items():
        scores = cross_validate(
            pipeline,
            X,
            y,
            groups=visits["patient"],
            cv=GroupKFold(2),
            return_estimator=True,
        )
        shown = "  ".join(f"{score:.3f}" for score in scores["test_score"])
        print(f"{name:<16} {shown}   mean {scores['test_score'].mean():.3f}")
    for fold, fitted in enumerate(scores["estimator"]):
        result = fitted["tabularaugmenter"].result_
        print(f"fold {fold}: {result.verdict}, {len(result.synthetic)} rows added")


if __name__ == "__main__":
    main()
