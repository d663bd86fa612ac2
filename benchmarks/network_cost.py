"""How far a forward of TabPFN v1 is from what the CPU can do.

Read by: evaluators.

Nearly all of a forward is matrix products.  Their operations, divided by the rate of a
plain product of the same size, are the least time that this network can take here.
"""

from __future__ import annotations

import time
from pathlib import Path

import torch
import torch.nn.functional as F
from threadpoolctl import threadpool_limits

WIDTH = 512
HIDDEN = 1024
N_LAYERS = 12
N_FEATURES = 100
N_SCORES = 10
INSTRUCTIONS = ("avx2", "fma", "avx512f", "avx512_bf16", "amx_bf16")
"""What decides how quick a product is, by the names Linux gives them."""


def forward_operations(n_pairs: int, n_context: int, n_queries: int) -> float:
    """Count the multiplications and additions of the products in one forward.

    Parameters
    ----------
    n_pairs : int
        Contexts asked together.
    n_context, n_queries : int
        Rows of each context, and queries of each.
    """
    mixing = 2 * WIDTH * WIDTH  # queries of the attention, and what it gives
    memory = 2 * WIDTH * WIDTH  # keys and values
    network = 2 * WIDTH * HIDDEN
    attention = 2 * n_context * WIDTH
    passing = mixing + network + attention
    # The last layer needs of the context nothing but keys and values.
    context = N_LAYERS * memory + (N_LAYERS - 1) * passing + (N_FEATURES + 1) * WIDTH
    query = N_LAYERS * passing + N_FEATURES * WIDTH + (WIDTH + N_SCORES) * HIDDEN
    return 2.0 * n_pairs * (n_context * context + n_queries * query)


def product_rate(n_rows: int, repeats: int) -> float:
    """Return operations per CPU second of a plain float32 product, one thread.

    Rows of the network's width become rows of its hidden width; the best of repeats.
    """
    rows, weight = torch.ones(n_rows, WIDTH), torch.ones(HIDDEN, WIDTH)
    spent = []
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    with threadpool_limits(1), torch.inference_mode():
        for _ in range(repeats):
            started = time.process_time()
            F.linear(rows, weight)
            spent.append(time.process_time() - started)
    torch.set_num_threads(before)
    return 2.0 * n_rows * WIDTH * HIDDEN / min(spent[1:] or spent)


def instructions(listing: Path = Path("/proc/cpuinfo")) -> list[str] | None:
    """Return which of ``INSTRUCTIONS`` the CPU has; None where it cannot be known."""
    if not listing.is_file():
        return None
    for line in listing.read_text(encoding="utf-8").splitlines():
        if line.startswith("flags"):
            flags = line.partition(":")[2].split()
            return [name for name in INSTRUCTIONS if name in flags]
    return None
