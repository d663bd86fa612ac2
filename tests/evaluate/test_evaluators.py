import sys

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

from tabtap.domain import ClassPrediction, ValuePrediction
from tabtap.errors import UserInputError
from tabtap.evaluate import EstimatorEvaluator
from tabtap.evaluate.evaluators import (
    BOOSTERS,
    EnsembleEvaluator,
    HoldoutEvaluator,
    PanelEvaluator,
    PanelPrediction,
    booster,
    ensemble_learners,
    holdout_learners,
    panel_learners,
)
from tabtap.evaluate.learners import answer_with, encode
from tabtap.table.table import concat

# ---- One estimator.


def test_it_is_called_by_its_class_or_as_the_user_says():
    assert EstimatorEvaluator(LogisticRegression()).name == "LogisticRegression"
    assert EstimatorEvaluator(LogisticRegression(), name="mine").name == "mine"


@pytest.mark.parametrize("wrong", [LogisticRegression, "forest", None])
def test_what_is_not_an_estimator_is_refused(wrong):
    with pytest.raises(UserInputError, match="unfitted scikit-learn estimator"):
        EstimatorEvaluator(wrong)


def test_more_informative_contexts_lower_the_loss(build_table):
    rng = np.random.default_rng(0)
    label = rng.integers(2, size=300)
    table = build_table(label, rng.normal(size=300) + 2.0 * label)
    queries = table.take(np.arange(200, 300))
    few, many = table.take(np.arange(6)), table.take(np.arange(200))

    small, large = EstimatorEvaluator(LogisticRegression()).predict(
        [few, many], [queries, queries]
    )

    assert large.losses(queries).mean() < small.losses(queries).mean()


# ---- The panel.


MEMBERS = ["linear", "neighbors", "forest", "boosting", "small_leaves", "network"]
BOTH = ("boosting", "small_leaves")


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


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_no_optional_package_changes_the_panel(task):
    for learner in panel_learners(task).values():
        assert type(learner).__module__.startswith("sklearn.")


def test_the_leaves_of_both_boosters_shrink_with_the_share_of_rows():
    leaves = [
        [panel_learners("regression", share)[name].min_samples_leaf for name in BOTH]
        for share in (1.0, 0.8)
    ]

    assert leaves == [[20, 5], [16, 4]]


def test_some_members_answer_as_they_do_among_all(build_table):
    table = build_table(np.arange(20) % 2, np.linspace(0.0, 1.0, 20))

    whole = PanelEvaluator().predict([table], [table])[0]
    forest = PanelEvaluator().only(["forest"])

    (member,) = forest.predict([table], [table])[0].members.values()
    assert member.probabilities == pytest.approx(whole.members["forest"].probabilities)
    assert forest.name == "forest"
    assert PanelEvaluator().name == "panel"
    assert PanelEvaluator(is_mean=False).name == "best"


@pytest.mark.parametrize(
    ("n_rows", "n_copies", "splits"),
    [(36, 1, False), (40, 1, True), (36, 2, True)],
    ids=["cannot split 36 rows", "splits 40", "copies of the 36 revive it"],
)
def test_the_booster_has_the_leaves_of_those_that_people_train(
    build_table, n_rows, n_copies, splits
):
    label = np.arange(n_rows) % 2
    table = build_table(label, label + np.linspace(0.0, 0.1, n_rows))
    context = concat([table] * n_copies)

    prediction = PanelEvaluator().predict([context], [table])[0]

    found = prediction.members["boosting"].of_label(table)
    if splits:
        assert found.min() > 0.9
    else:
        assert found == pytest.approx(0.5)


# ---- The ensemble.


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


# ---- The learner that the paper holds out.


def test_it_is_the_linear_model_of_the_paper():
    classifier = holdout_learners("classification")["linear"]
    regressor = holdout_learners("regression")["linear"]

    assert isinstance(classifier, LogisticRegression)
    assert (classifier.max_iter, classifier.random_state) == (500, 42)
    assert isinstance(regressor, Ridge)
    assert (regressor.alpha, regressor.random_state) == (1.0, 42)


def test_the_gain_of_added_rows_is_the_fall_of_the_validation_loss(build_table):
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=60)
    table = build_table(inputs + 0.1 * rng.normal(size=60), inputs)
    real, validation = table.take(np.arange(5)), table.take(np.arange(40, 60))
    more = table.take(np.arange(40))

    before, after = (
        prediction.in_unit_of(real)
        for prediction in HoldoutEvaluator().predict(
            [real, more], [validation, validation]
        )
    )

    gain = np.mean(before.losses(validation) - after.losses(validation))
    errors = []
    for context in (real, more):
        seen, (unseen,) = encode(context, [validation])
        model = Ridge(alpha=1.0).fit(seen, context.target_values)
        error = model.predict(unseen) - validation.target_values
        errors.append(np.mean((error / real.target_values.std()) ** 2))
    assert gain == pytest.approx(errors[0] - errors[1])
    assert gain > 0


# ---- Boosters.


@pytest.mark.parametrize("name", BOOSTERS)
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_a_booster_is_of_its_package_and_for_the_task(name, task):
    pytest.importorskip(name)

    learner = booster(name, task)

    assert type(learner).__module__.startswith(name)
    ending = "Classifier" if task == "classification" else "Regressor"
    assert type(learner).__name__.endswith(ending)


@pytest.mark.parametrize("name", BOOSTERS)
def test_a_package_that_is_not_there_is_named_with_the_way_to_get_it(name, monkeypatch):
    monkeypatch.setitem(sys.modules, name, None)

    with pytest.raises(
        UserInputError, match=r"referee='.*pip install 'tabtap\[bench\]"
    ):
        booster(name, "regression")
