"""The estimator of the package tabpfn 0.1.11 answers questions; run by package.

Needs a Python of its own, because the package wants older libraries than tabtap:
``pip install tabpfn==0.1.11 scikit-learn==1.5.2 torch safetensors``.  Nothing of tabtap
is imported here.

Reads an npz of matrices and the weights as safetensors; prints one line of JSON.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.modules.transformer
from safetensors.torch import load_file

# The package takes this name from torch, where newer versions no longer have it.
torch.nn.modules.transformer.Optional = typing.Optional

CHECKPOINT = Path("models_diff", "prior_diff_real_checkpoint_n_0_epoch_42.cpkt")
MAX_SECONDS = 5.0
"""CPU seconds after which a question is not asked again."""

SIZES = {
    **{"emsize": 512, "nhid_factor": 2, "nlayers": 12, "nhead": 4, "dropout": 0.0},
    **{"num_features": 100, "max_num_classes": 10, "efficient_eval_masking": True},
    **{"differentiable_hps_as_style": False, "normalize_by_used_features": True},
    **{"normalize_to_ranking": False, "normalize_with_sqrt": False},
}
"""What the package's own checkpoint says of the network and its inputs."""


def answers(
    file: Any,  # noqa: ANN401  what numpy.load gives
    folder: Path,
    n_members: int,
    repeats: int,
) -> Iterator[dict[str, Any]]:
    """Yield probabilities and the least CPU seconds for each question of a file."""
    from tabpfn import TabPFNClassifier

    model = TabPFNClassifier(
        device="cpu", base_path=str(folder), N_ensemble_configurations=n_members
    )
    for number in range(int(file["n_questions"])):
        pairs = [
            tuple(
                file[f"{number}/{fold}/{part}"] for part in ("rows", "labels", "asked")
            )
            for fold in range(int(file[f"{number}/n_folds"]))
        ]
        spent, found = [], []
        while len(spent) < repeats and sum(spent) < MAX_SECONDS:
            started = time.process_time()
            found = [model.fit(x, y).predict_proba(asked) for x, y, asked in pairs]
            spent.append(time.process_time() - started)
        told = [np.asarray(some).tolist() for some in found]
        yield {"seconds": min(spent), "probabilities": told}


def main() -> None:
    """Answer and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("questions", type=Path, help="npz")
    parser.add_argument("weights", type=Path, help="safetensors")
    parser.add_argument("--members", type=int, required=True)
    parser.add_argument("--repeats", type=int, required=True)
    options = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as name, np.load(options.questions) as file:
        place = Path(name) / CHECKPOINT
        place.parent.mkdir()
        torch.save((load_file(options.weights), None, SIZES), place)
        told = list(answers(file, Path(name), options.members, options.repeats))
    print(json.dumps(told))


if __name__ == "__main__":
    main()
