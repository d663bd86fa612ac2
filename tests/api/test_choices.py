import pytest

from tabtap.api.choices import choose_judge, choose_referee, learner_names
from tabtap.errors import UserInputError

JUDGING = {"license_policy": "open", "n_jobs": 1}


@pytest.mark.parametrize("name", learner_names())
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_every_learner_can_be_a_judge_by_name(name, task):
    if name in ("lightgbm", "xgboost"):
        pytest.importorskip(name)

    chosen = choose_judge(name, task, **JUDGING)

    assert chosen.evaluator.name == name


def test_the_panel_by_name_is_the_panel_by_default():
    by_name, by_default = (
        choose_referee(choice, "classification", n_folds=5, **JUDGING)
        for choice in ("panel", "auto")
    )

    assert by_name == by_default


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [("lightgm", "lightgbm"), ("forrest", "forest"), ("zzz", "auto")],
)
def test_an_unknown_judge_gets_the_nearest_name(wrong, meant):
    with pytest.raises(UserInputError, match=f"referee='{wrong}'.*Try '{meant}'"):
        choose_referee(wrong, "classification", n_folds=5, **JUDGING)
