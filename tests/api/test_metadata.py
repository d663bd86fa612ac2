"""Groups that come to ``fit_resample`` by scikit-learn's metadata routing."""

import subprocess
import sys

import numpy as np
import pytest
from imblearn.pipeline import make_pipeline
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, cross_validate
from stand_ins import Listener

from tabtap.api import TabularAugmenter
from tabtap.errors import UserInputError

VISIT = np.repeat(np.arange(10), 4)


class SharedListener(Listener):
    """Keeps its notes where clones of it, made by cross-validation, keep theirs."""

    def __deepcopy__(self, _memo):
        return self


def make(tiny, judge, **settings):
    return TabularAugmenter(
        preset=tiny, evaluator="linear", learner=judge, budget=8, random_state=0,
        **settings,
    )  # fmt: skip


def pipeline_of(augmenter):
    numbers = make_column_transformer(("passthrough", ["age", "smoker"]))
    return make_pipeline(augmenter, numbers, LogisticRegression())


def is_apart(asked, groups):
    """Tell whether no group was ever in a context and among its queries."""
    return all(
        not set(groups[context.origin]) & set(groups[query.origin])
        for context, query in asked
    )


def test_groups_can_be_passed_to_fit_resample_itself(tiny, helpful, patients):
    X, y, _ = patients
    judge = Listener(helpful)

    augmenter = make(tiny, judge)
    augmenter.fit_resample(X, y, groups=VISIT)

    assert judge.asked
    assert is_apart(judge.asked, VISIT)
    assert augmenter.result_.groups[: len(X)].tolist() == VISIT.tolist()


def test_a_column_that_was_named_comes_before_what_is_passed(tiny, helpful, patients):
    X, y, _ = patients
    frame = X.assign(mouse=[f"m{i // 8}" for i in range(len(X))])

    augmenter = make(tiny, helpful, groups="mouse")
    augmenter.fit_resample(frame, y, groups=VISIT)

    assert augmenter.result_.groups[8] == "m1"


def test_groups_of_a_cross_validation_reach_splitter_and_augmenter(
    tiny, helpful, patients
):
    X, y, _ = patients
    judge = SharedListener(helpful)

    with config_context(enable_metadata_routing=True):
        done = cross_validate(
            pipeline_of(make(tiny, judge)),
            X,
            y,
            params={"groups": VISIT},
            cv=GroupKFold(2),
            return_estimator=True,
            return_indices=True,
            error_score="raise",
        )

    trained = done["indices"]["train"]
    for fitted, rows in zip(done["estimator"], trained, strict=True):
        labels = fitted["tabularaugmenter"].result_.groups
        assert labels[: len(rows)].tolist() == VISIT[rows].tolist()
        assert len(labels) > len(rows)  # rows were added
    first = VISIT[trained[0]]
    n_first = len(judge.asked) // 2
    assert is_apart(judge.asked[:n_first], first)


def test_groups_can_be_kept_from_the_augmenter(tiny, helpful, patients):
    X, y, _ = patients

    with config_context(enable_metadata_routing=True):
        augmenter = make(tiny, helpful).set_fit_resample_request(groups=False)
        fitted = pipeline_of(clone(augmenter)).fit(X, y)

    assert fitted["tabularaugmenter"].result_.about.groups is None


def test_groups_may_come_under_another_name(tiny, helpful, patients):
    X, y, _ = patients

    with config_context(enable_metadata_routing=True):
        augmenter = make(tiny, helpful).set_fit_resample_request(groups="visit")
        fitted = pipeline_of(augmenter).fit(X, y, visit=VISIT)

    labels = fitted["tabularaugmenter"].result_.about.groups
    assert labels.tolist() == VISIT.tolist()


def test_weights_that_differ_are_refused_with_the_way_out(tiny, helpful, patients):
    X, y, _ = patients

    make(tiny, helpful).fit_resample(X, y, sample_weight=np.ones(len(X)))
    with pytest.raises(UserInputError, match=r"new row has no weight.*class_weight"):
        make(tiny, helpful).fit_resample(X, y, sample_weight=np.arange(len(X)))


def test_other_metadata_is_refused(tiny, helpful):
    with (
        config_context(enable_metadata_routing=True),
        pytest.raises(UserInputError, match="'cost'"),
    ):
        make(tiny, helpful).set_fit_resample_request(cost=True)


def test_a_request_that_nobody_would_heed_is_refused(tiny, helpful):
    with pytest.raises(UserInputError, match="set_config"):
        make(tiny, helpful).set_fit_resample_request(groups=True)


def test_without_imbalanced_learn_the_way_out_is_named():
    code = (
        "from tabtap.api import TabularAugmenter as A\n"
        "try: A().set_fit_resample_request(groups=True)\n"
        "except ValueError as error: print(error)\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert "Import imblearn first" in done.stdout
