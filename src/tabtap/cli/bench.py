"""``tabtap bench``: the paper's study, or any grid of tables, sizes and methods."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tabtap.cli.options import Overwrite, check_file, option
from tabtap.cli.progress import CellsProgress
from tabtap.cli.terminal import NO, YES, HelpfulGroup, Screen, add_command
from tabtap.errors import UserInputError

if TYPE_CHECKING:
    from tabtap.compare.runner import RunSummary

_EPILOG = """Examples:
$ tabtap bench run grid.toml --store results
$ tabtap bench status grid.toml --store results
$ tabtap bench table main --store results --format markdown
$ tabtap bench figure ladder --store results --out ladder.svg

Tables come from the folder that TABTAP_DATA names, or else from OpenML, once.

Exit codes: 0 done, 3 cells are left or failed, 2 bad input, 130 interrupted."""

app = typer.Typer(
    help="Run the paper's study, or a grid of one's own, and show its tables.",
    epilog=_EPILOG,
    cls=HelpfulGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def _bench(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help(), end="")


class TableName(str, Enum):
    """What can be shown as a table."""

    MAIN = "main"
    F1 = "f1"
    PER_PREDICTOR = "per-predictor"
    GAINS = "gains"
    WINS = "wins"
    PAPER = "paper"
    COST = "cost"
    FAILURES = "failures"


class FigureName(str, Enum):
    """What can be drawn."""

    LADDER = "ladder"
    SCARCITY = "scarcity"


class FormatName(str, Enum):
    """How a table can be written."""

    TEXT = "text"
    MARKDOWN = "markdown"
    CSV = "csv"
    LATEX = "latex"


class BackendName(str, Enum):
    """Where cells can be worked on."""

    LOCAL = "local"
    DASK = "dask"
    RAY = "ray"


GridFile = Annotated[
    Path, typer.Argument(metavar="GRID", help="A TOML file: see bench run --help.")
]
StorePlace = Annotated[
    str, option("--store PLACE", "Folder or fsspec URL that holds the records.")
]


def run(
    grid: GridFile,
    *,
    store: StorePlace,
    backend: Annotated[
        BackendName, option("--backend NAME", "local, dask or ray.")
    ] = BackendName.LOCAL,
    address: Annotated[
        str | None, option("--address URL", "Of the cluster's scheduler.")
    ] = None,
    jobs: Annotated[
        int | None, option("--jobs N", "Workers; by default one per core.", min=1)
    ] = None,
) -> int:
    """Run every cell of GRID that has no record yet.

    A grid names datasets, n_real, splits, budget, seed and methods. It may be stopped
    at any moment, and several runners may share a store: the same command goes on.
    """
    from tabtap.compare.runner import Cluster, run_cells
    from tabtap.compare.store import Store
    from tabtap.rivals import METHOD_NAMES, method_named
    from tabtap.study.grid import read_grid
    from tabtap.study.studies import measure_cell

    screen = Screen.standard()
    asked = read_grid(grid, METHOD_NAMES)
    for method in asked.methods:  # raises at once if a setting is not one of its
        method_named(**method)
    cells = list(asked.cells())
    place = Store(store)
    done = place.keys()
    waiting = Counter(cell.method for cell in cells if cell.key not in done)
    progress = CellsProgress(screen, dict(waiting))
    cluster = Cluster(backend.value, address, jobs)
    if backend is BackendName.LOCAL:
        check_tables(cell.dataset for cell in cells if cell.key not in done)
    with progress.watched():
        summary = run_cells(
            cells, measure_cell, place, cluster=cluster, observer=progress
        )
    return tell_summary(screen, summary, progress.n_failed)


def tell_summary(screen: Screen, summary: RunSummary, n_failed: int) -> int:
    """Say how a run of cells ended, and return the exit code of it."""
    left = summary.n_cells - summary.n_done
    if summary.n_elsewhere:
        screen.note(f"{summary.n_elsewhere} cells are in the hands of another runner.")
    failed = f", of which {n_failed} failed" if n_failed else ""
    screen.say(f"{summary.n_done} of {summary.n_cells} cells have records{failed}.")
    return NO if left or n_failed else YES


def check_tables(names: Iterable[str]) -> None:
    """Raise at once if a table is not to be had; later ones find it in the cache."""
    from tabtap.study.sources import load_source

    for name in dict.fromkeys(names):
        load_source(name)


def status(grid: GridFile, *, store: StorePlace) -> int:
    """Show how many cells of GRID have records, method by method."""
    from tabtap.compare.printing import TextTable, as_text
    from tabtap.compare.store import Store
    from tabtap.rivals import METHOD_NAMES
    from tabtap.study.grid import read_grid
    from tabtap.study.tables import method_label

    cells = list(read_grid(grid, METHOD_NAMES).cells())
    done = Store(store).keys()
    total = Counter(method_label(cell.written()) for cell in cells)
    there = Counter(method_label(c.written()) for c in cells if c.key in done)
    rows = [(name, f"{there[name]}", f"{n}") for name, n in total.items()]
    n_there = sum(there.values())
    title = f"{n_there} of {len(cells)} cells have records"
    print(as_text(TextTable(title, ("method", "done", "cells"), tuple(rows))))
    return YES if n_there == len(cells) else NO


def table(
    name: Annotated[
        TableName,
        typer.Argument(
            metavar="NAME",
            help="main, f1, per-predictor, gains, wins, paper, cost or failures.",
        ),
    ],
    *,
    store: StorePlace,
    written: Annotated[
        FormatName, option("--format NAME", "text, markdown, csv or latex.")
    ] = FormatName.TEXT,
) -> int:
    """Write a table of what the store holds to standard output.

    main and f1 are laid out like the paper's, with its own figure and the difference
    below ours; paper sums up the differences for each method.
    """
    from tabtap.compare.printing import FORMATS
    from tabtap.study.tables import tables_named

    made = tables_named(name.value, _records(store))
    print("\n\n".join(FORMATS[written.value](one) for one in made))
    return YES


def figure(
    name: Annotated[
        FigureName, typer.Argument(metavar="NAME", help="ladder or scarcity.")
    ],
    *,
    store: StorePlace,
    out: Annotated[Path, option("--out -o FILE", "Ends in .svg or .png.")],
    force: Overwrite = False,
) -> int:
    """Draw what the store holds: gains of all methods, or scores by scarcity."""
    from tabtap.study.figures import FIGURES, save_figure
    from tabtap.study.tables import scored_frame

    check_file("--out", out, force=force)
    save_figure(FIGURES[name.value](scored_frame(_records(store))), out)
    Screen.standard().say(f"Written: {out}")
    return YES


def export(
    *,
    store: StorePlace,
    out: Annotated[Path, option("--out -o FILE", "Ends in .csv or .jsonl.")],
    force: Overwrite = False,
) -> int:
    """Write all scores as one CSV table, or all records as JSON lines."""
    from tabtap.archive import put_in_place
    from tabtap.study.tables import score_frame

    check_file("--out", out, force=force)
    records = _records(store)
    if out.suffix == ".csv":
        text = score_frame(records).to_csv(index=False)
    elif out.suffix == ".jsonl":
        text = "".join(json.dumps(record) + "\n" for record in records)
    else:
        raise UserInputError(
            f"--out {out.name!r} says neither .csv (scores) nor .jsonl (records)."
        )
    put_in_place(text.encode(), out)
    Screen.standard().say(f"Written: {out}")
    return YES


def _records(store: str) -> list[dict[str, object]]:
    from tabtap.compare.store import MAIN, Store, study_of
    from tabtap.study.tables import is_record

    def fits(record: dict[str, object]) -> bool:
        cell = record.get("cell")
        is_other = isinstance(cell, dict) and cell.get("study", MAIN) != MAIN
        return is_other or is_record(record)

    found = [r for r in Store(store).records(fits) if study_of(r) == MAIN]
    if not found:
        raise UserInputError(
            f"The store {store!r} holds no records yet. Fill it: tabtap bench run GRID "
            f"--store {store}"
        )
    return found


for _command in (run, status, table, figure, export):
    add_command(app, _command.__name__, _command)
