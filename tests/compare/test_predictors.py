import sys

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, log_loss

from tabtap.compare.predictors import (
    CLASSIFIERS,
    REGRESSORS,
    mean_losses,
    mean_score,
    score_parts,
    score_predictors,
)
from tabtap.errors import UserInputError
from tabtap.evaluate.learners import encode


@pytest.fixture
def blobs(build_table):
    """Three classes far apart: any predictor that learns gets them right."""

    def make(n_rows, seed=0):
        rng = np.random.default_rng(seed)
        label = np.arange(n_rows) % 3
        return build_table(label, label * 10.0 + rng.normal(size=n_rows), label)

    return make


@pytest.fixture
def line(build_table):
    def make(n_rows, slope=1.0):
        x = np.linspace(-1.0, 1.0, n_rows)
        return build_table(slope * x, x)

    return make


def test_the_paper_has_six_classifiers_and_four_regressors():
    assert set(CLASSIFIERS) == {"LR", "KNN", "MLP", "RF", "XGB", "LGBM"}
    assert set(REGRESSORS) == {"KNN", "RF", "XGB", "LGBM"}


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("LR", {"max_iter": 1000, "random_state": 42}),
        ("KNN", {"n_neighbors": 5}),
        ("MLP", {"hidden_layer_sizes": (100,), "max_iter": 500, "random_state": 42}),
        ("RF", {"n_estimators": 100, "random_state": 42}),
        ("XGB", {"n_estimators": 100, "random_state": 42}),
        ("LGBM", {"n_estimators": 100, "random_state": 42}),
    ],
)
@pytest.mark.parametrize("known", [CLASSIFIERS, REGRESSORS], ids=["class", "number"])
def test_predictors_have_the_settings_of_the_paper(known, name, settings):
    if name not in known:
        assert name in {"LR", "MLP"}
        return

    found = known[name](100).get_params()

    assert {key: found[key] for key in settings} == settings


def test_every_classifier_learns_three_distant_classes(blobs):
    scores = score_predictors(blobs(120), blobs(30, seed=1))

    assert set(scores) == set(CLASSIFIERS)
    assert all(score["accuracy"] > 0.9 for score in scores.values())


def test_every_regressor_learns_a_line(line):
    scores = score_predictors(line(200), line(51))

    assert all(score["rmse"] < 0.1 for score in scores.values())


def test_classes_absent_from_training_count_as_errors(blobs):
    train = blobs(120)
    train = train.take(train.target != 0)  # leaves labels 1 and 2, a gap at 0

    scores = score_predictors(train, blobs(30, seed=1))

    # Labels 1 and 2 make up two thirds of the test rows and stay distant.
    assert all(0.6 < s["accuracy"] <= 2 / 3 for s in scores.values())


def test_a_single_class_in_training_is_always_predicted(blobs):
    train = blobs(30)
    train = train.take(train.target == 1)

    scores = score_predictors(train, blobs(30))

    # Precision 1/3 and recall 1 for the one class, nothing for the other two.
    expected = {"accuracy": pytest.approx(1 / 3), "macro_f1": pytest.approx(0.5 / 3)}
    assert scores == dict.fromkeys(CLASSIFIERS, expected)


@pytest.mark.parametrize("n_rows", [1, 2, 3])
def test_a_handful_of_rows_is_enough_to_train_on(blobs, line, n_rows):
    classified = score_predictors(blobs(n_rows), blobs(9))
    regressed = score_predictors(line(n_rows), line(9))

    assert len(classified) == 6
    assert all(np.isfinite(score["rmse"]) for score in regressed.values())


def test_macro_f1_is_scikit_learns(build_table, rng):
    label = rng.integers(3, size=90)
    noisy = build_table(label, label + rng.normal(size=90))
    train, test = noisy.take(np.arange(60)), noisy.take(np.arange(60, 90))

    scores = score_predictors(train, test, ["KNN"])

    x = (noisy.numeric - train.numeric.mean()) / train.numeric.std()
    model = CLASSIFIERS["KNN"](60)
    model.fit(x[:60], label[:60])
    expected = f1_score(label[60:], model.predict(x[60:]), average="macro")
    assert scores["KNN"]["macro_f1"] == pytest.approx(expected)


