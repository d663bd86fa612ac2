import warnings

import numpy as np
import pytest

from tabtap.errors import SmallerBatchWarning
from tabtap.proposal import Batches

FULL = [
    MemoryError(),
    RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB."),
    RuntimeError("MPS backend out of memory (MPS allocated: 9 GB)"),
    RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory"),
    RuntimeError("DefaultCPUAllocator: not enough memory: you tried to allocate"),
]


@pytest.fixture
def request_of(people):
    """Ask two members for 20 and 9 rows."""
    anchors = [people.take(np.arange(size)) for size in (20, 9)]
    masks = [np.ones(rows.missing.shape, bool) for rows in anchors]
    seeds = [np.arange(len(rows), dtype=np.uint64) for rows in anchors]
    return anchors, masks, seeds


def test_what_fits_is_drawn_at_once(noise_stack, request_of):
    stack = noise_stack((0, 1))

    Batches(stack).draw(*request_of, redraw_target=False)

    assert stack.calls == [[20, 9]]


@pytest.mark.parametrize("error", FULL, ids=str)
def test_what_does_not_fit_is_drawn_in_smaller_batches(
    noise_stack, request_of, content, error
):
    stack = noise_stack((0, 1), most_rows=6, error=error)
    whole = Batches(noise_stack((0, 1))).draw(*request_of, redraw_target=False)

    with pytest.warns(SmallerBatchWarning, match="20 rows") as warned:
        parts = Batches(stack).draw(*request_of, redraw_target=False)

    assert [content(rows) for rows in parts] == [content(rows) for rows in whole]
    assert stack.calls == [[20, 9], [10, 9], [5, 5], [5, 4], [5, 0], [5, 0]]
    assert len(warned) == 1


def test_the_smaller_batch_is_remembered_and_warned_of_once(noise_stack, request_of):
    stack = noise_stack((0, 1), most_rows=10, error=MemoryError())
    batches = Batches(stack)
    with pytest.warns(SmallerBatchWarning):
        batches.draw(*request_of, redraw_target=False)
    stack.calls.clear()

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        batches.draw(*request_of, redraw_target=False)

    assert stack.calls == [[10, 9], [10, 0]]


def test_a_single_row_that_does_not_fit_is_an_error(noise_stack, request_of):
    stack = noise_stack((0, 1), most_rows=0, error=MemoryError())

    with pytest.warns(SmallerBatchWarning), pytest.raises(MemoryError):
        Batches(stack).draw(*request_of, redraw_target=False)


def test_other_errors_are_not_taken_for_a_lack_of_memory(noise_stack, request_of):
    stack = noise_stack((0, 1), most_rows=5, error=RuntimeError("shapes differ"))

    with pytest.raises(RuntimeError, match="shapes differ"):
        Batches(stack).draw(*request_of, redraw_target=False)

    assert len(stack.calls) == 1


def test_no_rows_are_not_asked_for(noise_stack, people):
    stack, nobody = noise_stack((0,)), people.empty()
    seeds = np.zeros(0, dtype=np.uint64)

    made = Batches(stack).draw(
        [nobody], [nobody.missing > 0], [seeds], redraw_target=True
    )

    assert [len(rows) for rows in made] == [0]
    assert stack.calls == []
