"""Is a person who follows the verdict better off, and is it the same tomorrow.

    python benchmarks/answers.py follow --workers 2
    python benchmarks/answers.py noise --workers 2
    python benchmarks/answers.py poison --workers 2
    python benchmarks/answers.py stable --workers 2
    python benchmarks/answers.py page

``follow``: the verdict on a few rows of many tables, and on rows that nobody saw what
came of following it.  ``noise``: coin flips, where every promise is a false one.
``poison``: pools with wrong targets.  ``stable``: the same rows under other seeds and
budgets.  ``page``: all of it as docs/results/answers.md.  Without a command, all five;
``--quick`` with a tiny grid.

Each keeps its records as JSON lines in the folder ``--out``; what is there is not
measured again.
"""

from __future__ import annotations

import argparse
import hashlib
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from answers_cell import NAMED, TABLES, follow, load, obstacle, run, split_frames, told
from answers_page import answers_page, span
from pages import FOLDER, read_notes, write_page
from poison import measure_poison
from records import ROOT, Record, measure_missing, read_records

PAGE = FOLDER / "answers.md"
OUT = ROOT / "build" / "results" / "answers"

TWELVE = (
    *("MiceProtein", "credit-g", "steel-plates-fault", "insurance", "iris", "wine"),
    *("cancer", "diabetes", "friedman1", "vehicle", "concrete", "yacht"),
)
"""Tables whose verdict is asked for again and again."""

