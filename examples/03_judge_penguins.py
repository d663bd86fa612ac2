"""Ask judges how well twenty penguins teach the species of the others.

Run it with ``make demo``, or as a script.  Nothing is fetched: without the weights of
TabPFN the ensemble judges, and says what it stands in for.
"""

from __future__ import annotations

import textwrap
import time
import warnings

import numpy as np

from tabtap.datasets import load_penguins
from tabtap.errors import EvaluatorFallbackWarning
from tabtap.evaluate import choose_evaluator, metric_of
from tabtap.table import read_frame

N_SPLITS = 5
N_CONTEXT = 20


def main() -> None:
    """Show accuracy and loss of the chosen judge and of two others."""
    table = read_frame(load_penguins(), target="species")
    rng = np.random.default_rng(0)
    orders = [rng.permutation(len(table)) for _ in range(N_SPLITS)]
    contexts = [table.take(order[:N_CONTEXT]) for order in orders]
    queries = [table.take(order[N_CONTEXT:]) for order in orders]

    with warnings.catch_warnings():
        # What it says is in the sentence shown below.
        warnings.simplefilter("ignore", EvaluatorFallbackWarning)
        chosen = choose_evaluator(task="classification")
    print("\n" + textwrap.fill(f"The judge is {chosen.why}", 79) + "\n")

    print(
        f"{N_CONTEXT} birds teach the species of {len(queries[0])}, {N_SPLITS} times:"
    )
    print("judge       accuracy   loss  seconds")
    names = dict.fromkeys([chosen.evaluator.name, "ensemble", "holdout"])
    for name in names:
        judge = choose_evaluator(name, task="classification").evaluator
        started = time.perf_counter()
        answers = judge.predict(contexts, queries)
        seconds = time.perf_counter() - started
        pairs = list(zip(answers, queries, strict=True))
        accuracy = np.mean([metric_of("accuracy").score(*pair) for pair in pairs])
        loss = -np.mean([metric_of("loss").score(*pair) for pair in pairs])
        print(f"{name:<10} {accuracy:>8.1%} {loss:>7.3f} {seconds:>8.1f}")


if __name__ == "__main__":
    main()
