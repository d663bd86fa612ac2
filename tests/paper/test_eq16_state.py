"""Equations 16 and 35: the state is (deficit, uncertainty, pass rates, novelty)."""

import numpy as np
import pytest

from tabtap.domain import TEMPLATES, Template
from tabtap.policy import (
    PassRates,
    novelty_of,
    read_state,
    uncertainty_by_target,
    wanted_mixture,
)
from tabtap.table.distance import DistanceScale, typical_gap


@pytest.fixture
def state(build_table):
    """Sense one small scene whose state is known by hand."""
    real = build_table([0, 0, 0, 1], np.array([0.0, 1.0, 2.0, 3.0]))
    committed = build_table([1, 0], np.array([8.0, 9.0])).take(np.array([0]))
    pool = build_table([1, 0], np.array([8.0, 12.0]))
    scale = DistanceScale.of(real)
    real_counts = np.bincount(real.condition, minlength=2)
    entropy = np.log(2) * np.array([0.2, 0.4, 0.6, 0.9])
    rates = PassRates().updated(Template.EXPLORE, 0, 6)
    return read_state(
        real_counts,
        np.bincount(committed.condition, minlength=2),
        wanted_mixture("balanced", real_counts),
        uncertainty_by_target(entropy, real.condition, 2, n_classes=2),
        rates.updated(Template.CONSERVATIVE, 6, 6),
        novelty_of(pool, committed, real, scale, typical_gap(real, scale)),
    )


def test_the_deficit_counts_real_and_committed_rows_together(state):
    # 3 rows of one class and 1 + 1 of the other, where halves are wanted.
    assert state.deficit == pytest.approx([0.5 - 3 / 5, 0.5 - 2 / 5])


def test_the_uncertainty_is_the_evaluator_s_on_the_target_s_rows(state):
    assert state.uncertainty == pytest.approx([0.4, 0.9])


def test_the_gate_statistic_is_the_recent_pass_rate_of_each_template(state):
    rates = dict(zip(TEMPLATES, state.pass_rate, strict=True))

    assert rates[Template.EXPLORE] == 1 / 8
    assert rates[Template.CONSERVATIVE] == 7 / 8


def test_the_diversity_score_is_the_pool_s_distance_from_committed_rows(state):
    # 0 and 4 gaps from the committed row at 8: 2 on average, squashed to 2 / 3.
    assert state.novelty == pytest.approx(2 / 3)


def test_the_network_reads_the_four_parts_in_the_paper_s_order(state):
    parts = [state.deficit, state.uncertainty, state.pass_rate, [state.novelty]]

    assert state.vector().tolist() == np.concatenate(parts).tolist()
