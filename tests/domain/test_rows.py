import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabtap.domain import WHOLE, Candidates, Lineages
from tabtap.table import Column, Kind, Schema, Target
from tabtap.table.table import blank, concat

# ---- Candidates.


@pytest.fixture
def rows(build_table):
    return build_table([0, 1, 0], np.array([1.0, 2.0, 3.0]), np.array([0, 1, 0]))


def candidates_of(rows, step=0, **scores):
    mask = np.arange(2 * len(rows)).reshape(len(rows), 2) % 3 == 0
    return Candidates(rows, mask, np.full(len(rows), step), scores)


@pytest.mark.parametrize("chosen", [[2, 0], [True, False, True]])
def test_taking_rows_takes_all_that_is_known_of_them(rows, chosen):
    whole = candidates_of(rows, 7, gap=np.array([0.1, 0.2, 0.3]))

    part = whole.take(np.array(chosen))

    numbers = np.arange(3)[np.array(chosen)]
    assert part.rows.cells[0].tolist() == (numbers + 1.0).tolist()
    assert part.regenerate.tolist() == whole.regenerate[numbers].tolist()
    assert part.step.tolist() == [7, 7]
    assert part.scores["gap"].tolist() == whole.scores["gap"][numbers].tolist()


def test_a_lineage_is_found_by_the_fold_it_has_not_seen(rows):
    whole = Candidates.joined(
        [candidates_of(rows.with_origin(unseen_fold=fold), fold) for fold in (1, 0, 1)]
    )

    own = whole.of_lineage(1)

    assert len(own) == 6
    assert set(own.rows.unseen_fold) == set(own.step) == {1}


def test_none_joins_with_any_of_the_same_schema(rows):
    whole = candidates_of(rows, gap=np.ones(3))

    joined = Candidates.joined([Candidates.none(rows), whole, Candidates.none(rows)])

    assert len(Candidates.none(rows)) == 0
    assert len(joined) == 3
    assert joined.regenerate.tolist() == whole.regenerate.tolist()
    assert joined.scores["gap"].tolist() == [1.0, 1.0, 1.0]
    assert joined.rows.cells[0].dtype == rows.cells[0].dtype


def test_a_score_that_only_some_parts_have_is_unknown_in_the_others(rows):
    joined = Candidates.joined(
        [candidates_of(rows, near=np.zeros(3)), candidates_of(rows, far=np.ones(3))]
    )

    assert joined.scores["near"].tolist()[:3] == [0.0] * 3
    assert np.isnan(joined.scores["near"][3:]).all()
    assert np.isnan(joined.scores["far"][:3]).all()


# ---- Lineages.


FOLD = np.array([0, 1, 2, 0, 1, 2])


@pytest.fixture(scope="module")
def schema():
    column = Column(name="y", kind=Kind.CATEGORY, dtype="int64", levels=(0,))
    target = Target(column=column, task="classification", position=0)
    return Schema(features=(), target=target)


def rows_of(schema, members):
    rows = blank(schema, np.zeros(len(members), np.int32))
    parts = [
        rows.take(np.array([i])).with_origin(unseen_fold=m)
        for i, m in enumerate(members)
    ]
    return concat([rows.empty(), *parts])


def test_crossfit_has_a_lineage_for_each_fold_that_has_not_seen_it():
    lineages = Lineages(FOLD, crossfit=True)

    assert lineages.members == (0, 1, 2)
    assert lineages.seen(1).tolist() == [0, 2, 3, 5]
    assert lineages.asked(1).tolist() == [1, 4]
    assert [lineages.judging(fold) for fold in range(3)] == [0, 1, 2]


def test_the_paper_s_lineage_has_seen_all_and_answers_for_every_fold():
    lineages = Lineages(FOLD, crossfit=False)

    assert lineages.members == (WHOLE,)
    assert lineages.seen(WHOLE).tolist() == list(range(6))
    assert [lineages.judging(fold) for fold in range(3)] == [WHOLE] * 3


def test_every_third_row_of_three_lineages_is_delivered(schema):
    lineages = Lineages(FOLD, crossfit=True)
    rows = rows_of(schema, [0, 1, 2, 0, 1, 2, 0, 1, 2])  # three rows of each

    chosen = lineages.delivered(rows)

    # The first of lineage 0, the second of lineage 1, the third of lineage 2.
    assert chosen.tolist() == [0, 4, 8]


def test_everything_of_a_single_lineage_is_delivered(schema):
    lineages = Lineages(FOLD, crossfit=False)

    assert lineages.delivered(rows_of(schema, [-1] * 5)).tolist() == list(range(5))


def test_held_by_gives_the_rows_of_a_lineage_in_order(schema):
    rows = rows_of(schema, [0, 1, 0, 2])

    held = Lineages(FOLD, crossfit=True).held_by(0, rows)

    assert held.unseen_fold.tolist() == [0, 0]


members = st.lists(st.integers(0, 2), max_size=30)


@given(first=members, more=members)
def test_rows_that_follow_do_not_change_which_were_delivered(schema, first, more):
    lineages = Lineages(FOLD, crossfit=True)

    before = lineages.delivered(rows_of(schema, first))
    after = lineages.delivered(rows_of(schema, first + more))

    assert after[after < len(first)].tolist() == before.tolist()
    assert (np.diff(after) > 0).all()


@given(n_rows=st.integers(0, 30))
def test_as_many_are_delivered_as_stood_beside_each_fold(schema, n_rows):
    rows = rows_of(schema, [0, 1, 2] * n_rows)

    assert len(Lineages(FOLD, crossfit=True).delivered(rows)) == n_rows


@given(held=members, more=members, budget=st.integers(0, 25))
def test_a_budget_is_delivered_exactly_if_there_are_rows_for_it(
    schema, held, more, budget
):
    lineages = Lineages(FOLD, crossfit=True)
    n_held = len(lineages.delivered(rows_of(schema, held)))

    n_rows = lineages.fitting(rows_of(schema, held), rows_of(schema, more), budget)

    counts = [more.count(member) for member in range(3)]
    cut = [member for member, n in enumerate(n_rows) for _ in range(n)]
    n_all = len(lineages.delivered(rows_of(schema, held + more)))
    n_after = len(lineages.delivered(rows_of(schema, held + cut)))
    assert (n_rows <= counts).all()
    assert n_after == max(n_held, min(budget, n_all))


def test_lineages_share_a_small_room_evenly(schema):
    lineages = Lineages(FOLD, crossfit=True)

    n_rows = lineages.fitting(
        rows_of(schema, []), rows_of(schema, [0, 1, 2] * 9), budget=4
    )

    assert n_rows.tolist() == [4, 4, 4]
