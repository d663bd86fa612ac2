import numpy as np
import pytest

from tabtap.domain import Candidates


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
