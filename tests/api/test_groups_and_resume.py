import numpy as np
import pytest
from pandas.testing import assert_frame_equal

from tabtap.api import TabularAugmenter


class StopAfter:
    """An observer that interrupts the run after some windows, as Ctrl-C would."""

    def __init__(self, n_windows):
        self.left = n_windows

    def on_step(self, record):
        pass

    def on_window(self, record):  # noqa: ARG002
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


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

    with pytest.raises(KeyboardInterrupt):
        augmenter.fit_table(X, y=y, observer=StopAfter(n_windows))
    resumed = augmenter.fit_resample(X, y)[0]

    assert_frame_equal(resumed, whole)


def test_a_folder_of_another_run_is_not_taken_up(tiny, helpful, patients, tmp_path):
    X, y, _ = patients
    make(tiny, helpful, checkpoint=tmp_path).fit_resample(X, y)

    other = make(tiny, helpful, checkpoint=tmp_path, random_state=1).fit_resample(X, y)
    fresh = make(tiny, helpful, random_state=1).fit_resample(X, y)

    assert_frame_equal(other[0], fresh[0])


class GroupsApart:
    """A judge that fails when a group stands on both sides."""

    name = "groups apart"

    def __init__(self, inner, groups):
        self.inner, self.groups = inner, np.asarray(groups)

    def predict(self, contexts, queries):
        for context, asked in zip(contexts, queries, strict=True):
            left, right = self.groups[context.origin], self.groups[asked.origin]
            assert not set(left) & set(right)
        return self.inner.predict(contexts, queries)


def test_rows_of_one_group_never_sit_on_both_sides(tiny, helpful, patients):
    X, y, _ = patients
    mouse = np.repeat(np.arange(10), 4)
    judge = GroupsApart(helpful, mouse)

    augmenter = make(tiny, judge, groups=mouse)
    augmenter.fit_resample(X, y)

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
