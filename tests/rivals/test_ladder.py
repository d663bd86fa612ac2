import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from tabtap.api import TabularAugmenter
from tabtap.api.run import lineages_of
from tabtap.config import (
    AugmentConfig,
    CommitConfig,
    DiffusionConfig,
    Preset,
    UtilityConfig,
)
from tabtap.datasets import load_penguins
from tabtap.diffusion import fit_backbone
from tabtap.errors import UserInputError
from tabtap.evaluate.judging import FoldUtility
from tabtap.rivals import METHOD_NAMES, MindsGroups, ladder, method_named
from tabtap.rivals.ladder import (
    TAP,
    LadderRung,
    TabDiff,
    TaughtTAP,
    draw_hard_inpainting,
    draw_one_shot,
    draw_random_inpainting,
    paper_preset,
    request_for,
)
from tabtap.stopwatch import Stopwatch
from tabtap.table import read_frame

# ---- TabDiff.


@pytest.fixture(scope="module")
def clouds():
    """Give three times as many rows of class 0, around -2, as of class 1, around 2."""
    rng = np.random.default_rng(0)
    label = np.repeat([0, 1], [90, 30])
    return label, 4.0 * label - 2.0 + 0.5 * rng.normal(size=120)


def test_labels_come_with_their_rows_and_as_often_as_they_do(
    clouds, read_columns, make_rows
):
    label, x = clouds
    train = read_columns(x=x, label=np.array(["small", "tall"])[label])

    made = make_rows(TabDiff(n_steps=400), train, 1000)

    tall = made.target == train.target[-1]
    assert tall.mean() == pytest.approx(0.25, abs=0.08)
    assert made.numeric[tall].mean() == pytest.approx(2.0, abs=0.5)
    assert made.numeric[~tall].mean() == pytest.approx(-2.0, abs=0.5)
    assert ((made.numeric[:, 0] > 0) == tall).mean() > 0.95


def test_a_regression_target_is_drawn_with_its_row(read_columns, make_rows):
    x = np.random.default_rng(0).normal(size=150)
    train = read_columns(x=x, y=3.0 * x + 1.0)

    made = make_rows(TabDiff(n_steps=400), train, 500)

    x, y = made.numeric[:, 0], made.target_values
    assert np.corrcoef(x, y)[0, 1] > 0.97
    assert np.polyfit(x, y, 1) == pytest.approx([3.0, 1.0], abs=0.5)


def test_an_unknown_size_is_refused():
    with pytest.raises(UserInputError, match=r"size='huge'.*'paper'"):
        TabDiff(size="huge")


@pytest.mark.parametrize(
    ("settings", "config"),
    [
        ({}, DiffusionConfig()),
        ({"n_steps": 70}, DiffusionConfig(n_steps=70)),
        ({"size": "paper"}, DiffusionConfig.paper()),
    ],
    ids=["default", "fewer steps", "paper"],
)
def test_the_size_decides_the_network(
    clouds, read_columns, make_rows, monkeypatch, settings, config
):
    label, x = clouds
    train = read_columns(x=x, label=np.array(["small", "tall"])[label])
    asked = []

    def fit(table, *, rng, config):
        asked.append(config)
        return fit_backbone(table, rng=rng, config=DiffusionConfig(n_steps=2))

    monkeypatch.setattr(ladder, "fit_backbone", fit)
    make_rows(TabDiff(**settings), train, 5)

    assert asked == [config]


# ---- Rungs of the ladder: one shot, and inpainting without a policy.


QUICK = DiffusionConfig(n_steps=20, n_sample_steps=6, width=32, depth=2, device="cpu")


@pytest.fixture(scope="module")
def birds():
    every = read_frame(load_penguins(), target="species")
    few = every.take(np.arange(0, len(every), 6))
    return read_frame(load_penguins().iloc[few.origin], target="species")


@pytest.fixture(scope="module")
def backbone(birds):
    return fit_backbone(birds, rng=np.random.default_rng(0), config=QUICK)


def kept_cells(rows, real):
    """Tell for each cell whether it is the one of the row it descends from."""
    anchors = real.take(rows.origin)
    pairs = zip(rows.cells, anchors.cells, strict=True)
    same = np.stack([new == old for new, old in pairs], axis=1)
    return same & (rows.missing == anchors.missing)


def test_one_shot_rows_are_drawn_for_every_class_evenly(birds, backbone):
    rows = draw_one_shot(backbone, birds, 30, np.random.default_rng(0))

    assert np.bincount(rows.target).tolist() == [10, 10, 10]
    assert set(rows.origin) == {-1}


def test_random_inpainting_keeps_the_label_and_some_of_a_real_row(birds, backbone):
    rows = draw_random_inpainting(backbone, birds, 80, np.random.default_rng(0))

    kept = kept_cells(rows, birds).mean(axis=1)
    assert (rows.target == birds.target[rows.origin]).all()
    assert 0.25 < kept.mean() < 0.75
    assert kept.std() > 0.1  # the share is random too


def test_hard_inpainting_changes_little_of_the_harder_rows(birds, backbone):
    request = request_for(birds, paper_preset(), seed=0)
    judge, settings = request.evaluator.evaluator, request.config.utility
    utility = FoldUtility(birds, lineages_of(request), judge, settings)
    hardness = utility.baseline(birds.empty()).hardness

    rows = draw_hard_inpainting(backbone, request, 40, np.random.default_rng(0))

    assert 0 < len(rows) <= 40
    assert (rows.target == birds.target[rows.origin]).all()
    assert kept_cells(rows, birds).mean() > 0.6
    assert hardness[rows.origin].mean() > hardness.mean()


