import pytest

from tabtap.errors import BadTableError, Problem, TapError, UserInputError, bad_setting


def test_a_bad_setting_is_told_with_what_it_must_be_and_the_fix():
    error = bad_setting("n_steps", 50, "be a multiple of 20", "Use 60.")

    assert isinstance(error, UserInputError)
    assert (
        str(error) == "n_steps=50 is not usable: it must be a multiple of 20. Use 60."
    )


def test_a_bad_table_lists_every_problem_with_its_place():
    error = BadTableError(
        [
            Problem("age", "holds inf (row 3)", "Drop it"),
            Problem(None, "is empty", "Add"),
        ]
    )

    assert "2 problems" in str(error)
    assert "column age: holds inf (row 3). Drop it" in str(error)
    assert "table: is empty. Add" in str(error)
    assert len(error.problems) == 2


@pytest.mark.parametrize("root", [TapError, ValueError])
def test_a_user_s_mistake_can_be_caught_either_way(root):
    with pytest.raises(root):
        raise BadTableError([Problem(None, "is empty", "Add rows")])
