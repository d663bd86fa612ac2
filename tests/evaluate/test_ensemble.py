import numpy as np
import pytest

from tabtap.evaluate.evaluators import EnsembleEvaluator, ensemble_learners
from tabtap.evaluate.learners import answer_with


def test_probabilities_are_the_plain_mean_of_the_three(build_table):
    rng = np.random.default_rng(0)
    label = np.arange(20) % 2
    table = build_table(label, rng.normal(size=20) + label)

    mean = EnsembleEvaluator().predict([table], [table])[0].probabilities

    parts = answer_with(ensemble_learners("classification"), [table], [table])[0]
    assert list(parts) == ["forest", "linear", "network"]
    total = sum(part.probabilities for part in parts.values())
    assert mean == pytest.approx(total / 3)


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e6])
def test_the_unit_of_the_target_does_not_matter(build_table, unit):
    inputs = np.linspace(-2.0, 2.0, 30)
    table = build_table(unit * 3.0 * inputs, inputs)

    prediction = EnsembleEvaluator().predict([table], [table])[0].in_unit_of(table)

    # Within a tenth of a standard deviation, whatever the unit.
    assert np.sqrt(prediction.losses(table).mean()) < 0.1
