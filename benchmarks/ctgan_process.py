"""CTGAN and TVAE of the package ctgan 0.12 draw rows; run by rivals.

Needs a Python of its own, because the package wants pandas below 3:
``pip install 'ctgan>=0.12,<0.13'``.  Nothing of tabtap is imported here.

Reads an npz of numbers and codes without holes, writes one of drawn ones, and prints
the CPU seconds.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import ctgan
import numpy as np
import pandas as pd
import torch


def main() -> None:
    """Train, draw and write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("rows", type=Path, help="npz with numbers and codes")
    parser.add_argument("drawn", type=Path, help="npz to write")
    parser.add_argument("--model", choices=("CTGAN", "TVAE"), required=True)
    parser.add_argument("--n", type=int, required=True)
    parser.add_argument("--seed", type=int, required=True)
    options = parser.parse_args()
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


if __name__ == "__main__":
    main()