def test_regression_errors_are_in_units_of_the_reference_rows(line):
    wide = line(40, slope=10.0)

    own = score_predictors(wide, wide, ["KNN"])
    real = score_predictors(wide, wide, ["KNN"], reference=line(40))

    assert real["KNN"]["rmse"] == pytest.approx(10 * own["KNN"]["rmse"])
    assert real["KNN"]["mae"] == pytest.approx(10 * own["KNN"]["mae"])


def test_a_constant_regression_target_is_predicted_without_error(build_table):
    flat = build_table(np.full(30, 7.0), np.arange(30.0))

    scores = score_predictors(flat, flat)

    assert all(score["rmse"] == pytest.approx(0.0) for score in scores.values())


def test_only_the_named_predictors_are_used(blobs):
    assert list(score_predictors(blobs(12), blobs(3), ["RF", "LR"])) == ["RF", "LR"]


def test_an_unknown_predictor_is_refused_by_name(blobs):
    with pytest.raises(UserInputError, match=r"called SVM\. Choose from LR, KNN"):
        score_predictors(blobs(12), blobs(3), ["LR", "SVM"])


def test_an_empty_test_table_is_refused(blobs):
    with pytest.raises(UserInputError, match="12 training rows and 0 test rows"):
        score_predictors(blobs(12), blobs(3).empty())


def test_a_missing_booster_names_the_extra_that_installs_it(blobs, monkeypatch):
    monkeypatch.setitem(sys.modules, "lightgbm", None)

    with pytest.raises(UserInputError, match=r'lightgbm.*"tabtap\[bench\]"'):
        score_predictors(blobs(12), blobs(3), ["LGBM"])


def test_the_mean_is_taken_over_predictors():
    scores = {"LR": {"accuracy": 0.5}, "RF": {"accuracy": 1.0}}

    assert mean_score(scores, "accuracy") == 0.75


def test_predictors_trained_once_score_each_part_as_if_asked_about_it_alone(blobs):
    train, parts = blobs(30), [blobs(12, seed=1), blobs(7, seed=2)]

    scores = score_parts(train, parts, ["LR", "KNN", "RF"])

    alone = [score_predictors(train, part, ["LR", "KNN", "RF"]) for part in parts]
    assert scores == alone


def test_the_loss_of_a_classifier_is_the_cross_entropy_of_what_it_states(blobs):
    train, test = blobs(30), blobs(15, seed=1)

    (losses,) = mean_losses(train, [test], ["LR"])

    seen, (asked,) = encode(train, [test])
    model = LogisticRegression(max_iter=1000, random_state=42).fit(seen, train.target)
    by_hand = log_loss(test.target, model.predict_proba(asked), labels=[0, 1, 2])
    assert losses == {"LR": pytest.approx(by_hand)}


def test_a_class_that_was_never_seen_costs_what_impossible_things_cost(blobs):
    train, test = blobs(30), blobs(15, seed=1)
    known = train.take(train.target < 2)

    (whole,), (part,) = (mean_losses(t, [test], ["KNN"]) for t in (train, known))
    (single,) = mean_losses(train.take(train.target == 0), [test], ["KNN"])

    assert part["KNN"] == pytest.approx(whole["KNN"] - np.log(1e-6) / 3, abs=0.2)
    assert single["KNN"] == pytest.approx(-np.log(1e-6) * 2 / 3)


def test_the_loss_of_a_regressor_is_its_squared_error_in_the_unit_of_the_reference(
    line,
):
    train, test = line(40), line(11)

    (losses,) = mean_losses(train, [test], ["KNN"], reference=line(40, slope=2.0))

    (scores,) = score_parts(train, [test], ["KNN"], reference=line(40, slope=2.0))
    assert losses["KNN"] == pytest.approx(scores["KNN"]["rmse"] ** 2)
    assert losses["KNN"] > 0
