import numpy as np
import pytest
from questions import N_FOLDS, real_question, utility_question


def test_a_utility_question_asks_a_fifth_of_each_fold_about_the_other_folds():
    question = utility_question(40, 30, "classification")

    assert [len(context) for context in question.contexts] == [40] * N_FOLDS
    assert [len(asked) for asked in question.queries] == [2] * N_FOLDS
    for context, asked in zip(question.contexts, question.queries, strict=True):
        assert context.numeric.shape[1] == 30
        both = np.vstack([context.numeric, asked.numeric])
        assert len(np.unique(both, axis=0)) == 42


def test_a_utility_question_about_numbers_has_a_learnable_target():
    question = utility_question(300, 30, "regression")

    context = question.contexts[0]
    assert context.schema.target.task == "regression"
    assert np.allclose(context.target_values, context.numeric[:, :3].sum(axis=1))
    assert len(question.queries[0]) == 15


def test_real_contexts_keep_the_shares_of_classes_and_share_no_row_with_queries():
    question = real_question("digits", 50, seed=0)

    (context,), (asked,) = question.contexts, question.queries
    assert np.bincount(context.condition).tolist() == [5] * 10
    assert len(asked) == 200


@pytest.mark.parametrize(("seed", "same"), [(0, True), (1, False)])
def test_a_seed_chooses_the_context(seed, same):
    first, second = real_question("wine", 20, 0), real_question("wine", 20, seed)

    equal = np.array_equal(first.contexts[0].numeric, second.contexts[0].numeric)
    assert equal is same


def test_a_table_without_rows_left_to_ask_makes_no_question():
    assert real_question("wine", 200, seed=0) is None
