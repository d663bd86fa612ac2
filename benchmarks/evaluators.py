"""How quick and how good the evaluators are, and the v1 package beside ours.

Run: ``python benchmarks/evaluators.py --out evaluators.jsonl``, with ``--package-python
PATH`` to ask the package tabpfn 0.1.11 too (packages.py says what PATH needs), then
``python benchmarks/evaluators_page.py --records evaluators.jsonl``.

Three parts: CPU milliseconds for one utility question, one thread, the least of some
repeats; accuracy or RMSE on small contexts of scikit-learn's tables; the same
questions asked of the package's own estimator.  One JSON line for each measurement.
A part may be measured again into the same file: of one commit's times the least counts.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch
import torch.nn.functional as F
from contenders import (
    METRICS,
    N_FOLDS,
    TABLES,
    Question,
    ask,
    ask_package,
    contenders,
    real_question,
    score,
    utility_question,
)
from evaluators_page import AVERAGED, speed_table
from records import Record, keep_all, said_of_cpu, stamp
from threadpoolctl import threadpool_limits

from tabtap.table.schema import Task

TASKS: tuple[Task, ...] = ("classification", "regression")
SIZES = ((40, 30), (40, 76), (300, 30), (300, 76))
"""Context rows and features of the utility questions."""

TOO_SLOW_SECONDS = 30.0
"""What took longer is not asked larger questions."""

CONTEXTS = (20, 50, 200)
MEMBERS = (1, 3, 32)
"""What the package averages over: one, its default, and what its authors report."""

MEMBERS_SCORED = (1, 3)
PRODUCT_REPEATS = 200


def measure_speed(repeats: int) -> Iterator[Record]:
    """Yield CPU seconds of every evaluator for every utility question."""
    for task in TASKS:
        found, absent = contenders(task)
        for name, why in absent.items():
            yield {"part": "absent", "task": task, "evaluator": name, "why": why}
        too_slow: set[str] = set()
        for n_context, n_features in SIZES:
            question = utility_question(n_context, n_features, task)
            for name, evaluator in found.items():
                if name in too_slow:
                    continue
                answer = ask(evaluator, question, repeats)
                if answer.seconds > TOO_SLOW_SECONDS:
                    too_slow.add(name)
                yield {
                    **{"part": "speed", "task": task, "evaluator": name},
                    **{"n_context": n_context, "n_features": n_features},
                    **{"seconds": answer.seconds, "repeats": repeats},
                }


def measure_limit() -> Iterator[Record]:
    """Yield what the forward of TabPFN v1 computes, and how quick the CPU could be."""
    for n_context in sorted({size for size, _ in SIZES}):
        question = utility_question(n_context, 2, "classification")
        n_queries = len(question.queries[0])
        n_rows = N_FOLDS * (n_context + n_queries)
        yield {
            **{"part": "limit", "n_context": n_context, "n_queries": n_queries},
            "operations": forward_operations(N_FOLDS, n_context, n_queries),
            "rate": product_rate(n_rows, PRODUCT_REPEATS),
            "instructions": instructions(),
        }


def measure_quality(seeds: Sequence[int]) -> Iterator[Record]:
    """Yield the score of every evaluator on every context of the real tables."""
    # Made once: what loads weights does so at the first question, of 20 rows.
    found = {task: contenders(task)[0] for task in TASKS}
    for table, n_context, seed, question in _real_questions(seeds):
        task = TABLES[table][0]
        for name, evaluator in found[task].items():
            answer = ask(evaluator, question, repeats=1)
            yield {
                **{"part": "quality", "task": task, "table": table, "seed": seed},
                **{"n_context": n_context, "evaluator": name},
                "metric": METRICS[task][0],
                "score": score(question, answer.predictions, task),
                "seconds": answer.seconds,
            }


def measure_package(
    python: Path, repeats: int, seeds: Sequence[int]
) -> Iterator[Record]:
    """Yield seconds and scores of the v1 package's own estimator, beside our seconds.

    Ours are measured once more, right before: both meet the machine in one state.
    """
    found = contenders("classification")[0]
    for n_context, n_features in SIZES:
        question = utility_question(n_context, n_features, "classification")
        for name in [name for name in AVERAGED if name in found]:
            yield {
                **{"part": "package speed", "evaluator": name, "repeats": repeats},
                **{"n_context": n_context, "n_features": n_features},
                "seconds": ask(found[name], question, repeats).seconds,
            }
    for members in MEMBERS:
        # A minute for 32 members and 300 rows tells what 40 rows tell already.
        sizes = SIZES if members < max(MEMBERS) else SIZES[:2]
        questions = [utility_question(*size, "classification") for size in sizes]
        answers = ask_package(python, questions, members, repeats)
        for (n_context, n_features), answer in zip(sizes, answers, strict=True):
            yield {
                **{"part": "package speed", "members": members, "repeats": repeats},
                **{"n_context": n_context, "n_features": n_features},
                "seconds": answer.seconds,
            }
    yield from _package_quality(python, seeds)


def _package_quality(python: Path, seeds: Sequence[int]) -> Iterator[Record]:
    places = [
        place
        for place in _real_questions(seeds)
        if TABLES[place[0]][0] == "classification"
    ]
    for members in MEMBERS_SCORED:
        answers = ask_package(python, [place[-1] for place in places], members, 1)
        for (table, n_context, seed, asked), answer in zip(
            places, answers, strict=True
        ):
            yield {
                **{"part": "package quality", "members": members, "table": table},
                **{"n_context": n_context, "seed": seed},
                "score": score(asked, answer.predictions, "classification"),
                "seconds": answer.seconds,
            }


def _real_questions(
    seeds: Sequence[int],
) -> Iterator[tuple[str, int, int, Question]]:
    for table in TABLES:
        for n_context in CONTEXTS:
            for seed in seeds:
                question = real_question(table, n_context, seed)
                if question is not None:
                    yield table, n_context, seed, question


# ---- How far a forward of TabPFN v1 is from what the CPU can do.
#
# Nearly all of a forward is matrix products.  Their operations, divided by the rate of
# a plain product of the same size, are the least time that this network can take here.


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
    flags = said_of_cpu("flags", listing)
    if flags is None:
        return None
    return [name for name in INSTRUCTIONS if name in flags.split()]


def _parts(options: argparse.Namespace) -> Iterator[Record]:
    """Yield measurements of the parts asked for, as soon as each is known."""
    seeds = range(options.seeds)
    if "speed" in options.parts:
        yield from measure_limit()
        yield from measure_speed(options.repeats)
    if "package" in options.parts and options.package_python:
        yield from measure_package(options.package_python, options.repeats, seeds)
    if "quality" in options.parts:
        yield from measure_quality(seeds)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parts = ("speed", "package", "quality")
    parser.add_argument("--parts", nargs="+", default=parts, choices=parts)
    parser.add_argument("--repeats", type=int, default=7, help="most for one question")
    parser.add_argument("--seeds", type=int, default=5, help="contexts of each table")
    parser.add_argument(
        "--package-python", type=Path, help="a Python that has tabpfn 0.1.11"
    )
    parser.add_argument("--out", type=Path, help="file of JSON lines to add to")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, write each measurement as soon as it is known, and print the times."""
    options = _options(arguments)
    records = []
    found = ([record] for record in _parts(options))
    for (record,) in keep_all(found, options.out, stamp()):
        records.append(record)
        names = ("part", "table", "n_context", "n_features", "evaluator", "members")
        print(*(record[name] for name in names if name in record), flush=True)
    for task in TASKS:
        print(f"\nCPU milliseconds, {task}", speed_table(records, task), sep="\n")


if __name__ == "__main__":
    main()