@pytest.mark.parametrize("rung", ["one shot", "random inpainting", "hard inpainting"])
def test_a_rung_is_a_method_with_its_own_name(birds, make_rows, rung):
    method = LadderRung(rung=rung, diffusion=QUICK)

    rows = make_rows(method, birds, 20)

    assert method.name.lower() == rung
    assert 0 < len(rows) <= 20


def test_an_unknown_rung_is_refused():
    with pytest.raises(UserInputError, match=r"rung='top'.*'one shot'"):
        LadderRung(rung="top")


# ---- TAP.


EAGER = Preset(
    augment=AugmentConfig(
        n_steps=8,
        utility=UtilityConfig(n_folds=2),
        commit=CommitConfig(window_length=4),
    ),
    diffusion=DiffusionConfig(n_steps=40, n_sample_steps=6, width=32, depth=2),
)


HUNGRY = KNeighborsClassifier(n_neighbors=20)
"""It asks nearly all of the 21 rows of a fold, so that any rows help it."""


@pytest.fixture(scope="module")
def frame():
    return load_penguins().iloc[::8].reset_index(drop=True)


@pytest.fixture(scope="module")
def run(frame):
    train = read_frame(frame, "species")
    watch = Stopwatch()
    method = TAP(preset=EAGER, learner=HUNGRY)
    rows = method.make(train, 30, np.random.default_rng(5), watch)
    return rows, watch


@pytest.mark.parametrize(("kind", "teacher"), [(TAP, "none"), (TaughtTAP, "auto")])
def test_it_adds_the_rows_that_a_user_would_get(frame, kind, teacher):
    train = read_frame(frame, "species")
    method = kind(preset=EAGER, learner=HUNGRY)
    rows = method.make(train, 30, np.random.default_rng(5), Stopwatch())
    seed = int(np.random.default_rng(5).integers(2**31))
    augmenter = TabularAugmenter(
        preset=EAGER, budget=30, random_state=seed, learner=HUNGRY, teacher=teacher
    )

    theirs = augmenter.fit_table(frame, "species").delivered.rows

    assert 0 < len(rows) == len(theirs)
    assert np.array_equal(rows.numeric, theirs.numeric, equal_nan=True)
    assert np.array_equal(rows.target, theirs.target)
    assert np.array_equal(rows.origin, theirs.origin)


def test_the_watch_knows_the_stages_of_a_run(run):
    _, watch = run

    assert set(watch.cpu_seconds) == {
        "backbones", "proposals", "gates", "evaluator", "referee",
    }  # fmt: skip


def test_an_unknown_preset_is_refused():
    with pytest.raises(UserInputError, match=r"preset='best'.*'fast'"):
        TAP(preset="best")


def test_a_table_without_a_target_is_refused(make_rows):
    untargeted = read_frame(np.random.default_rng(0).normal(size=(20, 2)))

    with pytest.raises(UserInputError, match="target"):
        make_rows(TAP(), untargeted, 5)


# ---- TAP is told whom its rows must help.


@pytest.mark.parametrize(
    ("settings", "name", "is_mean"),
    [({}, "panel", True), ({"learner": "auto"}, "best", False)],
    ids=["study", "comparison"],
)
def test_rows_must_help_the_learner_that_it_was_told(
    birds, make_rows, monkeypatch, settings, name, is_mean
):
    referee = referee_of_run(monkeypatch, make_rows, TAP(**settings), birds)

    assert (referee.name, referee.is_mean) == (name, is_mean)


def test_rows_may_have_to_help_a_learner_of_ones_own(birds, make_rows, monkeypatch):
    own = DecisionTreeClassifier(max_depth=2)

    referee = referee_of_run(monkeypatch, make_rows, TAP(learner=own), birds)

    assert referee.estimator is own


def referee_of_run(monkeypatch, make_rows, method, birds):
    """Begin a run, and return who would judge it."""
    seen = []

    class Stopped(Exception):
        pass

    def stop(request, _):
        seen.append(request.referee.evaluator)
        raise Stopped

    monkeypatch.setattr(ladder, "fit_stack", stop)
    with pytest.raises(Stopped):
        make_rows(method, birds, 10)
    return seen[0]


# ---- TAP is told which rows belong together.


def test_tap_alone_judges_and_so_minds_groups():
    minding = [n for n in METHOD_NAMES if isinstance(method_named(n), MindsGroups)]

    assert minding == ["TAP", "TAP + teacher"]


def test_its_folds_keep_groups_on_one_side(monkeypatch):
    birds = read_frame(load_penguins().dropna().iloc[::8], target="species")
    groups = np.arange(len(birds)) // 3
    seen = []

    class Stopped(Exception):
        pass

    def stop(_, lineages):
        seen.append(lineages)
        raise Stopped

    monkeypatch.setattr(ladder, "fit_stack", stop)
    method = method_named("TAP")
    with pytest.raises(Stopped):
        method.make_for_groups(birds, 10, np.random.default_rng(0), Stopwatch(), groups)

    (lineages,) = seen
    assert lineages.n_folds > 1
    for fold in range(lineages.n_folds):
        inside = groups[lineages.asked(fold)]
        assert set(inside).isdisjoint(groups[lineages.seen(fold)])
