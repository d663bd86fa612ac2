"""``tabtap weights``: weights of trained judges, fetched only when asked for."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from tabtap.cli.terminal import (
    NO,
    YES,
    HelpfulGroup,
    Screen,
    add_command,
    console_on,
)

if TYPE_CHECKING:
    from tabtap.evaluate.weights import FetchProgress

_EPILOG = """Examples:
$ tabtap weights list
$ tabtap weights fetch tabpfn-v1
$ tabtap weights path tabpfn-v1

pip brings them, so your index, mirror and proxy apply; TABTAP_CACHE moves the folder.

Exit codes: 0 done, 3 not on this machine (path), 2 bad input or no network."""

app = typer.Typer(
    help="List and fetch weights of trained judges; none are needed.",
    epilog=_EPILOG,
    cls=HelpfulGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def _weights(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help(), end="")


Name = Annotated[str, typer.Argument(metavar="NAME", help="As weights list shows it.")]


def list_all() -> int:
    """Show which weights there are, on what terms, and where."""
    from tabtap.evaluate.weights import list_weights

    screen = Screen(console_on(sys.stdout))
    for known in list_weights():
        size = f"{known.download_bytes / 1e6:.0f} MB"
        here = "not fetched" if known.path is None else f"here: {known.path}"
        screen.say(f"{known.name}  {size}, {known.licence}", "bold")
        screen.say(f"  {here}")
        screen.say(f"  {' '.join(known.attribution.split())}", "dim")
    return YES


def fetch(name: Name) -> int:
    """Bring weights to this machine, once, with your own pip."""
    from tabtap.evaluate.weights import fetch_weights

    screen = Screen.standard()
    told: set[str] = set()

    def tell(progress: FetchProgress) -> None:
        if progress.stage not in told:
            told.add(progress.stage)
            screen.say(f"{name}: {progress.stage} ...")

    print(fetch_weights(name, observer=tell))
    return YES


def path(name: Name) -> int:
    """Show where fetched weights are."""
    from tabtap.evaluate.weights import weights_path

    found = weights_path(name)
    if found is None:
        Screen.standard().say(
            f"The weights {name!r} are not on this machine. Fetch them: "
            f"tabtap weights fetch {name}"
        )
        return NO
    print(found)
    return YES


for _name, _command in (("list", list_all), ("fetch", fetch), ("path", path)):
    add_command(app, _name, _command, epilog=_EPILOG)
