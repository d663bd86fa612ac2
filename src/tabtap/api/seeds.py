"""One whole number from whatever a user passes as random_state."""

from __future__ import annotations

import numbers
import secrets

import numpy as np

from tabtap.errors import bad_setting


def seed_of(random_state: object) -> int:
    """Return the seed that a ``random_state`` stands for.

    Parameters
    ----------
    random_state : None, int, numpy RandomState or Generator
        None draws a fresh seed, which the result records.

    Examples
    --------
    >>> seed_of(7)
    7
    """
    if random_state is None:
        return secrets.randbits(31)
    if isinstance(random_state, numbers.Integral) and int(random_state) >= 0:
        return int(random_state)
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    must = "be None, a whole number from 0, a RandomState or a Generator"
    raise bad_setting("random_state", random_state, must, "Try 0.")
