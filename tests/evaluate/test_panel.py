import importlib.util

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier

from tabtap.domain import ClassPrediction, ValuePrediction
from tabtap.evaluate import evaluators
from tabtap.evaluate.evaluators import PanelEvaluator, PanelPrediction, panel_learners
from tabtap.table.table import concat

MEMBERS = ["linear", "neighbors", "forest", "boosting"]


@pytest.fixture
def two(build_table):
    queries = build_table([0, 1], np.zeros(2))
    sure = ClassPrediction(np.array([[0.9, 0.1], [0.8, 0.2]]))
    unsure = ClassPrediction(np.array([[0.5, 0.5], [0.4, 0.6]]))
    return PanelPrediction({"sure": sure, "unsure": unsure}), queries


@pytest.mark.parametrize("ask", ["losses", "scores", "hardness"])
def test_figures_are_means_over_the_members(two, ask):
    prediction, queries = two

    figure = getattr(prediction, ask)(queries)

    parts = [getattr(m, ask)(queries) for m in prediction.members.values()]
    assert figure == pytest.approx((parts[0] + parts[1]) / 2)


def test_uncertainty_is_that_of_the_averaged_prediction():
    certain_but_at_odds = PanelPrediction(
        {
            "one": ClassPrediction(np.array([[1.0, 0.0]])),
            "other": ClassPrediction(np.array([[0.0, 1.0]])),
        }
    )

    assert certain_but_at_odds.uncertainty() == pytest.approx([np.log(2)])


def test_every_member_is_restated_in_the_unit_of_the_real_rows(build_table):
    real = build_table([0.0, 4.0], np.zeros(2))  # deviation 2
    member = ValuePrediction(np.array([2.0, 2.0]), np.zeros(2))

    prediction = PanelPrediction({"it": member}).in_unit_of(real)

    assert prediction.losses(real) == pytest.approx([1.0, 1.0])
    assert prediction.members["it"].losses(real) == pytest.approx([1.0, 1.0])


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_its_members_are_learners_that_people_train(task):
    assert list(panel_learners(task)) == MEMBERS


def test_scikit_learn_boosts_where_lightgbm_is_not_installed(monkeypatch):
    monkeypatch.setattr(evaluators, "find_spec", lambda _: None)

    booster = panel_learners("classification")["boosting"]

    assert isinstance(booster, HistGradientBoostingClassifier)


@pytest.mark.parametrize("has_lightgbm", [True, False])
@pytest.mark.parametrize(
    ("n_rows", "n_copies", "splits"),
    [(36, 1, False), (40, 1, True), (36, 2, True)],
    ids=["cannot split 36 rows", "splits 40", "copies of the 36 revive it"],
)
def test_the_booster_has_the_leaves_of_those_that_people_train(
    build_table, monkeypatch, has_lightgbm, n_rows, n_copies, splits
):
    if has_lightgbm:
        pytest.importorskip("lightgbm")
    spec = importlib.util.find_spec("sklearn") if has_lightgbm else None
    monkeypatch.setattr(evaluators, "find_spec", lambda _: spec)
    label = np.arange(n_rows) % 2
    table = build_table(label, label + np.linspace(0.0, 0.1, n_rows))
    context = concat([table] * n_copies)

    prediction = PanelEvaluator().predict([context], [table])[0]

    found = prediction.members["boosting"].of_label(table)
    if splits:
        assert found.min() > 0.9
    else:
        assert found == pytest.approx(0.5)
