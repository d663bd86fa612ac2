import numpy as np
import pytest

from tabtap.domain import GateContext
from tabtap.gates import NewRow

GATE = NewRow(0.1)


def judge(candidates, real, kept=None):
    context = GateContext(real, kept=real.empty() if kept is None else kept)
    return GATE.passes(candidates, context).tolist()


@pytest.fixture
def line(make_table):
    """Numbers one apart: the typical gap is 1 of them, whatever the unit."""
    return make_table(np.arange(20.0))


@pytest.mark.parametrize(
    ("cell", "new"),
    [(5.0, False), (5.05, False), (5.0999, False), (5.1001, True), (5.5, True)],
)
def test_nearer_than_a_tenth_of_the_typical_gap_is_a_copy(make_table, line, cell, new):
    assert judge(make_table([cell]), line) == [new]


@pytest.mark.parametrize("unit", [1e-9, 1e-6, 1e6, 1e200])
def test_the_unit_of_a_column_does_not_matter(make_table, unit):
    real = make_table(np.arange(20.0) * unit)
    candidates = make_table(np.array([5.0, 5.05, 5.5]) * unit)

    assert judge(candidates, real) == [False, False, True]


def test_kept_rows_count_like_real_ones(make_table, line):
    kept = make_table([5.5])

    assert judge(make_table([5.5, 5.55, 5.7]), line, kept) == [False, False, True]


def test_scores_are_distances_in_typical_gaps(make_table, line):
    context = GateContext(line, kept=make_table([8.25]))

    scores = GATE.scores(make_table([5.5, 8.5, 3.0]), context)

    assert scores["distance"] == pytest.approx([0.5, 0.25, 0.0])


def test_of_near_copies_in_one_batch_the_first_stays(make_table, line):
    # Three that differ, then a copy of the second: both of a pair must not go.
    batch = make_table([0.5, 1.5, 2.5, 1.5])
    context = GateContext(line, line.empty())

    assert GATE.firsts(batch, context).tolist() == [True, True, True, False]


def test_a_row_that_goes_takes_no_other_with_it(make_table, line):
    # Each is 0.08 from the next: the third is near the second only, which goes.
    batch = make_table([0.5, 0.58, 0.66, 0.74])
    context = GateContext(line, line.empty())

    assert GATE.firsts(batch, context).tolist() == [True, False, True, False]


def test_firsts_are_those_of_a_plain_search(make_table):
    rng = np.random.default_rng(0)
    real = make_table(np.zeros(40), numeric=rng.normal(size=(40, 2)))
    batch = make_table(np.zeros(60), numeric=rng.normal(size=(60, 2)) / 20)
    spread = real.numeric.std(axis=0)
    apart = np.linalg.norm(
        (batch.numeric[:, None] - batch.numeric[None]) / spread, axis=2
    ) / np.sqrt(2)
    own = np.linalg.norm((real.numeric[:, None] - real.numeric[None]) / spread, axis=2)
    np.fill_diagonal(own, np.inf)
    limit = 0.1 * np.median(own.min(axis=1)) / np.sqrt(2)
    expected = np.zeros(60, dtype=bool)
    for row in range(60):
        expected[row] = (apart[row, :row][expected[:row]] >= limit).all()

    firsts = GATE.firsts(batch, GateContext(real, real.empty()))

    assert 5 < expected.sum() < 55
    assert np.array_equal(firsts, expected)


def test_a_copy_is_refused_among_many_categories(make_table):
    codes = np.random.default_rng(0).integers(0, 5, size=(40, 8))
    real = make_table(np.zeros(40), categorical=codes)
    assert len(np.unique(codes, axis=0)) == 40
    fresh = codes[:1].copy()
    fresh[0, :4] = (fresh[0, :4] + 1) % 5
    candidates = make_table(np.zeros(2), categorical=np.concatenate([codes[:1], fresh]))

    assert judge(candidates, real) == [False, True]


def test_repeats_pass_where_real_rows_repeat_each_other(make_table):
    # Two yes/no columns have four rows to offer, and all of them are real.
    codes = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 5)
    real = make_table(np.zeros(20), categorical=codes)
    candidates = make_table(np.zeros(4), categorical=codes[:4])

    assert judge(candidates, real) == [True] * 4
    assert GATE.firsts(real, GateContext(real, real.empty())).all()


def test_repeats_pass_where_a_tenth_of_rows_of_categories_have_a_twin(make_table):
    codes = np.array([[k // 5, k % 5] for k in range(19)] + [[0, 0]])
    real = make_table(np.zeros(20), categorical=codes)  # 2 of 20 rows are twins

    assert judge(real, real) == [True] * 20


def test_a_few_repeated_rows_do_not_excuse_copies_of_numbers(make_table):
    numbers = np.concatenate([np.arange(15.0), np.arange(5.0)])
    real = make_table(numbers)

    assert judge(make_table([9.0, 9.5]), real) == [False, True]


def test_holes_are_compared_as_values(make_table):
    numbers = np.stack([np.arange(10.0), np.arange(10.0)], axis=1)
    numbers[4, 1] = np.nan
    real = make_table(np.zeros(10), numeric=numbers)
    candidates = make_table(np.zeros(2), numeric=[[4.0, np.nan], [5.0, np.nan]])

    assert judge(candidates, real) == [False, True]


@pytest.mark.parametrize("cell", [np.inf, -np.inf])
def test_an_infinite_number_is_near_nothing_and_warns_of_nothing(make_table, cell):
    numbers = np.stack([np.arange(10.0), np.arange(10.0)], axis=1)
    numbers[4, 1] = np.nan
    real = make_table(np.zeros(10), numeric=numbers)

    assert judge(make_table([0.0], numeric=[[4.0, cell]]), real) == [True]


def test_a_single_real_row_refuses_nothing(make_table):
    assert judge(make_table([1.0, 2.0]), make_table([1.0])) == [True, True]


def test_no_candidates_get_no_verdict(line):
    none = line.empty()

    assert judge(none, line) == []
    assert GATE.firsts(none, GateContext(line, none)).tolist() == []
