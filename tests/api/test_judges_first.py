"""Judges that cannot judge are found out before anything is learned."""

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from stand_ins import Told

from tabtap.api import TabularAugmenter
from tabtap.errors import EvaluatorError, UserInputError


@pytest.fixture
def no_learning(monkeypatch):
    def learned(*given):  # noqa: ARG001
        raise AssertionError("the table was learned")

    monkeypatch.setattr("tabtap.api.run.fit_stack", learned)


def run(X, y, tiny, **judges):
    settings = {"budget": 12, "random_state": 0, "evaluator": "linear", **judges}
    augmenter = TabularAugmenter(preset=tiny, **settings)
    return augmenter.fit_table(X, y=y)


def pipeline_of(*columns):
    pick = ColumnTransformer([("picked", StandardScaler(), list(columns))])
    return make_pipeline(pick, LogisticRegression())


@pytest.mark.parametrize("role", ["referee", "evaluator"])
@pytest.mark.parametrize(
    ("judge", "said"),
    [
        (Ridge(), "Ridge is a regressor"),
        (pipeline_of("wings"), "Pipeline cannot be fitted.*(wings|not a column)"),
        (Told(lambda *_: [], "mute"), "'mute' answered .* queries"),
    ],
    ids=["wrong kind", "no such column", "no answer"],
)
@pytest.mark.usefixtures("no_learning")
def test_a_judge_that_cannot_judge_is_named_before_learning(
    tiny, helpful, patients, role, judge, said
):
    X, y, _ = patients

    with pytest.raises((UserInputError, EvaluatorError), match=said):
        run(X, y, tiny, **{"referee": helpful, role: judge})


@pytest.mark.usefixtures("no_learning")
def test_identifiers_that_new_rows_lack_are_missed_before_learning(tiny, patients):
    X, y, _ = patients
    X = X.drop(columns="dose").assign(number=np.arange(1, 41))
    numbers = make_column_selector(dtype_include=np.number)
    pick = ColumnTransformer([("numbers", StandardScaler(), numbers)])
    judge = make_pipeline(pick, LogisticRegression())

    with pytest.raises(UserInputError, match="NaN"):
        run(X, y, tiny, referee=judge)


def test_no_referee_is_asked_where_the_paper_asks_none(tiny_paper, patients):
    X, y, _ = patients

    result = run(X, y, tiny_paper, referee=Told(lambda *_: [], "mute"))

    assert result.certificates[0].protocol == "paper"


def test_a_pipeline_of_named_columns_judges_a_whole_run(tiny, patients):
    X, y, _ = patients
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    pick = ColumnTransformer(
        [
            ("numbers", numbers, ["age", "dose"]),
            ("levels", OneHotEncoder(handle_unknown="ignore"), ["clinic"]),
        ]
    )
    judge = make_pipeline(pick, LogisticRegression())

    result = run(X, y, tiny, referee=judge, evaluator=judge)

    assert result.about.referee == "Pipeline"
    assert np.isfinite(result.certificates[0].score_after)
