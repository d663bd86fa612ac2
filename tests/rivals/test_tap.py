import numpy as np
import pytest

from tabtap.api import TabularAugmenter
from tabtap.config import (
    AugmentConfig,
    CommitConfig,
    DiffusionConfig,
    Preset,
    UtilityConfig,
)
from tabtap.datasets import load_penguins
from tabtap.errors import UserInputError
from tabtap.rivals.ladder import TAP
from tabtap.stopwatch import Stopwatch
from tabtap.table import read_frame

EAGER = Preset(
    augment=AugmentConfig(
        n_steps=8,
        utility=UtilityConfig(n_folds=2),
        # Any pool will do, so that there are rows to look at.
        commit=CommitConfig(window_length=4, min_gain=-1.0),
    ),
    diffusion=DiffusionConfig(n_steps=40, n_sample_steps=6, width=32, depth=2),
)


@pytest.fixture(scope="module")
def frame():
    return load_penguins().iloc[::8].reset_index(drop=True)


@pytest.fixture(scope="module")
def run(frame):
    train = read_frame(frame, "species")
    watch = Stopwatch()
    rows = TAP(preset=EAGER).make(train, 30, np.random.default_rng(5), watch)
    return rows, watch


def test_it_adds_the_rows_that_a_user_would_get(frame, run):
    rows, _ = run
    seed = int(np.random.default_rng(5).integers(2**31))
    augmenter = TabularAugmenter(preset=EAGER, budget=30, random_state=seed)

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
