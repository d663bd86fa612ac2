"""no_harm from the caller's side: a group that is harmed by construction."""

import pytest
from stand_ins import MoreIsBetter

from tabtap.api import TabularAugmenter, augment
from tabtap.errors import UserInputError
from tabtap.result import verify

SOUTH = 1  # code of the level
CLINIC = 2  # place of the column


@pytest.fixture
def unfair():
    """Better for the clinic in the north by every row, and worse for the south."""
    return MoreIsBetter(worse_for=lambda rows: rows.cells[CLINIC] == SOUTH)


@pytest.fixture
def mostly_north(patients):
    X, y, cost = patients
    names = ["south" if k % 4 == 0 else "north" for k in range(len(X))]
    return (
        X.assign(clinic=X["clinic"].cat.set_categories(["north", "south"])).assign(
            clinic=names
        ),
        y,
        cost,
    )


def make(tiny, judge, **settings):
    return TabularAugmenter(
        preset=tiny, evaluator="linear", learner=judge, budget=8, random_state=0,
        confidence=0.6, **settings,
    )  # fmt: skip


def test_rows_that_harm_a_group_are_added_unless_it_may_not_be_harmed(
    tiny, unfair, mostly_north
):
    X, y, _ = mostly_north

    unasked = make(tiny, unfair)
    unasked.fit_resample(X, y)
    asked = make(tiny, unfair, no_harm=["clinic"])
    X_more, _ = asked.fit_resample(X, y)

    assert unasked.result_.verdict == "augment"
    assert len(X_more) == len(X)
    result = asked.result_
    assert result.verdict == "no_gain"
    assert "the group clinic (south) is estimated to lose" in result.why
    assert result.about.settings["no_harm"] == {"clinic": 0.02}
    assert verify(result) == []


def test_numbers_and_flags_can_be_named_and_a_loss_of_ones_own(
    tiny, unfair, mostly_north
):
    X, y, _ = mostly_north

    augmenter = make(tiny, unfair, no_harm={"clinic": 5.0, "age": 5.0, "smoker": 5.0})
    augmenter.fit_resample(X, y)

    assert augmenter.result_.verdict == "augment"
    groups = augmenter.result_.certificates[0].groups
    assert [g.column for g in groups] == ["clinic"] * 2 + ["age"] * 2 + ["smoker"] * 2
    assert verify(augmenter.result_) == []


def test_regression_too(tiny, unfair, mostly_north):
    X, _, cost = mostly_north

    augmenter = make(tiny, unfair, no_harm="clinic")
    augmenter.fit_resample(X, cost)

    assert augmenter.result_.verdict == "no_gain"
    assert "clinic (south)" in augmenter.result_.why


def test_a_column_that_is_not_learned_can_be_named(tiny, unfair, mostly_north):
    X, y, _ = mostly_north
    frame = X.assign(ward=["a", "b"] * (len(X) // 2))

    augmenter = make(tiny, unfair, no_harm=["ward"], kinds={"ward": "identifier"})
    augmenter.fit_resample(frame, y)

    assert [g.value for g in augmenter.result_.certificates[0].groups] == ["a", "b"]


@pytest.mark.parametrize(
    ("no_harm", "told"),
    [
        (["clinik"], r"no_harm='clinik' .* Did you mean 'clinic'\?"),
        ({"clinic": -1.0}, r"no_harm\['clinic'\]=-1.0 .* from 0"),
        ({"clinic": "much"}, r"no_harm\['clinic'\]='much'"),
    ],
)
def test_what_cannot_be_used_is_refused_with_the_way_out(
    tiny, helpful, patients, no_harm, told
):
    X, y, _ = patients

    with pytest.raises(UserInputError, match=told):
        make(tiny, helpful, no_harm=no_harm).fit_resample(X, y)


def test_the_papers_protocol_cannot_guard_groups(tiny_paper, helpful, patients):
    X, y, _ = patients

    with pytest.raises(UserInputError, match="paper's protocol"):
        make(tiny_paper, helpful, no_harm=["clinic"]).fit_resample(X, y)


def test_a_kept_run_of_another_no_harm_is_not_taken_up(
    tiny, unfair, mostly_north, tmp_path
):
    X, y, _ = mostly_north
    make(tiny, unfair, checkpoint=tmp_path).fit_resample(X, y)

    guarded = make(tiny, unfair, checkpoint=tmp_path, no_harm=["clinic"])
    guarded.fit_resample(X, y)

    assert guarded.result_.verdict == "no_gain"


def test_the_one_call_takes_it(patients):
    X, y, _ = patients

    result = augment(
        X.assign(sick=y), "sick", budget=0, no_harm=["clinic"], random_state=0
    )

    assert result.verdict == "no_gain"
