"""Rows of any method with a teacher's targets, so that each gets its due."""

import numpy as np
import pytest

from tabtap.datasets import load_penguins
from tabtap.errors import UserInputError
from tabtap.rivals import method_named
from tabtap.rivals.taught import Taught
from tabtap.stopwatch import Stopwatch
from tabtap.table import read_frame


@pytest.fixture(scope="module")
def birds():
    return read_frame(load_penguins().dropna().iloc[::8], "species")


def made(name, train, n=40):
    return method_named(name).make(train, n, np.random.default_rng(0), Stopwatch())


@pytest.mark.parametrize("name", ["Copies", "Jitter"])
def test_only_the_targets_differ_from_the_methods_own(birds, name):
    own, taught = made(name, birds), made(f"{name} + teacher", birds)

    assert np.array_equal(own.numeric, taught.numeric)
    assert np.array_equal(own.categorical, taught.categorical)
    assert np.array_equal(own.origin, taught.origin)


def test_a_teacher_corrects_labels_that_do_not_belong(birds):
    wrong = np.flatnonzero(birds.target == 0)[0]
    target = birds.target.copy()
    target[wrong] = 2  # an Adelie called a Gentoo
    train = birds.take(np.arange(len(birds)))
    object.__setattr__(train, "target", target)

    rows = Taught(method="Copies", teacher="neighbors").make(
        train, 60, np.random.default_rng(0), Stopwatch()
    )

    assert (rows.target[rows.origin == birds.origin[wrong]] == 0).all()


def test_an_unknown_method_is_refused():
    with pytest.raises(UserInputError, match="method="):
        Taught(method="nobody")
