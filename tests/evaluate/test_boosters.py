import sys

import pytest

from tabtap.errors import UserInputError
from tabtap.evaluate.evaluators import BOOSTERS, booster


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
