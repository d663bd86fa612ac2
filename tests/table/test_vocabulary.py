import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabtap.errors import UserInputError
from tabtap.table import Vocabulary

# Level 0 four times, 2 three times, 3 twice, 5 and 6 once; 1 and 4 never.
CODES = np.array([0, 0, 0, 0, 2, 2, 2, 3, 3, 5, 6])


def test_levels_that_fit_get_a_token_each():
    vocabulary = Vocabulary.of(CODES, n_levels=7, cap=5)

    assert vocabulary.own.tolist() == [0, 2, 3, 5, 6]
    assert vocabulary.rare_token is None
    assert vocabulary.n_tokens == 6


def test_levels_that_do_not_fit_share_the_rare_token():
    vocabulary = Vocabulary.of(CODES, n_levels=7, cap=4)

    assert vocabulary.own.tolist() == [0, 2, 3]
    assert vocabulary.rare.tolist() == [5, 6]
    assert vocabulary.tokens(np.array([0, 2, 3, 5, 6])).tolist() == [0, 1, 2, 3, 3]


def test_an_unseen_level_is_rare_or_else_unknown():
    unseen = np.array([1, 4])
    with_bucket = Vocabulary.of(CODES, n_levels=7, cap=4)
    without = Vocabulary.of(CODES, n_levels=7, cap=9)

    assert with_bucket.tokens(unseen).tolist() == [with_bucket.rare_token] * 2
    assert without.tokens(unseen).tolist() == [without.unknown_token] * 2


def test_missing_is_a_token_only_if_the_training_rows_had_holes():
    full = Vocabulary.of(CODES, n_levels=7, cap=9)
    holed = Vocabulary.of(np.append(CODES, -1), n_levels=7, cap=9)
    hole = np.array([-1])

    assert full.missing_token is None
    assert full.tokens(hole).tolist() == [full.unknown_token]
    assert holed.tokens(hole).tolist() == [holed.missing_token]
    assert holed.levels(np.array([holed.missing_token]), np.zeros(1)).tolist() == [-1]


def test_only_the_unknown_token_is_never_generated():
    vocabulary = Vocabulary.of(np.append(CODES, -1), n_levels=7, cap=4)

    assert vocabulary.can_generate.tolist() == [True, True, True, True, True, False]
    assert vocabulary.unknown_token == 5


def test_a_rare_token_decodes_to_rare_levels_by_frequency():
    codes = np.repeat([0, 1, 2], [50, 3, 1])
    vocabulary = Vocabulary.of(codes, n_levels=3, cap=2)
    uniforms = np.array([0.0, 0.74, 0.75, np.nextafter(1, 0)])

    levels = vocabulary.levels(np.full(4, vocabulary.rare_token), uniforms)

    assert levels.tolist() == [1, 1, 2, 2]


def test_a_column_without_any_value_can_only_be_missing():
    vocabulary = Vocabulary.of(np.full(5, -1), n_levels=3, cap=8)

    assert vocabulary.n_tokens == 2
    assert vocabulary.can_generate.tolist() == [True, False]


def test_memory_grows_with_levels_not_with_levels_times_rows():
    n_levels = 100_000
    vocabulary = Vocabulary.of(np.arange(n_levels), n_levels, cap=64)

    held = (
        vocabulary.own.nbytes + vocabulary.rare.nbytes + vocabulary.rare_counts.nbytes
    )

    assert vocabulary.n_tokens == 65
    assert held <= 16 * n_levels


def test_a_cap_below_two_is_refused():
    with pytest.raises(UserInputError, match="cap=1 is not usable"):
        Vocabulary.of(CODES, n_levels=7, cap=1)


@given(
    codes=st.lists(st.integers(-1, 30), min_size=1, max_size=80),
    cap=st.integers(2, 40),
    seed=st.integers(0, 9),
)
@settings(max_examples=100, deadline=None)
def test_every_generated_token_decodes_to_a_level_that_was_seen(codes, cap, seed):
    codes = np.array(codes)
    vocabulary = Vocabulary.of(codes, n_levels=31, cap=cap)
    tokens = vocabulary.tokens(codes)
    uniforms = np.random.default_rng(seed).random(len(codes))

    decoded = vocabulary.levels(tokens, uniforms)

    own = tokens != (-9 if vocabulary.rare_token is None else vocabulary.rare_token)
    assert (decoded[own] == codes[own]).all()
    assert set(decoded.tolist()) <= set(codes.tolist())
    assert vocabulary.can_generate[tokens].all()
    assert vocabulary.n_tokens <= cap + 2
