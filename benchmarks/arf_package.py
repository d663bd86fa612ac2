"""Our ARF beside its authors' package, on cells of the main table.

    python benchmarks/arf_package.py --package-python PYTHON

``PYTHON`` has arfpy (see packages.py).  Both make 500 rows from the same real ones,
with their defaults; the paper's predictors are trained on each.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from tabtap.compare.predictors import mean_score, score_predictors
from tabtap.rivals import method_named
from tabtap.rng import stream
from tabtap.stopwatch import Stopwatch
from tabtap.study.cell import load_table
from tabtap.study.protocol import Repetition, repetition
from tabtap.study.sources import SOURCES
from tabtap.table import read_frame, write_frame

BUDGET, SEED = 500, 3

SCRIPT = Path(__file__).with_name("packages.py")


def package_rows(real: pd.DataFrame, target: str, python: Path) -> pd.DataFrame | None:
    """Return rows that the package makes; None if it fails."""
    with tempfile.TemporaryDirectory() as folder:
        given, made = Path(folder, "given.csv"), Path(folder, "made.csv")
        real.to_csv(given, index=False)
        command = [str(python), str(SCRIPT), "arf", str(given), str(made)]
        command += ["--target", target, "--n", str(BUDGET)]
        done = subprocess.run(command, capture_output=True, check=False)
        if done.returncode:
            return None
        return pd.read_csv(made, dtype={target: str})[list(real.columns)]


def score(part: Repetition, rows: pd.DataFrame, target: str) -> float:
    """Return the predictors' accuracy with rows added, in percent."""
    frames = [write_frame(part.real), rows, write_frame(part.test)]
    whole = pd.concat([f.astype({target: str}) for f in frames], ignore_index=True)
    table = read_frame(whole, target, task="classification")
    place = np.arange(len(table))
    n_train = len(table) - len(part.test)
    scores = score_predictors(table.take(place[:n_train]), table.take(place[n_train:]))
    return 100 * mean_score(scores, "accuracy")


def main(arguments: list[str] | None = None) -> None:
    """Print, for each table and size, both scores, means over splits."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--package-python", type=Path, required=True)
    parser.add_argument(
        "--tables", nargs="+", default=["mfeat-fourier", "steel-plates-fault"]
    )
    parser.add_argument("--n-real", type=int, nargs="+", default=[20, 50])
    parser.add_argument("--splits", type=int, default=3)
    given = parser.parse_args(arguments)
    for name in given.tables:
        table, target = load_table(name)[0], SOURCES[name].target
        for n_real in given.n_real:
            told = []
            for split in range(given.splits):
                part = repetition(table, n_real, split, seed=SEED).renumbered()
                rng = stream(SEED, "method", name, n_real, split)
                ours = method_named("ARF").make(part.real, BUDGET, rng, Stopwatch())
                real = write_frame(part.real).astype({target: str})
                theirs = package_rows(real, target, given.package_python)
                if theirs is None:
                    print(f"{name}, {n_real} rows, split {split}: the package failed")
                    continue
                own = 100 * mean_score(part.score(ours), "accuracy")
                told.append((own, score(part, theirs, target)))
            if told:
                means = np.mean(told, axis=0)
                print(
                    f"{name}, {n_real} rows: ours {means[0]:.1f}, arfpy {means[1]:.1f}"
                )


if __name__ == "__main__":
    main()