PLAIN, TWICE, GROUPS = "plain", "each row twice", "in groups"
GROUP_SIZE = 4
"""Rows of one group of noise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """What is to be measured."""

    tables: tuple[str, ...] = TABLES
    """Names of tables, or kinds of noise."""

    n_real: tuple[int, ...] = (50,)
    splits: tuple[int, ...] = (0,)
    seeds: tuple[int, ...] = (0, 1)
    budgets: tuple[int, ...] = (500,)
    preset: str = "default"
    learner: str = "auto"
    """Who is named; of several, with commas between, one for each cell by turns."""

    def headings(self, kind: str) -> Iterator[Record]:
        """Yield the heading of every record; of each table the first split first."""
        cells = product(self.splits, self.seeds, self.n_real, self.tables)
        for split, seed, n_real, table in cells:
            yield {
                **{"kind": kind, "table": table, "n_real": n_real, "split": split},
                **{"seed": seed, "preset": self.preset},
                **self._named(f"{table} {n_real} {split} {seed}"),
                **({"budgets": list(self.budgets)} if kind == "stable" else {}),
                **({"budget": self.budgets[0]} if kind != "stable" else {}),
            }

    def _named(self, cell: str) -> Record:
        """Return the learner of a cell, whatever else is in the grid."""
        turns = self.learner.split(",")
        # Not a CRC: it is linear, and gave a table the same learner in every split.
        drawn = hashlib.sha256(cell.encode()).digest()[0]
        learner = turns[drawn % len(turns)]
        return {"learner": learner} | ({"turns": self.learner} if turns[1:] else {})


GRIDS: Mapping[str, Grid] = {
    "follow": Grid(n_real=(20, 50, 100), splits=(0, 1, 2)),
    "noise": Grid(
        tables=(PLAIN, TWICE, GROUPS), n_real=(20, 40), seeds=tuple(range(100))
    ),
    "poison": Grid(seeds=(0,)),
    "stable": Grid(
        tables=TWELVE, seeds=tuple(range(5)), budgets=(30, 50, 150, 500)
    ),
}  # fmt: skip
QUICK: Mapping[str, Grid] = {
    "follow": Grid(
        tables=("wine", "friedman1"),
        n_real=(30,),
        seeds=(0,),
        budgets=(30,),
        preset="quick",
        learner="boosting",  # which any rows help, there being so few
    ),
    "noise": Grid(
        tables=(PLAIN, TWICE, GROUPS),
        n_real=(20,),
        seeds=(0,),
        budgets=(20,),
        preset="quick",
        learner="linear",
    ),
    "poison": Grid(
        tables=("wine", "friedman1"),
        n_real=(30,),
        seeds=(0,),
        budgets=(30,),
        preset="quick",
        learner="boosting",
    ),
    "stable": Grid(
        tables=("diabetes",), n_real=(20,), budgets=(10, 20), preset="quick"
    ),
}


# ---- Coin flips: whatever is learned, fresh rows are right half of the time.


def noise(n_rows: int, seed: int) -> pd.DataFrame:
    """Return rows of numbers and a category, whose label is a coin."""
    rng = np.random.default_rng(1000 + seed)
    label = np.where(rng.random(n_rows) < 0.5, "a", "b")
    frame = pd.DataFrame({f"x{i}": rng.normal(size=n_rows) for i in range(4)})
    frame["c"] = np.where(rng.random(n_rows) < 0.4, "red", "blue")
    frame["y"] = label
    return frame


def noise_frame(kind: str, n_rows: int, seed: int) -> pd.DataFrame:
    """Return rows whose label has nothing to do with their features.

    ``in groups`` they are near-copies of one another, four by four, label included, and
    the column ``g`` says whose they are: a group tells nothing of the next.
    """
    if kind != GROUPS:
        frame = noise(n_rows, seed)
        again = [frame, frame] if kind == TWICE else [frame]
        return pd.concat(again, ignore_index=True)
    rng = np.random.default_rng(5000 + seed)
    n_groups = n_rows // GROUP_SIZE
    label = rng.random(n_groups) < 0.5
    while label.all() or not label.any():  # one label is no question
        label = rng.random(n_groups) < 0.5
    of_row = np.repeat(np.arange(n_groups), GROUP_SIZE)
    centers = rng.normal(size=(n_groups, 4))
    cells = centers[of_row] + 0.3 * rng.normal(size=(len(of_row), 4))
    frame = pd.DataFrame(cells).add_prefix("x")
    return frame.assign(g=of_row, y=np.where(label[of_row], "a", "b"))


def measure_noise(heading: Record) -> Record:
    """Tell whether a gain is promised where there can be none."""
    kind, started = heading["table"], time.process_time()
    frame = noise_frame(kind, heading["n_real"], heading["seed"])
    more = {"groups": "g"} if kind == GROUPS else {}
    result = run(frame, "y", "classification", heading, **more)
    seconds = {"run": round(time.process_time() - started, 2)}
    return {**heading, **told(result), "seconds": seconds}


# ---- The same rows again, under other seeds and budgets.


def measure_stable(heading: Record) -> Record:
    """Ask for the verdict at every budget; what was learned of the rows is shared."""
    source, started = load(heading["table"]), time.process_time()
    real, _ = split_frames(source.name, heading["n_real"], heading["split"])
    runs = []
    with tempfile.TemporaryDirectory() as folder:
        for budget in heading["budgets"]:
            one = {**heading, "budget": budget}
            result = run(real, source.target, source.task, one, checkpoint=folder)
            runs.append({"budget": budget, **told(result)})
    seconds = {"run": round(time.process_time() - started, 2)}
    return {**heading, "task": source.task, "runs": runs, "seconds": seconds}


# ---- Commands.


MEASURES: Mapping[str, Callable[[Record], Record]] = {
    "follow": follow,
    "noise": measure_noise,
    "poison": measure_poison,
    "stable": measure_stable,
}


def identity(record: Mapping[str, Any]) -> tuple[object, ...]:
    """Tell which measurement a record is; one that failed is none, and made again."""
    names = ("kind", "table", "n_real", "split", "seed", "preset", "learner")
    budgets = tuple(record["budgets"]) if "budgets" in record else record["budget"]
    return (*(record[name] for name in names), budgets, "failure" in record)


def attempted(heading: Record) -> Record:
    """Measure; what goes wrong is written down, and does not stop the others."""
    try:
        return MEASURES[heading["kind"]](heading)
    except Exception as error:  # noqa: BLE001  the traceback is kept
        said = f"{type(error).__name__}: {error}"
        return {**heading, "failure": said, "traceback": traceback.format_exc()}


def measurable(wanted: Sequence[Record]) -> list[Record]:
    """Leave out what cannot be measured, and say so once for each table and size."""
    places = dict.fromkeys((h["table"], h["n_real"]) for h in wanted)
    obstacles = {place: obstacle(*place) for place in places}
    for (table, n_real), reason in obstacles.items():
        if reason is not None:
            print(f"Left out: {table} with {n_real} real rows. {reason}", flush=True)
    return [h for h in wanted if obstacles[h["table"], h["n_real"]] is None]


def measure(kind: str, grid: Grid, out: Path, workers: int) -> list[Record]:
    """Measure what the file of a command does not hold yet."""
    wanted = list(grid.headings(kind))
    if kind != "noise":
        wanted = measurable(wanted)
    file = out / f"{kind}.jsonl"
    known = {identity(record) for record in read_records(file)}
    left = sum(identity(heading) not in known for heading in wanted)
    print(f"{kind}: {left} of {len(wanted)} to measure", flush=True)
    return measure_missing(_told_of, wanted, identity, file, jobs=workers)


def _told_of(heading: Record) -> Record:
    record = attempted(heading)
    place = " ".join(str(heading[k]) for k in ("kind", "table", "n_real", "split"))
    said = record.get("failure") or record.get("verdict") or "done"
    print(f"{place} seed {heading['seed']}: {said}", flush=True)
    return record


EARLIER = {
    "classification": ("6d898c6", "1a9caae"),
    "regression": ("6d898c6", "1a9caae", "077f00e", "59b1220"),
}
"""Commits whose rule was another: two cuts into folds (DECISIONS 67), and gains of
regressors not drawn in (DECISIONS 69)."""


def is_of_present_rule(record: Record) -> bool:
    """Tell whether a run was decided by the rule that stands now."""
    return record["commit"][:7] not in EARLIER.get(record.get("task", ""), ())


def write(out: Path, page: Path, before: Path | None) -> None:
    """Write the page from what is in the folder; runs of earlier rules are left out."""
    records = {kind: read_records(out / f"{kind}.jsonl") for kind in MEASURES}
    records["follow"] = [r for r in records["follow"] if is_of_present_rule(r)]
    earlier = [] if before is None else read_records(before / "stable.jsonl")
    commands = {kind: command_of(kind, found) for kind, found in records.items()}
    notes = read_notes(page.with_name("answers_notes.md"))
    write_page(page, answers_page(records, commands, earlier, notes))


def command_of(kind: str, records: Sequence[Record]) -> list[str]:
    """Return the commands that measure what some records hold."""
    commands = []
    for preset, learner in dict.fromkeys(map(_asked_of, records)):
        own = [r for r in records if _asked_of(r) == (preset, learner)]
        words = [f"python benchmarks/answers.py {kind}"]
        tables = tuple(dict.fromkeys(r["table"] for r in own))
        if set(tables) != set(GRIDS[kind].tables):
            words += ["--tables", *tables]
        for name, option in (("n_real", "n-real"), ("split", "splits")):
            words += [f"--{option}", span(r[name] for r in own)]
        words += ["--seeds", span(r["seed"] for r in own)]
        budgets = {b for r in own for b in r.get("budgets", [r.get("budget")])}
        words += ["--budgets", " ".join(map(str, sorted(budgets)))]
        commands.append(" ".join([*words, "--preset", preset, "--learner", learner]))
    return commands


def _asked_of(record: Record) -> tuple[str, str]:
    return record["preset"], record.get("turns", record["learner"])


def _numbers(text: str) -> tuple[int, ...]:
    first, _, last = text.partition("-")
    return tuple(range(int(first), int(last or first) + 1))


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    commands = (*MEASURES, "page", "all")
    parser.add_argument("command", nargs="?", default="all", choices=commands)
    parser.add_argument("--tables", nargs="+", help="names, or kinds of noise")
    some = {"nargs": "+", "type": _numbers, "metavar": "N or A-B"}
    parser.add_argument("--n-real", **some, help="sizes")
    parser.add_argument("--splits", **some, help="which rows are real")
    parser.add_argument("--seeds", **some, help="of the runs")
    parser.add_argument("--budgets", **some, help="rows to add; stable takes several")
    parser.add_argument("--preset", choices=tuple(NAMED))
    parser.add_argument("--learner", help="NAME, or NAME,NAME by turns")
    parser.add_argument("--workers", type=int, default=1, help="processes")
    parser.add_argument("--out", type=Path, default=OUT, help="folder of records")
    parser.add_argument("--page", type=Path, help=f"file to write; default: {PAGE}")
    parser.add_argument("--before", type=Path, help="folder of records before a change")
    parser.add_argument("--quick", action="store_true", help="a tiny grid")
    return parser.parse_args(arguments)


def _asked_for(grid: Grid, options: argparse.Namespace) -> Grid:
    """Return a grid with what was asked for in the place of its own."""
    asked: dict[str, Any] = {}
    for name in ("n_real", "splits", "seeds", "budgets"):
        if (parts := getattr(options, name)) is not None:
            asked[name] = tuple(number for part in parts for number in part)
    if options.tables is not None:
        asked["tables"] = tuple(options.tables)
    for name in ("preset", "learner"):
        if (given := getattr(options, name)) is not None:
            asked[name] = given
    return replace(grid, **asked)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is missing, or write the page."""
    options = _options(arguments)
    grids = QUICK if options.quick else GRIDS
    for kind in MEASURES:
        if options.command in (kind, "all"):
            grid = _asked_for(grids[kind], options)
            measure(kind, grid, options.out, options.workers)
    if options.command in ("page", "all"):
        # A trial does not overwrite what was measured in earnest.
        usual = options.out / PAGE.name if options.quick else PAGE
        write(options.out, options.page or usual, options.before)


if __name__ == "__main__":
    main()
