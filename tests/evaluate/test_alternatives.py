import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from tabtap.domain import Lineages
from tabtap.evaluate import EstimatorEvaluator, PanelEvaluator
from tabtap.evaluate.alternatives import Tried, alternatives
from tabtap.evaluate.evaluators import PANEL
from tabtap.evaluate.judging import FoldReferee
from tabtap.evaluate.metric import metric_of

N_ROWS = 30


@pytest.fixture(autouse=True)
def no_weights(monkeypatch):
    monkeypatch.setattr("tabtap.evaluate.weights.weights_path", lambda _: None)


@pytest.fixture
def referee(build_table):
    rng = np.random.default_rng(0)
    label = np.arange(N_ROWS) % 2
    real = build_table(label, label + 0.3 * rng.normal(size=N_ROWS))
    lineages = Lineages(rng.permutation(np.arange(N_ROWS) % 3), crossfit=True)

    def make(evaluator=None):
        evaluator = evaluator or PanelEvaluator(share=2 / 3, is_mean=False)
        return FoldReferee(real, lineages, evaluator, metric_of("score"))

    return make


def test_the_best_learner_alone_the_stack_and_where_weights_are_got(referee):
    made = referee()
    scores = made.scores(made.real.empty())

    found = alternatives(made, scores)

    best = max(scores.learner_means(), key=scores.learner_means().get)
    assert [one.name for one in found] == [f"{best} alone", "stack", "tabpfn-v1"]
    assert found[0].score.value == pytest.approx(scores.learner_means()[best])
    assert found[0].figure == "accuracy"
    assert found[-1].value is None
    assert "weights fetch" in found[-1].note


def test_numbers_have_an_in_context_model_too(build_table):
    rng = np.random.default_rng(0)
    values = rng.normal(size=N_ROWS)
    real = build_table(values, values + 0.3 * rng.normal(size=N_ROWS))
    lineages = Lineages(np.arange(N_ROWS) % 3, crossfit=True)
    panel = PanelEvaluator(share=2 / 3, is_mean=False)
    made = FoldReferee(real, lineages, panel, metric_of("score"))

    last = alternatives(made, made.scores(real.empty()))[-1]

    assert last.name == "tabpfn-v2"
    assert "tabtap weights fetch tabpfn-v2-regressor" in last.note


def test_nobody_is_asked_twice(referee, monkeypatch):
    made = referee()
    scores = made.scores(made.real.empty())
    monkeypatch.setattr(FoldReferee, "scores", lambda *_: pytest.fail("asked again"))

    assert alternatives(made, scores)


def test_who_named_a_learner_hears_of_it_and_of_the_best(referee):
    made = referee(EstimatorEvaluator(LogisticRegression(C=1e-4), name="mine"))

    names = [a.name for a in alternatives(made, made.scores(made.real.empty()))]

    assert "mine alone" in names
    assert names[0].removesuffix(" alone") in PANEL


def test_a_booster_is_also_tried_with_leaves_for_few_rows(referee):
    booster = HistGradientBoostingClassifier(min_samples_leaf=20, max_iter=10)
    made = referee(EstimatorEvaluator(booster, name="mine"))

    found = {a.name: a for a in alternatives(made, made.scores(made.real.empty()))}

    finer = found["mine min_samples_leaf=5 alone"]
    assert finer.score.value > found["mine alone"].score.value
    assert "min_samples_leaf=5 on your rows alone" in finer.words


def test_what_is_beaten_comes_after_the_cheapest_that_is_not(referee):
    made = referee(EstimatorEvaluator(LogisticRegression(C=1e-4), name="mine"))
    perfect = np.eye(2)[made.real.target][None]
    with_rows = Tried("mine with new rows", "Train.", np.ones(N_ROWS), perfect)

    found = alternatives(made, made.scores(made.real.empty()), with_rows)

    names = [one.name for one in found]
    by_name = {one.name: one for one in found}
    assert by_name["mine with new rows"].is_enough
    assert by_name["mine with new rows"].value.value == 1.0
    assert not by_name["mine alone"].is_enough
    assert names.index("mine alone") > names.index("mine with new rows")


def test_a_simple_learner_that_does_as_well_stands_before_the_best(referee):
    made = referee()
    scores = made.scores(made.real.empty())
    truth = np.eye(2)[made.real.target][None]
    sure = np.random.default_rng(1).uniform(0.6, 1.0, N_ROWS)[None, :, None]

    def tried(linear):
        network = truth * sure + (1 - truth) * (1 - sure)
        said = {"linear": linear, "network": network}
        answers = {name: said.get(name, np.full_like(truth, 0.5)) for name in PANEL}
        by_learner = {
            name: 1.0 - 0.5 * ((a[0] - truth[0]) ** 2).sum(axis=1)
            for name, a in answers.items()
        }
        found = alternatives(made, type(scores)(by_learner, answers))
        names = [one.name for one in found]
        return [name for name in names if name in ("linear alone", "network alone")]

    turned = sure[:, ::-1]  # as sure as the other on the whole, of other rows
    as_good = truth * turned + (1 - truth) * (1 - turned) - 1e-6
    once_wrong = as_good.copy()
    once_wrong[0, 0] = once_wrong[0, 0, ::-1]  # a thirtieth of the accuracy

    assert tried(as_good) == ["linear alone", "network alone"]
    assert tried(once_wrong) == ["network alone"]


def test_advised_learners_are_described(referee):
    made = referee()

    found = alternatives(made, made.scores(made.real.empty()))

    assert "scikit-learn" in found[0].described


def test_a_stack_of_one_good_learner_follows_it(referee):
    made = referee()
    scores = made.scores(made.real.empty())
    good = np.eye(2)[made.real.target][None] * 0.9 + 0.05
    bad = np.full_like(good, 0.5)
    answers = {name: good if name == "forest" else bad for name in scores.answers}
    made_up = type(scores)(
        {k: 1 - 0.5 * ((a[0] - np.eye(2)[made.real.target]) ** 2).sum(axis=1)
         for k, a in answers.items()},
        answers,
    )  # fmt: skip

    stack = next(a for a in alternatives(made, made_up) if a.name == "stack")

    assert stack.value.value == 1.0
    assert stack.score.value > 0.9
