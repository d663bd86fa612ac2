"""Tables without any signal: how often is a gain promised where there can be none.

    python benchmarks/noise.py --rows 20 40 --tables 24 --jobs 2

Labels are coins, features are normal numbers and a category.  Whatever is learned, the
expected score on fresh rows is one half; every promise is a false one.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
import pandas as pd
from records import hand_out

import tabtap


def noise(n_rows: int, seed: int) -> pd.DataFrame:
    """Return a table whose label has nothing to do with its features."""
    rng = np.random.default_rng(1000 + seed)
    label = np.where(rng.random(n_rows) < 0.5, "a", "b")
    frame = pd.DataFrame({f"x{i}": rng.normal(size=n_rows) for i in range(4)})
    frame["c"] = np.where(rng.random(n_rows) < 0.4, "red", "blue")
    frame["y"] = label
    return frame


def is_promised(n_rows: int, seed: int) -> bool:
    """Whether a run promises a gain on noise."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = tabtap.augment(
            noise(n_rows, seed), "y", preset="fast", budget=100, random_state=seed
        )
    return result.verdict == "augment"


def main(arguments: list[str] | None = None) -> None:
    """Print, for each size, how many tables were promised a gain."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[20, 40])
    parser.add_argument("--tables", type=int, default=24)
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args(arguments)
    for n_rows in given.rows:
        tasks = [(n_rows, seed) for seed in range(given.tables)]
        promised = sum(hand_out(is_promised, tasks, jobs=given.jobs))
        print(f"{n_rows} rows: a gain promised on {promised} of {given.tables}")


if __name__ == "__main__":
    main()
