import pytest

from tabtap.api.choices import (
    choose_judge,
    choose_referee,
    learner_names,
    one_learner,
)
from tabtap.errors import UserInputError
from tabtap.evaluate.evaluators import PANEL

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
