"""Equation 13: the plug-in loss is the mean over the hardest queries of D_t."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from stand_ins import Told, all_zero

from tabtap.config import UtilityConfig
from tabtap.domain import Lineages
from tabtap.evaluate import EstimatorEvaluator
from tabtap.evaluate.judging import FoldUtility


@pytest.mark.parametrize("fraction", [0.2, 0.5, 1.0])
def test_it_is_the_mean_loss_of_the_most_entropic_rows_of_every_fold(
    real, lineages, make_rows, answers_by_hand, fraction
):
    evaluator = EstimatorEvaluator(LogisticRegression())
    config = UtilityConfig(focus_fraction=fraction)
    committed = make_rows(0)

    baseline = FoldUtility(real, lineages, evaluator, config).baseline(committed)

    stated = answers_by_hand(committed)
    entropy = -(stated * np.log(stated)).sum(axis=1)
    hard = []
    for fold in range(5):
        rows = np.flatnonzero(lineages.fold == fold)  # six in each
        n_kept = int(np.ceil(fraction * 6))
        hard += rows[np.argsort(-entropy[rows])[:n_kept]].tolist()
    expected = -np.log(stated[hard, real.target[hard]]).mean()
    assert np.concatenate(baseline.fold_losses).mean() == pytest.approx(
        expected, rel=1e-4
    )


def test_the_hardest_regression_queries_are_those_with_the_largest_residuals(
    build_table,
):
    target = np.array([0.0, 5.0, -7.0, 1.0, 6.0, -2.0])
    real = build_table(target, np.zeros(6))

    lineages = Lineages(np.array([0, 0, 0, 1, 1, 1]), crossfit=False)
    config = UtilityConfig(n_folds=2, focus_fraction=0.2)

    baseline = FoldUtility(real, lineages, Told(all_zero), config).baseline(
        real.empty()
    )

    assert [rows.target.tolist() for rows in baseline.focus] == [[-7.0], [6.0]]
