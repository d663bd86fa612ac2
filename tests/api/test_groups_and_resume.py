import json

import numpy as np
import pytest
from pandas.testing import assert_frame_equal
from stand_ins import Listener, StopAfter

from tabtap.api import TabularAugmenter
from tabtap.archive import Archive, read_archive, write_archive
from tabtap.diffusion.files import FORMAT_NAME, FORMAT_VERSION
from tabtap.errors import (
    FileFormatError,
    RuleBrokenWarning,
    RunInterrupted,
    UserInputError,
)


def make(tiny, judge, **settings):
    settings = {"budget": 40, "random_state": 0, **settings}
    return TabularAugmenter(preset=tiny, evaluator="linear", referee=judge, **settings)


@pytest.mark.parametrize("n_windows", [1, 2])
def test_an_interrupted_run_resumes_with_the_same_result(
    tiny, helpful, patients, tmp_path, n_windows
):
    X, y, _ = patients
    whole = make(tiny, helpful).fit_resample(X, y)[0]
    augmenter = make(tiny, helpful, checkpoint=tmp_path)

    with pytest.raises(RunInterrupted, match=f"after {n_windows} windows"):
        augmenter.fit_table(X, y=y, observer=StopAfter(n_windows=n_windows))
    resumed = augmenter.fit_resample(X, y)[0]

    assert_frame_equal(resumed, whole)


def test_a_folder_of_another_run_is_not_taken_up(tiny, helpful, patients, tmp_path):
    X, y, _ = patients
    make(tiny, helpful, checkpoint=tmp_path).fit_resample(X, y)

    other = make(tiny, helpful, checkpoint=tmp_path, random_state=1).fit_resample(X, y)
    fresh = make(tiny, helpful, random_state=1).fit_resample(X, y)

    assert_frame_equal(other[0], fresh[0])


def with_more_steps(about):
    about["config"]["n_sample_steps"] = 10**6  # a draw would last for days


def with_another_name(about):
    about["schema"]["features"][0]["name"] = "other"


def with_another_fold(about):
    about["unseen_folds"][0] = 2


@pytest.mark.parametrize(
    "change", [with_more_steps, with_another_name, with_another_fold]
)
def test_kept_backbones_that_are_not_of_this_run_are_not_taken_up(
    tiny, helpful, patients, tmp_path, change
):
    X, y, _ = patients
    make(tiny, helpful, checkpoint=tmp_path).fit_resample(X, y)
    (path,) = tmp_path.glob("backbones-*.tap")
    kind = {"name": FORMAT_NAME, "version": FORMAT_VERSION}
    found = read_archive(path, **kind)
    about = json.loads(json.dumps(found.about))
    change(about)
    write_archive(Archive(found.arrays, about), path, **kind)

    with pytest.raises(FileFormatError, match="another table, of other folds or sett"):
        make(tiny, helpful, checkpoint=tmp_path).fit_resample(X, y)


def test_rows_of_one_group_never_sit_on_both_sides(tiny, helpful, patients):
    X, y, _ = patients
    mouse = np.repeat(np.arange(10), 4)
    judge = Listener(helpful)

    augmenter = make(tiny, judge, groups=mouse)
    augmenter.fit_resample(X, y)

    assert judge.asked
    for context, asked in judge.asked:
        assert not set(mouse[context.origin]) & set(mouse[asked.origin])
    grown = augmenter.result_.groups
    assert grown[: len(X)].tolist() == mouse.tolist()
    assert (grown[len(X) :] == mouse[augmenter.result_.parent_indices]).all()


def test_a_group_column_passes_from_parent_to_child(tiny, helpful, patients):
    X, y, _ = patients
    frame = X.assign(mouse=[f"m{i // 4}" for i in range(len(X))])

    augmenter = make(tiny, helpful, groups="mouse")
    X_more, _ = augmenter.fit_resample(frame, y)

    parents = augmenter.sample_indices_
    assert (X_more["mouse"].to_numpy() == frame["mouse"].to_numpy()[parents]).all()


def test_an_interrupt_leaves_what_was_committed_and_says_so(tiny, helpful, patients):
    X, y, _ = patients
    augmenter = make(tiny, helpful)

    with pytest.raises(RunInterrupted, match="rows committed until then are in result"):
        augmenter.fit_table(X, y=y, observer=StopAfter(n_windows=1))

    assert augmenter.result_.verdict == "augment"
    assert "interrupted" in augmenter.result_.why


def test_a_changed_rule_of_the_same_name_makes_another_run(
    tiny, helpful, patients, tmp_path
):
    X, y, _ = patients
    settings = {"checkpoint": tmp_path, "budget": 8}
    loose = {"name": "grown up", "text": "age > 0"}
    strict = {"name": "grown up", "text": "age > 30"}
    make(tiny, helpful, rules=[loose], **settings).fit_resample(X, y)

    with pytest.warns(RuleBrokenWarning):
        made = make(tiny, helpful, rules=[strict], **settings).fit_resample(X, y)

    assert (made[0]["age"].iloc[len(X) :] > 30).all()


def test_a_kept_run_needs_a_seed_to_be_found_again(tiny, helpful, patients, tmp_path):
    X, y, _ = patients
    augmenter = make(tiny, helpful, checkpoint=tmp_path, random_state=None)

    with pytest.raises(UserInputError, match="random_state"):
        augmenter.fit_resample(X, y)


def test_a_group_column_of_an_array_is_a_column(tiny, helpful, patients):
    X, y, _ = patients
    array = np.column_stack([X["age"], X["dose"].fillna(5.0), np.arange(40) // 4])

    augmenter = make(tiny, helpful, groups=2)
    augmenter.fit_resample(array, y.to_numpy())

    assert augmenter.result_.groups[:40].tolist() == array[:, 2].tolist()


@pytest.mark.parametrize("groups", ["stable", [0, 1], ("a", "b")])
def test_groups_that_are_not_there_are_named(tiny, helpful, patients, groups):
    X, y, _ = patients

    with pytest.raises(UserInputError, match="groups"):
        make(tiny, helpful, groups=groups).fit_resample(X, y)
