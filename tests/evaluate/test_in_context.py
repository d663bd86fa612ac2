import numpy as np
import pytest

from tabtap.errors import UserInputError
from tabtap.evaluate.in_context import answer_in_context


class Notebook:
    """Writes down what it is asked, and answers with the average."""

    def __init__(self):
        self.asked = []

    def classify(self, asked):
        self.asked.append(asked)
        shares = np.bincount(asked.target) / len(asked.target)
        return np.tile(shares, (len(asked.queries), 1))

    def estimate(self, asked):
        self.asked.append(asked)
        n_queries = len(asked.queries)
        return np.arange(n_queries) / 100, np.full(n_queries, 0.25)


@pytest.fixture
def notebook():
    return Notebook()


@pytest.fixture
def ask(notebook):
    def ask(contexts, queries):
        return answer_in_context(
            contexts,
            queries,
            classify=notebook.classify,
            estimate=notebook.estimate,
        )

    return ask


def test_numbers_come_first_and_holes_are_handed_over(build_table, ask, notebook):
    # The column of 2.0 says nothing, and level 2 is not in the context.
    features = [1.0, np.nan, -4.0, 3.0], [2.0] * 4, np.array([0, -1, 1, 2])
    table = build_table([0, 1, 0, 1], *features)

    ask([table.take(np.arange(3))], [table])

    (asked,) = notebook.asked
    known = [[1.0, 0.0], [np.nan, np.nan], [-4.0, 1.0]]
    assert np.array_equal(asked.context, known, equal_nan=True)
    last = [3.0, np.nan]
    assert np.array_equal(asked.queries[:4], [*known, last], equal_nan=True)
    assert asked.categorical == [1]


def test_queries_fill_whole_blocks_and_answers_are_theirs_alone(
    build_table, ask, notebook
):
    context = build_table(np.arange(4.0), [1.0, 2.0, 4.0, 8.0])

    three, seventeen = ask(
        [context, context],
        [context.take(np.arange(3)), context.take(np.arange(17) % 4)],
    )

    assert [len(asked.queries) for asked in notebook.asked] == [16, 32]
    assert np.array_equal(notebook.asked[0].queries[3:6], notebook.asked[0].queries[:3])
    assert [len(three), len(seventeen)] == [3, 17]


def test_targets_are_standardised_and_answers_put_back(build_table, ask, notebook):
    # Mean 1e9 and deviation 2, which float32 could not tell apart.
    context = build_table(1e9 + np.array([-2.0, 2.0]), [0.0, 1.0])

    (found,) = ask([context], [context])

    assert notebook.asked[0].target.tolist() == [-1.0, 1.0]
    assert found.mean.tolist() == [1e9, 1e9 + 0.02]
    assert found.variance.tolist() == [1.0, 1.0]


def test_classes_are_coded_without_gaps_and_spread_again(build_table, ask, notebook):
    context = build_table([0, 2, 2, 3], [1.0, 2.0, 3.0, 4.0])

    (found,) = ask([context], [context.take(np.arange(1))])

    assert notebook.asked[0].target.tolist() == [0, 1, 1, 2]
    assert found.probabilities.tolist() == [[0.25, 0.0, 0.5, 0.25]]


def test_numbers_too_large_for_a_network_are_brought_into_reach(
    build_table, ask, notebook
):
    context = build_table([0, 1, 1], [1e300, -1e300, 5e299])
    far = build_table([0, 1, 1], [-1.7e308, 1.7e308, 0.0])

    ask([context], [far])

    (asked,) = notebook.asked
    assert np.abs(asked.context).max() <= 1.0
    assert np.isfinite(asked.queries.astype(np.float32)).all()
    assert np.sign(asked.queries[:3, 0]).tolist() == [-1.0, 1.0, 0.0]


@pytest.mark.parametrize("rows", [[0, 2], [1]], ids=["one class", "one row"])
def test_one_class_is_certain_without_a_question(build_table, ask, notebook, rows):
    table = build_table([0, 1, 0], [1.0, 2.0, 3.0])

    (found,) = ask([table.take(np.array(rows))], [table])

    assert notebook.asked == []
    assert (found.probabilities[:, table.target[rows[0]]] == 1).all()


def test_where_no_column_varies_the_shares_are_the_answer(build_table, ask, notebook):
    labels = build_table([0, 1, 1, 1], [7.0] * 4)
    numbers = build_table([1.0, 1.0, 3.0, 3.0], [7.0] * 4)

    (shares,) = ask([labels], [labels])
    (moments,) = ask([numbers], [numbers])

    assert notebook.asked == []
    assert shares.probabilities.tolist() == [[0.25, 0.75]] * 4
    assert moments.mean.tolist() == [2.0] * 4
    assert moments.variance.tolist() == [1.0] * 4


def test_a_constant_target_and_no_queries_need_no_question(build_table, ask, notebook):
    constant = build_table([5.0, 5.0], [1.0, 2.0])
    varied = build_table([1.0, 2.0], [1.0, 2.0])

    same, nothing = ask([constant, varied], [varied, varied.empty()])

    assert notebook.asked == []
    assert (same.mean.tolist(), same.variance.tolist()) == ([5.0] * 2, [0.0] * 2)
    assert len(nothing) == 0


def test_an_empty_context_is_refused(build_table, ask):
    table = build_table([0, 1], [1.0, 2.0])

    with pytest.raises(UserInputError, match="no rows to learn from"):
        ask([table.empty()], [table])
