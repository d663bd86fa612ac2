from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tabtap.api import choices
from tabtap.api.choices import (
    choose_judge,
    choose_referee,
    commit_for,
    group_remark,
    learner_names,
    one_learner,
    remark_sentence,
    table_notes,
)
from tabtap.config import AugmentConfig, CommitConfig, SizeConfig
from tabtap.errors import UserInputError
from tabtap.evaluate.evaluators import LEAF_SETTINGS, PANEL, with_scaled_leaves
from tabtap.inspection import inspect_table
from tabtap.table import read_frame

JUDGING = {"license_policy": "open", "n_jobs": 1}


@pytest.mark.parametrize("name", learner_names())
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_every_learner_can_be_a_judge_by_name(name, task):
    if name in ("lightgbm", "xgboost"):
        pytest.importorskip(name)

    chosen = choose_judge(name, task, **JUDGING)

    assert chosen.evaluator.name == name


def test_the_best_of_the_panel_is_promised_unless_its_mean_or_a_member_is_named():
    best, mean, forest = (
        choose_referee(choice, "classification", n_folds=5, **JUDGING).evaluator
        for choice in ("auto", "panel", "forest")
    )

    assert [best.name, mean.name, forest.name] == ["best", "panel", "forest"]
    assert best.members == mean.members == PANEL
    assert best.share == forest.share == 0.8  # boosters are judged on four fifths


def test_learner_and_referee_are_two_names_of_one_setting():
    assert one_learner("forest", "auto") == one_learner("auto", "forest") == "forest"
    assert one_learner("auto", "auto") == "auto"
    with pytest.raises(UserInputError, match=r"referee='linear'.*Keep learner="):
        one_learner("forest", "linear")


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [("lightgm", "lightgbm"), ("forrest", "forest"), ("zzz", "auto")],
)
def test_an_unknown_judge_gets_the_nearest_name(wrong, meant):
    with pytest.raises(UserInputError, match=f"learner='{wrong}'.*Try '{meant}'"):
        choose_referee(wrong, "classification", n_folds=5, **JUDGING)


def test_a_run_is_surer_of_classes_where_no_learner_is_named():
    ours, labels, numbers = CommitConfig(), "classification", "regression"

    assert commit_for(ours, "auto", labels).confidence == ours.best_confidence == 0.95
    assert commit_for(ours, "auto", numbers).confidence == ours.confidence == 0.75
    assert commit_for(ours, "forest", labels).confidence == 0.75
    assert commit_for(ours, "auto", labels, confidence=0.7, min_gain=0.2) == replace(
        ours, confidence=0.7, min_gain=0.2
    )
    paper = AugmentConfig.paper().commit
    assert commit_for(paper, "auto", labels) == paper


@pytest.mark.parametrize("learner", ["lightgbm", "own", "pipeline"])
def test_a_booster_is_not_starved_by_the_folds(learner):
    if learner == "lightgbm":
        pytest.importorskip("lightgbm")
    booster = HistGradientBoostingClassifier(min_samples_leaf=20)
    choice = {"own": booster, "pipeline": make_pipeline(StandardScaler(), booster)}
    referee = choose_referee(
        choice.get(learner, learner), "classification", n_folds=5, **JUDGING
    ).evaluator

    asked = with_scaled_leaves(referee.estimator, referee.share)

    settings = asked.get_params(deep=True)
    leaves = [v for k, v in settings.items() if k.split("__")[-1] in LEAF_SETTINGS]
    assert leaves == [16]
    assert booster.min_samples_leaf == 20  # the user's own object stays as it is


def test_what_inspect_saw_is_noted():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "code": ["a", "b"] * 30,
            "patient": np.repeat([f"p{k:02d}" for k in range(15)], 4),
            "age": rng.integers(20, 80, 60),
            "sick": ["no", "yes"] * 30,
        }
    )
    real = read_frame(frame, "sick")

    notes = table_notes(real, ())
    remark = group_remark(real, (), None)

    assert any("'code'" in note and "target" in note for note in notes)
    assert remark.column == "patient"
    assert "groups='patient'" in remark_sentence(remark)
    assert group_remark(real, (), "patient") is None


def told(frame, target, word):
    """Return what is noted of a table and what inspect says of it, with this word."""
    real = read_frame(frame, target)
    seen = [remark.text for remark in inspect_table(real) if word in remark.text]
    return [note for note in table_notes(real, ()) if word in note], seen


@pytest.fixture
def bills():
    """Two numbers that have nothing to do with each other, and their sum."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 1000, (60, 2)), columns=["rent", "cost"])
    return frame.assign(total=frame["rent"] + frame["cost"])


def test_a_leak_by_a_formula_is_noted_as_inspect_says_it(bills):
    (note,), (seen,) = told(bills, "cost", "gives the target away")

    assert note == f"Column 'cost' {seen}."
    assert seen.startswith("is total - rent in every row")


def test_a_column_that_tells_the_target_alone_has_one_note_if_a_formula_does_too():
    rng = np.random.default_rng(0)
    flats = pd.DataFrame({"price": rng.integers(1000, 99_000, 60)})
    flats["size"] = rng.integers(490, 510, 60)
    flats["rate"] = (flats["price"] / flats["size"]).round(2)
    real = read_frame(flats, "price")

    notes = table_notes(real, ())

    assert [r.column for r in inspect_table(real) if r.topic == "leak"] == ["rate"] * 2
    assert [note[:40] for note in notes] == ["Column 'rate' tells the target almost al"]


def test_equal_rows_that_are_not_kept_together_are_noted_as_inspect_says_it():
    few = pd.DataFrame({"a": [0, 1, 1] * 20, "sick": ["no", "no", "yes"] * 20})

    (copied,), (seen,) = told(few, "sick", "repeat another row exactly")
    (torn,), (differing,) = told(few, "sick", "alike in every feature")

    assert copied == f"{seen}."
    assert torn == f"{differing}."
    assert torn.startswith("40 rows are alike")


def test_copies_that_are_kept_together_are_left_to_the_note_on_these(bills):
    twice = pd.concat([bills, bills.head(9)], ignore_index=True)

    notes, seen = told(twice.drop(columns="total"), "cost", "another row exactly")

    assert (notes, len(seen)) == ([], 1)


def test_nothing_is_searched_in_a_table_too_large_to_be_judged(bills, monkeypatch):
    small = SizeConfig(max_judged_cells=100)
    monkeypatch.setattr(choices, "SizeConfig", lambda: small)

    assert table_notes(read_frame(bills, "cost"), ()) == ()
