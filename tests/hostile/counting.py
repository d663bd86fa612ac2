"""How many inputs each fuzzing test was given, told even if it was ended midway."""

import os
import re
from collections import Counter

N_TESTS = 20
N_INPUTS = int(os.environ.get("TABTAP_FUZZ", "450"))
"""Inputs for all fuzzing tests together."""

N_EACH = max(1, N_INPUTS // N_TESTS)

N_GIVEN: Counter[str] = Counter()
"""Inputs so far, by the test that they were given to."""


def count_input():
    """Count one input for the test that runs."""
    running = os.environ["PYTEST_CURRENT_TEST"]  # file::test[kind] (call)
    N_GIVEN[re.sub(r" \(\w+\)$", "", running.rpartition("::")[2])] += 1


def lines():
    """Return a line for each test: how many inputs it was given of those wanted."""
    each = [
        f"{name}: {n:,} of {N_EACH:,} inputs{'' if n >= N_EACH else ', NOT ALL'}"
        for name, n in N_GIVEN.items()
    ]
    return [*each, f"{N_GIVEN.total():,} inputs in {len(N_GIVEN)} tests"]
