"""The limits that a page names."""

import numpy as np

from tabtap.report.closing import limits_section


def test_the_learners_that_were_asked_are_named(good):
    limits = dict(limits_section(good).blocks[0].rows)

    assert (
        "Asked: logistic regression and a random forest."
        in (limits["Learners that were not asked"])
    )


def test_a_named_learner_is_the_one_that_was_asked(named):
    limits = dict(limits_section(named).blocks[0].rows)

    assert "Asked: lightgbm." in limits["Learners that were not asked"]


def test_missing_groups_are_a_limit_and_given_ones_are_not(make_result, good):
    given = make_result(groups=np.repeat(np.arange(12), 2))
    name = "Rows that belong together"

    assert "too good" in dict(limits_section(good).blocks[0].rows)[name]
    assert "kept apart" in dict(limits_section(given).blocks[0].rows)[name]
