"""Packages of other authors do their work here, each in a Python that has it.

Each wants older libraries than tabtap, so it needs a Python of its own, and nothing of
tabtap is imported here.  Run by contenders, rivals and arf_package, which are told
that Python with ``--package-python``:

- ``tabpfn``: ``pip install tabpfn==0.1.11 scikit-learn==1.5.2 torch safetensors``;
  reads an npz of matrices and the weights as safetensors, prints one line of JSON.
- ``ctgan``: ``pip install 'ctgan>=0.12,<0.13'``; reads an npz of numbers and codes
  without holes, writes one of drawn ones, prints the CPU seconds.
- ``arf``: ``pip install arfpy "numpy<2" "pandas<2.3"``; reads a CSV file, writes one of
  drawn rows.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
import typing
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

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


def tabpfn_answers(
    file: Any,  # noqa: ANN401  what numpy.load gives
    folder: Path,
    n_members: int,
    repeats: int,
) -> Iterator[dict[str, Any]]:
    """Yield probabilities and the least CPU seconds for each question of a file."""
    import torch.nn.modules.transformer

    # The package takes this name from torch, where newer versions no longer have it.
    torch.nn.modules.transformer.Optional = typing.Optional
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


def ask_tabpfn(options: argparse.Namespace) -> None:
    """Let the estimator of tabpfn 0.1.11 answer questions, and print what it says."""
    import torch
    from safetensors.torch import load_file

    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as name, np.load(options.questions) as file:
        place = Path(name) / CHECKPOINT
        place.parent.mkdir()
        torch.save((load_file(options.weights), None, SIZES), place)
        told = tabpfn_answers(file, Path(name), options.members, options.repeats)
        told = list(told)
    print(json.dumps(told))


def draw_ctgan(options: argparse.Namespace) -> None:
    """Train CTGAN or TVAE, draw rows and write them."""
    import ctgan
    import pandas as pd
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(options.seed)
    np.random.seed(options.seed)  # noqa: NPY002  what the package draws from
    with np.load(options.rows) as file:
        numbers, codes = file["numbers"], file["codes"]
    n_numbers, width = numbers.shape[1], numbers.shape[1] + codes.shape[1]
    names = [f"x{place}" for place in range(width)]
    frame = pd.DataFrame(numbers, columns=names[:n_numbers])
    for place, name in enumerate(names[n_numbers:]):
        frame[name] = codes[:, place]
    started = time.process_time()
    model = getattr(ctgan, options.model)(cuda=False)
    model.fit(frame, discrete_columns=names[n_numbers:])
    drawn = model.sample(options.n)
    seconds = time.process_time() - started
    np.savez(
        options.drawn,
        numbers=drawn[names[:n_numbers]].to_numpy(dtype=np.float64),
        codes=drawn[names[n_numbers:]].to_numpy(dtype=np.int64),
    )
    print(seconds)


def draw_arf(options: argparse.Namespace) -> None:
    """Train an adversarial random forest, draw rows and write them."""
    import pandas as pd
    from arfpy import arf

    warnings.simplefilter("ignore")
    rows = pd.read_csv(options.rows, dtype={options.target: str})
    forest = arf.arf(x=rows, random_state=0, verbose=False)
    forest.forde()
    forest.forge(n=options.n).to_csv(options.drawn, index=False)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(required=True)
    tabpfn = commands.add_parser("tabpfn")
    tabpfn.set_defaults(work=ask_tabpfn)
    tabpfn.add_argument("questions", type=Path, help="npz")
    tabpfn.add_argument("weights", type=Path, help="safetensors")
    tabpfn.add_argument("--members", type=int, required=True)
    tabpfn.add_argument("--repeats", type=int, required=True)
    ctgan = commands.add_parser("ctgan")
    ctgan.set_defaults(work=draw_ctgan)
    ctgan.add_argument("rows", type=Path, help="npz with numbers and codes")
    ctgan.add_argument("drawn", type=Path, help="npz to write")
    ctgan.add_argument("--model", choices=("CTGAN", "TVAE"), required=True)
    ctgan.add_argument("--n", type=int, required=True)
    ctgan.add_argument("--seed", type=int, required=True)
    arf = commands.add_parser("arf")
    arf.set_defaults(work=draw_arf)
    arf.add_argument("rows", type=Path, help="CSV")
    arf.add_argument("drawn", type=Path, help="CSV to write")
    arf.add_argument("--target", required=True)
    arf.add_argument("--n", type=int, required=True)
    return parser


def main() -> None:
    """Do what one of the packages is asked for."""
    options = _parser().parse_args()
    options.work(options)


if __name__ == "__main__":
    main()
