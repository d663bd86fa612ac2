"""Print the sha256 of what some runs deliver, to lay beside those of another commit.

The hashes are of one machine and of one set of installed versions: record them before
a change that must not move numbers, and compare after it.

    python tests/guards/run_hashes.py > before.json
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import polars

import tabtap
from tabtap.datasets import load_penguins

BUDGET = 40


def birds(n_rows: int = 60):
    return load_penguins().dropna(subset=["sex"]).sample(n_rows, random_state=1)


def digest(result: tabtap.AugmentResult) -> str:
    """Hash the delivered rows, where they come from, and the certificates."""
    frame, target = result.augmented()
    text = [
        str(result.verdict),
        frame.to_pandas().to_csv() if hasattr(frame, "to_pandas") else frame.to_csv(),
        "" if target is None else str(list(target)),
        result.provenance.to_csv(),
        repr([str(c) for c in result.certificates]),
    ]
    return hashlib.sha256("\n".join(text).encode()).hexdigest()[:16]


def comparison() -> str:
    """Hash what the comparison of three methods says, its times left out."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "birds.csv")
        birds().to_csv(source, index=False)
        command = [sys.executable, "-m", "tabtap", "compare", str(source)]
        options = [
            "--target=sex",
            "--methods=Copies,Jitter,SMOTE",
            "--json",
            "--jobs=1",
        ]
        done = subprocess.run(
            [*command, *options], capture_output=True, text=True, check=False
        )
        told = json.loads(done.stdout)
    text = json.dumps(strip_times(told), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def strip_times(told):
    """Leave out whatever depends on the clock."""
    if isinstance(told, dict):
        kept = {k: v for k, v in told.items() if "second" not in k and "time" not in k}
        return {k: strip_times(v) for k, v in kept.items()}
    return [strip_times(v) for v in told] if isinstance(told, list) else told


def resumed() -> str:
    """Hash a run that goes on from a checkpoint."""
    with tempfile.TemporaryDirectory() as folder:
        settings = {"budget": BUDGET, "preset": "fast", "random_state": 3}
        tabtap.augment(birds(), "sex", checkpoint=folder, time_budget=0.01, **settings)
        return digest(tabtap.augment(birds(), "sex", checkpoint=folder, **settings))


def main() -> None:
    warnings.simplefilter("ignore")
    fast = {"budget": BUDGET, "preset": "fast"}
    hashes = {
        f"classes, seed {seed}": digest(
            tabtap.augment(birds(), "sex", random_state=seed, **fast)
        )
        for seed in range(3)
    }
    weights = birds().dropna(subset=["body_mass_g"])
    fast["random_state"] = 0
    hashes["numbers"] = digest(
        tabtap.augment(weights, "body_mass_g", task="regression", **fast)
    )
    hashes["polars"] = digest(
        tabtap.augment(polars.from_pandas(birds(40)), "sex", **fast)
    )
    hashes["resumed"] = resumed()
    hashes["comparison"] = comparison()
    print(json.dumps(hashes, indent=1))  # noqa: T201


if __name__ == "__main__":
    main()
