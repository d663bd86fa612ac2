import numpy as np
import pytest
import torch

from tabtap.evaluate.tabpfn_v1 import (
    Question,
    Rows,
    answer,
    ask,
    conclude,
    permutations,
)


class CountsLabels:
    """A network whose answer is known: how often each label is in the context."""

    def __init__(self):
        self.batch_sizes = []

    def logits(self, batch):
        self.batch_sizes.append(len(batch.context))
        is_label = batch.labels[..., None] == torch.arange(10)
        counts = (is_label & batch.is_row[..., None]).sum(dim=1).float()
        # Times 0.8, which is what answers are divided by.
        scores = 0.8 * counts.log().clamp(min=-50)
        return scores[:, None].expand(-1, batch.queries.shape[1], -1)


def question(labels, n_queries=3):
    labels = np.asarray(labels)
    features = np.zeros((len(labels), 2))
    return Question(features, labels, int(labels.max()) + 1, np.zeros((n_queries, 2)))


def rows_of(labels, n_columns=3):
    labels = np.asarray(labels)
    features = np.arange(len(labels) * n_columns, dtype=float).reshape(-1, n_columns)
    classes = np.unique(labels)
    return Rows(
        features, labels, classes, features[:2], is_cut=False, is_narrowed=False
    )


def test_answers_come_in_the_order_of_questions_whatever_the_batches():
    labels = [[0, 1], [0] * 30 + [1] * 10, [0, 0, 1, 2], [0] * 31 + [1] * 10]
    network = CountsLabels()

    found = answer(network, [question(some) for some in labels])

    for some, probabilities in zip(labels, found, strict=True):
        expected = np.bincount(some) / len(some)
        assert np.allclose(probabilities, np.tile(expected, (3, 1)))
    assert sorted(network.batch_sizes) == [1, 1, 2]


def test_very_many_queries_are_asked_in_parts():
    network = CountsLabels()

    (found,) = answer(network, [question([0, 0, 1], n_queries=5000)])

    assert found.shape == (5000, 2)
    assert np.allclose(found, [2 / 3, 1 / 3])


def test_a_question_without_queries_has_an_empty_answer():
    (found,) = answer(CountsLabels(), [question([0, 1], n_queries=0)])

    assert found.shape == (0, 2)


def test_the_first_permutation_changes_nothing_and_all_differ():
    found = permutations(4, 3, 10, seed=0)

    assert found[0] == (0, 0)
    assert len(set(found)) == 10
    assert all(0 <= roll < 4 and 0 <= shift < 3 for roll, shift in found)


def test_there_are_no_more_permutations_than_there_are():
    assert len(permutations(2, 3, 100, seed=0)) == 6
    assert permutations(0, 1, 5, seed=0) == [(0, 0)]


@pytest.mark.parametrize("n_classes", [3, 12])
def test_labels_come_back_from_every_permutation(n_classes):
    labels = np.repeat(np.arange(n_classes), np.arange(1, n_classes + 1))
    rows = rows_of(labels)
    asked = ask(rows, n_permutations=6, seed=0)
    found = [answer(CountsLabels(), member) for member in asked]

    probabilities = conclude(rows, found, n_permutations=6, seed=0)

    assert np.allclose(probabilities, np.bincount(labels) / len(labels))


def test_more_classes_than_ten_are_asked_one_against_the_rest():
    (member,) = ask(rows_of(np.arange(11)), n_permutations=1, seed=0)

    assert len(member) == 11
    assert [some.labels.tolist() for some in member] == np.eye(11).tolist()


def test_columns_of_context_and_queries_are_rolled_together():
    rows = rows_of([0, 1, 0])

    for (some,) in ask(rows, n_permutations=5, seed=0):
        assert np.array_equal(some.context[:2], some.queries)
