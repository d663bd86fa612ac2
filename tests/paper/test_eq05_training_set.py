"""Equation 5: D_t is the real rows and the committed ones."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from tabtap.config import AugmentConfig
from tabtap.domain import Lineages
from tabtap.evaluate import EstimatorEvaluator
from tabtap.evaluate.judging import FoldUtility


def sorted_rows(*tables):
    rows = [np.column_stack([*t.cells, t.target]) for t in tables]
    return sorted(map(tuple, np.concatenate(rows)))


def test_every_fold_is_answered_by_all_of_it_but_the_fold(real, lineages, make_rows):
    committed = make_rows(0, n_rows=150)
    evaluator = EstimatorEvaluator(LogisticRegression())
    settings = AugmentConfig.paper().utility
    utility = FoldUtility(real, lineages, evaluator, settings)

    contexts = utility.baseline(committed).contexts

    for fold, context in enumerate(contexts):
        rest = real.take(lineages.fold == fold)
        assert sorted_rows(context, rest) == sorted_rows(real, committed)


@pytest.mark.parametrize("fold", range(5))
def test_with_crossfit_each_lineage_has_a_training_set_of_its_own(make_rows, fold):
    lineages = Lineages(np.arange(30) % 5, crossfit=True)
    mine = make_rows(0).with_origin(unseen_fold=fold)
    other = make_rows(1).with_origin(unseen_fold=(fold + 1) % 5)

    held = [lineages.held_by(fold, rows) for rows in (mine, other)]

    assert [len(rows) for rows in held] == [8, 0]
