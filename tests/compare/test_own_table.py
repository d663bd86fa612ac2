"""A comparison on one's own table: who is trained on what, and asked about which."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from tabtap.api.run import lineages_of, referee_of
from tabtap.compare.contest import Judges, MethodComparison, RunTerms
from tabtap.compare.standings import summarise
from tabtap.compare.store import Cell, Terms
from tabtap.config import preset_named
from tabtap.datasets import load_penguins
from tabtap.errors import UserInputError
from tabtap.evaluate.evaluators import PANEL
from tabtap.rivals import method_named
from tabtap.rivals.ladder import request_for
from tabtap.table import read_frame

LEAF = DecisionTreeClassifier(max_depth=1)


@pytest.fixture(scope="module")
def birds():
    frame = load_penguins().dropna().iloc[::4]
    return read_frame(frame, target="species")


def cell(method, split=0, budget=30):
    terms = Terms(budget=budget)
    return Cell(dataset="own", n_real=60, split=split, method=method, terms=terms)


# ---- Folds and groups.


def test_every_row_is_tested_once_in_each_cut_and_never_trained_on(birds):
    contest = MethodComparison.of(birds, 4)

    asked = [contest.asked(repeat) for repeat in range(contest.repeats)]

    assert contest.repeats == 8  # two cuts in four parts
    for cut in (asked[:4], asked[4:]):
        assert sorted(np.concatenate(cut)) == list(range(len(birds)))
    for repeat in range(8):
        train, test = contest.parts(repeat)
        assert len(train) + len(test) == len(birds)
        assert train.origin.tolist() == list(range(len(train)))


@pytest.mark.parametrize("grouped", [False, True], ids=["rows", "groups"])
@pytest.mark.parametrize("learner", ["auto", "forest"])
@pytest.mark.parametrize("preset", ["default", "fast"])
def test_all_cuts_are_those_of_tabtap_augment(birds, preset, learner, grouped):
    groups = np.arange(len(birds)) // 2 if grouped else None
    request = request_for(birds, preset_named(preset), 3, groups, learner=learner)
    run = RunTerms(seed=3, preset=preset)

    contest = MethodComparison.of(birds, 5, groups=groups, learner=learner, run=run)

    theirs = lineages_of(request).partitions
    assert contest.lineages.partitions.tolist() == theirs.tolist()
    assert contest.repeats == theirs.max() + 1


@pytest.mark.parametrize(
    ("preset", "learner", "times"),
    [
        ("fast", "forest", 3),
        ("fast", LEAF, 3),
        ("fast", "auto", 2),
        ("fast", "panel", 2),
        ("default", "forest", 4),
        ("default", "auto", 2),
        ("paper", "forest", 1),
    ],
)
def test_one_learner_has_its_rows_cut_more_often_than_a_panel(
    birds, preset, learner, times
):
    request = request_for(birds, preset_named(preset), 0, learner=learner)

    assert len(lineages_of(request).partitions) == times


def test_a_table_of_few_rows_has_fewer_folds(birds):
    contest = MethodComparison.of(birds.take(np.arange(0, 84, 28)), 5)

    assert contest.lineages.n_folds_each == 3
    assert contest.judges.panel.share == pytest.approx(2 / 3)


def test_groups_stay_on_one_side(birds):
    groups = np.arange(len(birds)) // 5

    contest = MethodComparison.of(birds, 3, groups=groups)

    for repeat in range(3):
        inside = set(groups[contest.asked(repeat)])
        outside = set(
            groups[np.setdiff1d(np.arange(len(birds)), contest.asked(repeat))]
        )
        assert inside.isdisjoint(outside)


def test_copies_of_a_row_are_tested_together_and_count_once(birds):
    rows = np.arange(30)
    contest = MethodComparison.of(birds.take(np.concatenate([rows, rows])), 3)

    assert all(
        set(contest.asked(repeat) % 30).isdisjoint(contest.taught(repeat) % 30)
        for repeat in range(3)
    )
    assert len(np.unique(contest.asked_rows.groups)) == 30


def test_groups_follow_their_rows_to_a_method_that_minds_them(birds, monkeypatch):
    seen = []

    class Spy:
        def make(self, *_):
            raise AssertionError("it minds groups")

        def make_for_groups(self, train, n, _rng, _watch, groups):
            seen.append((train, groups))
            return train.take(np.zeros(n, dtype=int))

    monkeypatch.setattr("tabtap.compare.contest.method_named", lambda *_, **__: Spy())
    groups = np.arange(len(birds)) // 5
    contest = MethodComparison.of(birds, 3, groups=groups, learner="neighbors")

    contest.record(cell("TAP", 2))

    ((train, told),) = seen
    assert len(train) == len(told)
    assert told.tolist() == groups[contest.taught(2)].tolist()


def test_groups_of_a_test_file_come_after_those_of_the_table(birds):
    table, test = birds.take(np.arange(60)), birds.take(np.arange(60, len(birds)))
    groups = np.arange(len(birds)) // 2

    contest = MethodComparison.of(table, 2, test=test, groups=groups)

    assert contest.groups.tolist() == groups[:60].tolist()
    assert contest.asked_rows.groups.tolist() == groups[60:].tolist()


def test_learners_are_chosen_for_part_of_a_test_file_by_other_groups(birds):
    table, test = birds.take(np.arange(60)), birds.take(np.arange(60, len(birds)))
    groups = np.arange(len(birds)) // 2

    asked = MethodComparison.of(table, 2, test=test, groups=groups).asked_rows

    assert len(np.unique(asked.fold)) == 5
    for fold in range(5):
        inside = asked.groups[asked.fold == fold]
        assert set(inside).isdisjoint(asked.groups[asked.fold != fold])


@pytest.mark.parametrize("n_asked", [1, 2], ids=["one row", "two rows"])
def test_a_test_file_may_be_too_small_to_choose_by(birds, n_asked):
    table, test = birds.take(np.arange(60)), birds.take(np.arange(60, 60 + n_asked))
    contest = MethodComparison.of(table, 2, test=test)
    records = [contest.record(cell(name)) for name in ("Real", "Copies")]

    comparison = summarise(records, contest.asked_rows)

    assert comparison.of("Copies").learner == comparison.of("Real").learner
    assert not comparison.of("Copies").is_shown


# ---- Learners.


@pytest.mark.parametrize(("learner", "times"), [("auto", 2), ("forest", 4), (LEAF, 4)])
def test_it_says_of_real_rows_what_tabtap_augment_says(birds, learner, times):
    birds = birds.take(np.arange(0, 84, 2))
    birds = replace(birds, origin=np.arange(42))
    request = request_for(birds, preset_named("default"), 0, learner=learner)
    referee = referee_of(request, lineages_of(request))
    contest = MethodComparison.of(birds, 5, learner=learner)

    records = [contest.record(cell("Real", n)) for n in range(contest.repeats)]

    # A store keeps no order.
    ours = summarise(records[::-1], contest.asked_rows, contest.judges.promise)
    theirs = referee.scores(birds.empty())
    assert len(records) == 5 * times
    for name, scores in theirs.by_learner.items():
        assert ours.alone[name] == pytest.approx(scores, abs=1e-12), name
    real = ours.of("Real")
    answers = [theirs.answers[real.learner]]
    plain, *_ = referee.figures(answers, answers, answers)
    assert real.plain.value == pytest.approx(plain.best_alone.value, abs=1e-12)
    assert real.plain.margin == pytest.approx(plain.best_alone.margin, abs=1e-12)
    assert real.score == max(ours.alone[n].mean() for n in theirs.by_learner)


@pytest.mark.parametrize(("n_folds", "share"), [(5, 0.8), (None, 1.0)])
def test_leaves_shrink_only_where_rows_are_held_back(n_folds, share):
    judges = Judges.of("auto", "classification", n_folds=n_folds)

    assert judges.panel.share == pytest.approx(share)


@pytest.mark.parametrize(
    ("choice", "promise", "with_rows", "alone"),
    [
        ("auto", "best", set(PANEL), set(PANEL)),
        ("panel", "panel", set(PANEL), set(PANEL)),
        ("linear", "linear", {"linear"}, set(PANEL)),
        (LEAF, "DecisionTreeClassifier", {"DecisionTreeClassifier"},
         {*PANEL, "DecisionTreeClassifier"}),
    ],
    ids=["best", "mean", "of the panel", "own"],
)  # fmt: skip
def test_new_rows_are_tried_by_whom_it_is_about(
    birds, choice, promise, with_rows, alone
):
    contest = MethodComparison.of(birds, 2, learner=choice)

    records = {name: contest.record(cell(name)) for name in ("Real", "Copies")}

    assert contest.judges.promise == promise
    assert set(records["Real"]["answers"]) == alone
    assert set(records["Copies"]["answers"]) == with_rows


def test_all_learners_can_be_asked_for(birds):
    contest = MethodComparison.of(birds, 2, learner=LEAF).with_everyone()

    answers = contest.record(cell("Copies"))["answers"]

    assert set(answers) == {*PANEL, "DecisionTreeClassifier"}


def test_an_unknown_learner_is_refused_before_anything_is_trained(birds):
    with pytest.raises(UserInputError, match="forest"):
        MethodComparison.of(birds, 2, learner="forrest")


def test_tap_is_told_the_learner_of_the_comparison(birds, monkeypatch):
    told = {}

    class Spy:
        def make(self, train, n, *_):
            return train.take(np.zeros(n, dtype=int))

    def named(name, **settings):
        told[name] = settings
        return Spy()

    monkeypatch.setattr("tabtap.compare.contest.method_named", named)
    contest = MethodComparison.of(birds, 2, learner=LEAF)

    for asked in contest.cells(["TAP", "SMOTE"], Terms(budget=10))[:2]:
        contest.record(asked)

    assert told == {"TAP": {"learner": LEAF}, "SMOTE": {}}


def test_tap_runs_as_tabtap_augment_was_to_run(birds):
    run = RunTerms(preset="fast", min_gain=0.03)
    contest = MethodComparison.of(birds, 2, learner="forest", run=run)

    tap, smote = contest.cells(["TAP", "SMOTE"], Terms())[:2]

    assert tap.settings.pop("learner") == "forest"
    whole = method_named("TAP", **tap.settings).whole_preset()
    assert whole.diffusion == preset_named("fast").diffusion
    assert whole.augment.commit.min_gain == 0.03
    assert smote.settings == {}


def test_a_gain_that_cannot_be_one_is_refused(birds):
    with pytest.raises(UserInputError, match="min_gain"):
        MethodComparison.of(birds, 2, run=RunTerms(min_gain=np.nan))


def test_a_cell_names_the_learner_that_tap_is_told(birds):
    contest = MethodComparison.of(birds, 2, learner=LEAF)

    cells = contest.cells(["TAP", "SMOTE"], Terms())[:2]

    assert [c.settings for c in cells] == [{"learner": "DecisionTreeClassifier"}, {}]


# ---- Cells.


def test_a_cell_is_worked_with_the_users_rows(birds):
    contest = MethodComparison.of(birds, 3, learner="linear")

    told = contest.work()(cell("Copies", 1))

    assert told["n_rows"] == 30
    assert told["failure"] is None
    stated = np.array(told["answers"]["linear"])
    assert stated.shape == (len(told["asked"]), 3)
    assert told["asked"] == contest.asked(1).tolist()
    assert stated.sum(axis=1) == pytest.approx(1.0)


def test_a_test_file_is_asked_in_every_repeat_and_counts_once(birds):
    train, test = birds.take(np.arange(0, 60)), birds.take(np.arange(60, len(birds)))
    contest = MethodComparison.of(train, 2, test=test)
    records = [contest.record(cell("Real", split)) for split in range(2)]

    comparison = summarise(records, contest.asked_rows)

    assert comparison.n_test == len(test)
    assert comparison.asked.n_trained_folds is None
    assert len(comparison.alone["linear"]) == len(test)


def test_numbers_are_asked_about_in_their_own_units():
    frame = load_penguins().dropna().iloc[::4]
    birds = read_frame(frame, target="body_mass_g")
    contest = MethodComparison.of(birds, 3)
    records = [contest.record(cell("Real", n)) for n in range(contest.repeats)]

    standing = summarise(records, contest.asked_rows).of("Real")

    spread = frame["body_mass_g"].std(ddof=0)
    assert 0.2 * spread < standing.plain.value < 0.7 * spread  # grams
    # The score is an R squared; of two cuts means are taken before the square or after.
    explained = 1 - (standing.plain.value / spread) ** 2
    assert standing.score == pytest.approx(explained, abs=1e-4)
