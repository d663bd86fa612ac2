"""Table 4, gating: clipping quantiles, p_min and margin, residual percentile, distance.

Each value is shown to be where the verdict changes, not only to be stored.
"""

from dataclasses import replace

import numpy as np
import pytest

from tabtap.config import AugmentConfig
from tabtap.domain import Candidates, ClassPrediction, GateContext, ValuePrediction
from tabtap.gates import admit, standard_gates


@pytest.fixture(scope="module")
def gates():
    paper = standard_gates(AugmentConfig.paper().gates)
    return {gate.name: gate for gate in paper}


def orphans(table):
    return replace(table, origin=np.full(len(table), -1))


def test_the_gates_are_those_of_appendix_c24_in_its_order(gates):
    assert list(gates) == ["types", "range", "plausibility", "diversity"]


def test_numeric_clipping_quantiles_are_001_and_099(gates, make_table):
    real = make_table(np.arange(1001.0))  # q01 = 10 and q99 = 990
    asked = orphans(make_table([9.99, 10.0, 990.0, 990.01]))

    verdict = gates["range"].passes(asked, GateContext(real, real.empty()))

    assert verdict.tolist() == [False, True, True, False]


def test_classification_p_min_is_03(gates, build_table):
    rows = build_table([0, 0], np.zeros(2))
    told = ClassPrediction(np.array([[0.3, 0.0], [0.299, 0.0]]))

    verdict = gates["plausibility"].passes(rows, GateContext(rows, rows.empty(), told))

    assert verdict.tolist() == [True, False]


def test_classification_margin_is_01(gates, build_table):
    rows = build_table([0, 0, 0], np.zeros(3))
    told = ClassPrediction(np.array([[0.55, 0.45], [0.549, 0.451], [0.45, 0.55]]))

    verdict = gates["plausibility"].passes(rows, GateContext(rows, rows.empty(), told))

    assert verdict.tolist() == [True, False, False]


def test_regression_residual_percentile_is_95(gates, build_table):
    real = build_table([-1.0, 1.0], np.zeros(2))  # mean 0, standard deviation 1
    residuals = np.arange(0.0, 1.01, 0.01)  # its 95th percentile is 0.95
    rows = build_table([0.949, 0.951], np.zeros(2))
    told = ValuePrediction(np.zeros(2), np.ones(2))

    context = GateContext(real, real.empty(), told, residuals)
    verdict = gates["plausibility"].passes(rows, context)

    assert verdict.tolist() == [True, False]


def test_diversity_threshold_is_01_of_the_typical_gap(gates, make_table):
    real = make_table(np.arange(0.0, 100.0, 5.0))  # one gap is 5, a tenth of it 0.5

    asked = make_table([50.499, 50.501, 49.499, 49.501])
    verdict = gates["diversity"].passes(asked, GateContext(real, real.empty()))

    assert verdict.tolist() == [False, True, True, False]


def test_the_admitted_set_is_the_rows_that_every_gate_passes(gates, build_table):
    real = build_table([0, 1] * 50, np.arange(100.0))
    asked = orphans(build_table([0, 1, 0, 1, 0], np.array([0.1, 7.5, 8.0, 9.5, 11.5])))
    told = ClassPrediction(
        np.array([[0.9, 0.1], [0.1, 0.9], [0.9, 0.1], [0.8, 0.2], [0.6, 0.4]])
    )
    context = GateContext(real, real.empty(), told)
    proposed = Candidates(asked, np.ones((5, 1), dtype=bool), np.arange(5))

    admission = admit(proposed, context, tuple(gates.values()))

    passed = [gate.passes(asked, context) for gate in gates.values()]
    expected = np.flatnonzero(np.logical_and.reduce(passed))
    assert admission.admitted.step.tolist() == expected.tolist() == [1, 4]
    assert admission.refused == {
        "types": 0,
        "range": 1,
        "plausibility": 1,
        "diversity": 1,
    }
