"""Teachers: who labels drawn rows, and that none has seen what it may not."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeRegressor

from tabtap.domain import Candidates, ClassPrediction, Lineages, ValuePrediction
from tabtap.errors import TeacherConditionWarning, UserInputError
from tabtap.evaluate import teachers
from tabtap.evaluate.teachers import (
    CONDITION,
    AnswerTime,
    IndicatorEvaluator,
    Teacher,
    TeacherLabeller,
    average,
    choose_teacher,
    stack_learners,
    time_answers,
)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def line(build_table, rng):
    """Thirty rows on a line, y = 3 x, with a column that means nothing."""
    x = np.linspace(-1.0, 1.0, 30)
    return build_table(3.0 * x, x, rng.normal(size=30))


@pytest.fixture
def classes(build_table, rng):
    """Thirty rows of two classes that one column tells apart."""
    x = np.r_[rng.normal(-2, 0.3, 15), rng.normal(2, 0.3, 15)]
    return build_table(np.repeat([0, 1], 15), x)


def candidates_of(table, rows, unseen_fold):
    part = table.take(np.asarray(rows))
    part = part.with_origin(unseen_fold=unseen_fold)
    return Candidates(part, part.missing < 0, np.zeros(len(part), np.int64))


def one(learner, name="one"):
    return Teacher(name, {name: learner})


def test_a_drawn_number_is_replaced_by_the_teachers_answer(line):
    lineages = Lineages(np.arange(30) % 3, crossfit=True)
    labeller = TeacherLabeller.of(one(LinearRegression()), line, lineages)
    drawn = candidates_of(line, [3, 17], unseen_fold=1)
    asked = np.array([40.0, -40.0])
    drawn = Candidates(drawn.rows.with_target(asked), drawn.regenerate, drawn.step)

    taught = labeller.label(drawn)

    assert taught.rows.target == pytest.approx(line.target[[3, 17]])
    assert taught.asked.tolist() == asked.tolist()
    assert np.isfinite(taught.scores["teacher"]).all()


def test_a_taught_number_stays_within_the_real_ones(line, build_table):
    lineages = Lineages(np.arange(30) % 3, crossfit=True)
    labeller = TeacherLabeller.of(one(LinearRegression()), line, lineages)
    far = candidates_of(build_table([0.0], [9.0], [0.0]), [0], unseen_fold=0)

    assert labeller.label(far).rows.target.max() <= line.target.max()


def test_the_most_likely_class_is_taken_and_its_probability_kept(classes):
    lineages = Lineages(np.arange(30) % 3, crossfit=True)
    labeller = TeacherLabeller.of(one(KNeighborsClassifier(3)), classes, lineages)
    wrong = candidates_of(classes, [2, 20], unseen_fold=0)
    asked = 1 - wrong.rows.target
    wrong = Candidates(
        _with_target(wrong.rows, asked), wrong.regenerate, wrong.step, {}
    )

    taught = labeller.label(wrong)

    assert taught.rows.target.tolist() == [0, 1]
    assert taught.scores["teacher"].tolist() == [1.0, 1.0]


def _with_target(rows, target):
    return replace(rows, target=target.astype(rows.target.dtype))


def test_no_teacher_has_seen_the_fold_of_its_lineage(build_table, rng):
    # A tree remembers what it saw: a fold that it did not see, it cannot know.
    table = build_table(rng.normal(size=20), np.arange(20.0))
    lineages = Lineages(
        np.stack([np.arange(20) % 4, np.arange(20) // 5]), crossfit=True
    )
    labeller = TeacherLabeller.of(one(DecisionTreeRegressor()), table, lineages)

    for member, context in zip(lineages.members, labeller.fitted.contexts, strict=True):
        hidden = set(lineages.asked(member).tolist())
        assert hidden.isdisjoint(context.origin.tolist())
    answers = labeller.cross_fitted(table)
    for member, answer in zip(lineages.members, answers, strict=True):
        truth = table.target[lineages.asked(member)]
        assert not np.isin(answer.mean, truth).any()


def test_rows_of_each_lineage_get_the_answer_of_their_own_teacher(build_table):
    table = build_table(np.array([0.0, 0.0, 9.0, 9.0]), np.zeros(4))
    lineages = Lineages(np.array([0, 0, 1, 1]), crossfit=True)
    labeller = TeacherLabeller.of(one(LinearRegression()), table, lineages)
    both = Candidates.joined(
        [candidates_of(table, [0], 1), candidates_of(table, [0], 0)]
    )

    # Lineage 1 has seen zeros only, lineage 0 nines only.
    assert labeller.label(both).rows.target.tolist() == [0.0, 9.0]


def test_a_bad_member_does_no_harm_where_errors_weigh(line):
    useless = {"good": LinearRegression(), "bad": DecisionTreeRegressor(max_depth=1)}
    even = Teacher("even", useless).fit([line])
    weighed = Teacher("weighed", useless, is_weighted=True).fit([line])

    errors = [
        np.abs(fitted.predict([line])[0].mean - line.target).mean()
        for fitted in (even, weighed)
    ]

    assert even.weights.tolist() == [[0.5, 0.5]]
    assert weighed.weights[0, 0] > 0.99
    assert errors[1] < 0.1 * errors[0]


def test_rows_of_one_group_stay_together_where_members_are_weighed(build_table, rng):
    # Each row twice: a tree that meets a row's twin looks perfect, on noise.
    x, y = rng.normal(size=20), rng.normal(size=20)
    table = build_table(np.tile(y, 2), np.tile(x, 2))
    members = {
        "tree": DecisionTreeRegressor(),
        "stump": DecisionTreeRegressor(max_depth=1),
    }
    teacher = Teacher("both", members, is_weighted=True)

    told = teacher.fit([table], [np.tile(np.arange(20), 2)]).weights
    untold = teacher.fit([table]).weights

    assert told[0, 0] < 0.5 < untold[0, 0]


def test_the_average_of_numbers_knows_that_its_parts_disagree():
    parts = [ValuePrediction(np.array([m]), np.array([1.0])) for m in (0.0, 4.0)]

    mixed = average(parts, np.array([0.75, 0.25]))

    assert mixed.mean.tolist() == [1.0]
    assert mixed.variance.tolist() == [1.0 + 0.75 * 1.0 + 0.25 * 9.0]


def test_a_large_table_is_learned_from_an_even_sample(build_table, monkeypatch):
    monkeypatch.setattr(teachers, "MOST_ROWS", 10)
    table = build_table(np.repeat([0, 1], [90, 10]), np.arange(100.0))

    (context,) = one(KNeighborsClassifier(1)).fit([table]).contexts

    assert len(context) == 10
    assert np.bincount(context.target).tolist() == [9, 1]


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_the_stack_has_what_every_installation_has(task):
    members = stack_learners(task, 100)

    assert {"linear", "forest", "extra trees", "boosting", "network"} <= set(members)
    assert ("gaussian process" in members) == (task == "regression")


def test_a_gaussian_process_teaches_only_where_it_is_affordable():
    assert "gaussian process" not in stack_learners("regression", 501)


def test_none_is_no_teacher(line):
    assert choose_teacher("none", line, "regression").teacher is None


def test_auto_names_who_teaches(line):
    chosen = choose_teacher("auto", line, "regression")

    assert chosen.name == "stack"
    assert chosen.teacher.is_weighted
    assert "gaussian process" in chosen.why
    assert chosen.condition == ""


def test_names_may_be_several(line):
    chosen = choose_teacher(["linear", "forest"], line, "regression")

    assert chosen.name == "linear + forest"
    assert chosen.teacher.members == ("linear", "forest")


def test_any_estimator_teaches(line):
    chosen = choose_teacher(LinearRegression(), line, "regression")

    assert chosen.name == "LinearRegression"
    assert "LinearRegression()" in chosen.teacher.described["LinearRegression"]


@pytest.mark.parametrize("wrong", ["forrest", ["forest", "nobody"], 7, []])
def test_an_unknown_teacher_is_told_with_the_names_there_are(line, wrong):
    with pytest.raises(UserInputError, match="teacher="):
        choose_teacher(wrong, line, "regression")


def test_a_teacher_whose_licence_asks_something_says_so_before_the_run(
    line, monkeypatch
):
    stub = _NumberModel()
    monkeypatch.setattr(teachers, "_evaluator", lambda *given: stub)  # noqa: ARG005

    with pytest.warns(TeacherConditionWarning, match="begin its name with"):
        chosen = choose_teacher("tabpfn-v2", line, "regression")

    assert chosen.condition == CONDITION


class _NumberModel:
    """Answers with the mean of the context's rows that share the query's only cell."""

    name = "tabpfn-v2"

    def predict(self, contexts, queries):
        return [self._answer(*pair) for pair in zip(contexts, queries, strict=True)]

    def _answer(self, context, asked):
        same = context.cells[0] == asked.cells[0][:, None]
        mean = (same * context.target).sum(axis=1) / same.sum(axis=1)
        return ValuePrediction(mean, np.zeros(len(mean)))


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ([0, 0, 0, 1], [[0.75, 0.25]]),
        ([0, 1, 2, 2], [[0.25, 0.25, 0.5]]),
    ],
    ids=["two classes", "three classes"],
)
def test_a_model_of_numbers_is_asked_for_each_classs_indicator(
    build_table, labels, expected
):
    context = build_table(np.array(labels), np.zeros(4))

    (answer,) = IndicatorEvaluator(_NumberModel()).predict(
        [context], [context.take(np.array([0]))]
    )

    assert isinstance(answer, ClassPrediction)
    assert answer.probabilities == pytest.approx(np.array(expected))


class _Clock:
    """Time that passes only while a model answers."""

    def __init__(self):
        self.now = 0.0

    def perf_counter(self):
        return self.now


class _SlowModel:
    """Takes 0.5 seconds, and 0.01 for each row that it reads; the first time 9 more."""

    def __init__(self, clock, name="tabpfn-v2"):
        self.clock, self.name, self.n_calls, self.contexts = clock, name, 0, []

    def predict(self, contexts, queries):
        n_rows = sum(map(len, [*contexts, *queries]))
        self.clock.now += 0.5 + 0.01 * n_rows + (9.0 if not self.n_calls else 0.0)
        self.n_calls += 1
        self.contexts += map(len, contexts)
        return [None for _ in contexts]


@pytest.fixture
def clock(monkeypatch):
    clock = _Clock()
    monkeypatch.setattr(teachers, "time", clock)
    return clock


def test_a_slow_model_is_timed_by_small_questions(line, clock, monkeypatch):
    monkeypatch.setattr(teachers, "ENOUGH_TIMING", 99.0)
    model = _SlowModel(clock)

    found = time_answers(Teacher("slow", {}, (model,)), line, n_folds=5)

    assert set(model.contexts) == {24}  # four folds of five
    assert found.per_call == pytest.approx(0.5 + 0.24)
    assert found.per_row == pytest.approx(0.01)
    assert found.seconds(n_calls=10, n_rows=6400) == pytest.approx(71.4)


def test_who_has_taken_long_already_is_not_timed_again(line, clock):
    model = _SlowModel(clock)  # its first answer takes ten seconds

    time_answers(Teacher("slow", {}, (model,)), line, n_folds=5)

    assert model.n_calls == 3  # the first, and one of each question


def test_a_delay_on_a_busy_machine_is_not_taken_for_the_model(line, clock, monkeypatch):
    monkeypatch.setattr(teachers, "ENOUGH_TIMING", 9999.0)
    model = _SlowModel(clock)
    answer = model.predict

    def delayed(contexts, queries):
        clock.now += 50.0 if model.n_calls in (2, 3) else 0.0
        return answer(contexts, queries)

    model.predict = delayed

    found = time_answers(Teacher("slow", {}, (model,)), line, n_folds=5)

    assert found.per_row == pytest.approx(0.01)


def test_time_for_a_large_context_grows_with_its_rows(build_table, clock):
    table = build_table(np.arange(1000.0), np.arange(1000.0))
    model = _SlowModel(clock)

    found = time_answers(Teacher("slow", {}, (model,)), table, n_folds=5)

    assert set(model.contexts) == {200}
    assert found.per_call == pytest.approx(4 * 2.5)  # 800 rows instead of 200


def test_learners_and_quick_models_are_not_timed(line, clock):
    model = _SlowModel(clock, name="tabpfn-v1")
    teacher = Teacher("both", {"linear": LinearRegression()}, (model,))

    assert time_answers(teacher, line, n_folds=5) is None
    assert model.n_calls == 0


def test_no_row_is_reckoned_to_cost_more_than_its_share_of_a_question(line, clock):
    class Uneven(_SlowModel):
        def predict(self, contexts, queries):
            clock.now += 0.1 if len(queries[0]) < 100 else 15.2
            return [None for _ in contexts]

    found = time_answers(Teacher("slow", {}, (Uneven(clock),)), line, n_folds=5)

    assert found == AnswerTime(per_call=0.0, per_row=15.2 / (24 + 128))
