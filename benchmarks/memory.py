"""Peak memory of fitting a large mixed table and drawing rows of it.

Run by: backbone, in a process of its own, so that the peak is of this work alone.
Prints one line of JSON.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence

import numpy as np
import pandas as pd

from tabtap.config import DiffusionConfig
from tabtap.diffusion import fit_backbone
from tabtap.table import Table, read_frame

N_ROWS = 100_000
N_NUMBERS = 30
N_CATEGORIES = 10
N_FEATURES = N_NUMBERS + N_CATEGORIES
N_SAMPLED = 1000
QUICK_STEPS = 20


def made_up_table(
    n_rows: int, *, n_numbers: int, n_categories: int, n_classes: int
) -> Table:
    """Return related numbers, categories of 2 to 11 levels, and even classes."""
    rng = np.random.default_rng(0)
    label = np.arange(n_rows) % n_classes
    numbers = rng.normal(size=(n_rows, n_numbers)) @ rng.normal(
        size=(n_numbers, n_numbers)
    )
    numbers += rng.normal(size=(n_classes, n_numbers))[label]
    frame = pd.DataFrame({f"number {i}": column for i, column in enumerate(numbers.T)})
    for place in range(n_categories):
        codes = rng.integers(2 + place, size=n_rows)
        levels = np.array([f"level {code}" for code in range(2 + place)], dtype=object)
        frame[f"category {place}"] = levels[codes]
    frame["class"] = label
    return read_frame(frame, "class", task="classification")


def peak_gigabytes() -> float | None:
    """Return the most memory this process has held, or None if it cannot be known."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    unit = 1 if sys.platform == "darwin" else 1024  # Linux counts in kilobytes
    return peak * unit / 1e9


def main(arguments: Sequence[str] | None = None) -> None:
    """Do the work and print what it took."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=N_ROWS)
    parser.add_argument("--quick", action="store_true", help="few training steps")
    options = parser.parse_args(arguments)
    table = made_up_table(
        options.rows, n_numbers=N_NUMBERS, n_categories=N_CATEGORIES, n_classes=2
    )
    n_steps = QUICK_STEPS if options.quick else None
    config = DiffusionConfig(n_steps=n_steps, device="cpu")
    rng = np.random.default_rng(0)
    started = time.process_time()
    backbone = fit_backbone(table, rng=rng, config=config)
    backbone.sample(N_SAMPLED, rng)
    found = {
        "peak_gb": peak_gigabytes(),
        "seconds": time.process_time() - started,
        "n_steps": backbone.training.n_steps,
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
