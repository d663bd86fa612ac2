"""``tabtap study``: the paper's experiments by name, measured and shown as pages."""

from __future__ import annotations

from collections import Counter
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from tabtap.cli import bench
from tabtap.cli.bench import BackendName, StorePlace
from tabtap.cli.options import Overwrite, check_file, option
from tabtap.cli.progress import CellsProgress
from tabtap.cli.terminal import YES, HelpfulGroup, Screen, add_command

_EPILOG = """Examples:
$ tabtap study list
$ tabtap study run ladder --quick --store results
$ tabtap study page ladder --store results --out ladder.md

Tables come from the folder that TABTAP_DATA names, or else from OpenML, once.

Exit codes: 0 done, 3 cells are left or failed, 2 bad input, 130 interrupted."""

app = typer.Typer(
    help="Measure what the paper measures, study by study, and write the pages.",
    epilog=_EPILOG,
    cls=HelpfulGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def _study(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help(), end="")


class ProtocolName(str, Enum):
    """Under whose rules TAP is run."""

    OURS = "ours"
    PAPER = "paper"


class PresetName(str, Enum):
    """How much TAP takes pains under our protocol."""

    DEFAULT = "default"
    FAST = "fast"


StudyName = Annotated[
    str, typer.Argument(metavar="NAME", help="One of tabtap study list.")
]
Tables = Annotated[
    list[str] | None, option("--table NAME", "One of the paper's; may be repeated.")
]
Sizes = Annotated[
    list[int] | None, option("--n-real N", "Real rows; may be repeated.", min=2)
]


def list_studies() -> int:
    """List the studies: what each asks, and what of the paper stands beside it."""
    from tabtap.study.studies import STUDY_NAMES, study_named

    for name in STUDY_NAMES:
        study = study_named(name)
        print(f"{name:<13} {study.paper}: {study.question}")
    return YES


def run(  # noqa: PLR0913  its options are as many
    name: StudyName,
    *,
    store: StorePlace,
    quick: Annotated[bool, option("--quick", "A few small cells: minutes.")] = False,
    protocol: Annotated[
        ProtocolName, option("--protocol NAME", "ours, or the paper's loop.")
    ] = ProtocolName.OURS,
    preset: Annotated[
        PresetName, option("--preset NAME", "Of TAP: default, or fast.")
    ] = PresetName.DEFAULT,
    evaluator: Annotated[
        str | None, option("--evaluator NAME", "Who judges each step; linear is quick.")
    ] = None,
    table: Tables = None,
    n_real: Sizes = None,
    splits: Annotated[
        int | None, option("--splits N", "Times that rows are drawn anew.", min=1)
    ] = None,
    seed: Annotated[
        int | None, option("--seed N", "Of splits and methods.", min=0)
    ] = None,
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
    """Measure every cell of study NAME that has no record yet.

    It may be stopped at any moment, and several runners may share a store: the same
    command goes on. All studies may share one store, too.
    """
    from tabtap.compare.runner import Cluster
    from tabtap.compare.store import Store
    from tabtap.study.studies import SEED, StudyOptions, run_study, study_named

    study = study_named(name)
    options = StudyOptions(
        quick=quick,
        protocol=protocol.value,
        preset=preset.value,
        evaluator=evaluator,
        tables=tuple(table) if table else None,
        n_real=tuple(n_real) if n_real else None,
        splits=splits,
        seed=SEED if seed is None else seed,
    )
    screen, place = Screen.standard(), Store(store)
    cells, done = list(study.plan(options)), place.keys()
    waiting = [cell for cell in cells if cell.key not in done]
    progress = CellsProgress(screen, dict(Counter(cell.method for cell in waiting)))
    if backend is BackendName.LOCAL:
        bench.check_tables(cell.dataset for cell in waiting)
    cluster = Cluster(backend.value, address, jobs)
    with progress.watched():
        summary = run_study(study, options, place, cluster=cluster, observer=progress)
    return bench.tell_summary(screen, summary, progress.n_failed)


def page(
    name: StudyName,
    *,
    store: StorePlace,
    out: Annotated[
        Path | None, option("--out -o FILE", "Ends in .md; default: NAME.md.")
    ] = None,
    protocol: Annotated[
        ProtocolName | None,
        option("--protocol NAME", "Of runs under both, those of ours or paper."),
    ] = None,
    force: Overwrite = False,
) -> int:
    """Write the page of study NAME from the records, and its figures beside it."""
    from tabtap.compare.store import Store
    from tabtap.study.studies import study_named, study_records, write_page

    study = study_named(name)
    out = out or Path(f"{name}.md")
    check_file("--out", out, force=force)
    under = None if protocol is None else protocol.value
    records = study_records(study, Store(store), under)
    for path in write_page(study, records, out):
        Screen.standard().say(f"Written: {path}")
    return YES


add_command(app, "list", list_studies)
add_command(app, "run", run)
add_command(app, "page", page)
app.add_typer(
    bench.app, name="main", help="The main table by a grid of one's own: tabtap bench."
)
