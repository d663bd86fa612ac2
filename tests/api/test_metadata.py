"""Groups and weights that come to ``fit_resample``, by metadata routing or without."""

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
from tabtap.result import load_result, verify

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


WEIGHT = np.linspace(0.5, 2.0, 40)


def test_weights_of_new_rows_are_those_of_their_parents(tiny, helpful, patients):
    X, y, _ = patients
    augmenter = make(tiny, helpful)

    X_more, _ = augmenter.fit_resample(X, y, sample_weight=WEIGHT)

    parents = augmenter.sample_indices_
    assert len(X_more) > len(X)
    assert augmenter.sample_weight_.tolist() == WEIGHT[parents].tolist()


def test_weights_count_in_the_scores_of_the_check(tiny, patients):
    X, y, _ = patients
    few = np.where(np.arange(len(X)) < 8, 1.0, 0.0)
    few[20:22] = 0.01  # so that others are learned at all

    checks = []
    for weights in (None, few):
        augmenter = make(tiny, "linear").fit(X, y, sample_weight=weights)
        checks.append(augmenter.result_.certificates[0])

    plain, weighed = checks
    assert plain.scorer == "linear"
    assert weighed.scorer == "linear by weighted score"
    assert weighed.score_real != plain.score_real
    assert np.ptp(weighed.evidence["real"][22:]) == 0.0  # what counts nothing


def test_a_weighted_result_with_groups_that_may_not_be_harmed_is_verified(
    tiny, patients, tmp_path
):
    X, y, _ = patients
    augmenter = make(tiny, "linear", no_harm="clinic")

    result = augmenter.fit(X, y, sample_weight=WEIGHT).result_
    result.save(tmp_path / "r.tap")

    assert result.certificates[0].groups
    assert verify(load_result(tmp_path / "r.tap")) == []


def test_equal_weights_change_nothing(tiny, patients):
    X, y, _ = patients

    results = [
        make(tiny, "linear").fit(X, y, sample_weight=weights).result_
        for weights in (None, np.full(len(X), 3.0))
    ]

    scores = [result.certificates[0].score_after for result in results]
    assert scores[0] == scores[1]
    assert not any("sample_weight" in note for note in results[1].about.notes)


def test_a_learner_that_takes_no_weights_is_told_in_a_sentence(tiny, patients):
    X, y, _ = patients

    augmenter = make(tiny, "neighbors").fit(X, y, sample_weight=WEIGHT)

    assert any(
        note == "neighbors cannot take sample_weight and is fitted without it."
        for note in augmenter.result_.about.notes
    )


def test_rows_without_a_label_keep_their_weight(tiny, helpful, patients):
    X, y, _ = patients
    y = y.copy()
    y.iloc[5] = None
    augmenter = make(tiny, helpful)

    augmenter.fit_resample(X, y, sample_weight=WEIGHT)

    parents = augmenter.sample_indices_
    assert augmenter.sample_weight_.tolist() == WEIGHT[parents].tolist()
    assert augmenter.sample_weight_[5] == WEIGHT[5]


@pytest.mark.parametrize(
    "weights",
    [np.ones(3), np.full(40, np.nan), -WEIGHT, np.zeros(40), ["much"] * 40],
    ids=["too few", "nan", "negative", "nothing counts", "words"],
)
def test_weights_that_are_none_are_refused(tiny, helpful, patients, weights):
    X, y, _ = patients

    with pytest.raises(UserInputError, match=r"sample_weight=.*40 numbers from 0"):
        make(tiny, helpful).fit_resample(X, y, sample_weight=weights)


def test_the_papers_protocol_refuses_weights_with_the_way_out(
    tiny_paper, helpful, patients
):
    X, y, _ = patients

    with pytest.raises(UserInputError, match=r"paper's protocol.*preset='default'"):
        make(tiny_paper, helpful).fit_resample(X, y, sample_weight=WEIGHT)


def test_groups_and_weights_of_a_cross_validation_reach_the_augmenter(
    tiny, helpful, patients
):
    X, y, _ = patients

    with config_context(enable_metadata_routing=True):
        learner = LogisticRegression()
        learner.set_fit_request(sample_weight=False)
        learner.set_score_request(sample_weight=True)
        numbers = make_column_transformer(("passthrough", ["age", "smoker"]))
        done = cross_validate(
            make_pipeline(make(tiny, helpful), numbers, learner),
            X,
            y,
            params={"groups": VISIT, "sample_weight": WEIGHT},
            cv=GroupKFold(2),
            return_estimator=True,
            return_indices=True,
            error_score="raise",
        )

    for fitted, rows in zip(done["estimator"], done["indices"]["train"], strict=True):
        augmenter = fitted["tabularaugmenter"]
        found = augmenter.sample_weight_
        assert found[: len(rows)].tolist() == WEIGHT[rows].tolist()
        assert len(found) == len(augmenter.result_.groups) > len(rows)
        assert augmenter.result_.about.groups.tolist() == VISIT[rows].tolist()


def test_a_run_that_is_kept_is_not_gone_on_with_under_other_weights(
    tiny, helpful, patients, tmp_path
):
    X, y, _ = patients

    for weights in (None, WEIGHT, WEIGHT[::-1]):
        make(tiny, helpful, checkpoint=tmp_path).fit(X, y, sample_weight=weights)

    assert len(list(tmp_path.glob("progress-*"))) == 3


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
