"""Equations 18 and 38: what is admitted is what every gate lets pass, and no other."""

import numpy as np
import pytest

from tabtap.config import AugmentConfig
from tabtap.domain import Candidates, ClassPrediction, GateContext
from tabtap.gates import Gates, standard_gates


@pytest.fixture
def scene(build_table):
    """Give forty real rows, and as many candidates of which some break each rule."""
    rng = np.random.default_rng(0)
    real = build_table(np.arange(40) % 2, rng.normal(size=40), rng.normal(size=40))
    cells = rng.normal(scale=1.5, size=(2, 40))
    cells[:, :4] = [real.cells[0][:4], real.cells[1][:4]]  # copies
    rows = build_table(np.arange(40) % 2, *cells)
    own = rng.random(40)
    stated = np.where((np.arange(40) % 2 == 0)[:, None], [[1, 0]], [[0, 1]])
    probabilities = np.where(stated == 1, own[:, None], 1 - own[:, None])
    redrawn = np.ones((40, 2), dtype=bool)
    candidates = Candidates(rows, redrawn, np.arange(40))
    hardness = np.zeros(40)
    context = GateContext(real, real.empty(), ClassPrediction(probabilities), hardness)
    return candidates, context


def test_s_is_the_candidates_for_which_g_is_1(scene):
    candidates, context = scene
    gates = standard_gates(AugmentConfig.paper().gates)

    admitted = Gates(gates).admit(candidates, context).admitted

    # G(x) row by row: 1 where no gate says 0 to the row alone.
    alone = [
        all(_verdict(gate, candidates, context, row) for gate in gates)
        for row in range(len(candidates))
    ]
    assert admitted.step.tolist() == np.flatnonzero(alone).tolist()
    assert 0 < len(admitted) < len(candidates)


def _verdict(gate, candidates, context, row):
    one = np.array([row])
    own = GateContext(
        context.real, context.kept, context.prediction.take(one), context.residuals
    )
    return bool(gate.passes(candidates.rows.take(one), own)[0])


def test_range_and_label_of_the_paper_are_among_what_is_asked(scene):
    candidates, context = scene
    gates = standard_gates(AugmentConfig.paper().gates)

    admitted = Gates(gates).admit(candidates, context).admitted

    low, high = np.quantile(context.real.numeric, (0.01, 0.99), axis=0)
    kept = admitted.rows.numeric
    assert ((kept >= low) & (kept <= high)).all()
    likely = context.prediction.of_label(candidates.rows)[admitted.step]
    assert likely.min() >= 0.3
    assert (likely - (1 - likely)).min() >= 0.1
