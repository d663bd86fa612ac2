"""The command ``tabtap``: what commands there are, and how each of them ends."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Annotated

import typer

from tabtap import __version__
from tabtap.cli import (
    augment,
    bench,
    check,
    compare,
    demo,
    inspect,
    results,
    study,
    weights,
)
from tabtap.cli.terminal import (
    NO_READER,
    HelpfulGroup,
    add_command,
    explain,
    ready_streams,
)

_EPILOG = """Examples:
$ tabtap demo
$ tabtap inspect train.csv --target outcome
$ tabtap augment train.csv --target outcome --report train.html

Exit codes: 0 yes or done, 3 no (no gain, a broken rule, not as certified), \
2 bad input, 130 interrupted, 1 a mistake in tabtap."""

app = typer.Typer(
    name="tabtap",
    help="Add rows to a small labelled table only where they are shown to help.",
    epilog=_EPILOG,
    rich_markup_mode="rich",
    cls=HelpfulGroup,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(asked: bool) -> None:  # noqa: FBT001  typer calls it so
    if asked:
        print(f"tabtap {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _tabtap(
    context: typer.Context,
    *,
    version: Annotated[  # noqa: ARG001  its callback has answered
        bool,
        typer.Option(
            "--version",
            callback=_show_version,
            is_eager=True,
            help="Show the version and exit.",
        ),
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help(), end="")


_COMMANDS: tuple[tuple[str, str, Callable[..., int]], ...] = (
    ("augment", augment.EPILOG, augment.augment),
    ("inspect", inspect.EPILOG, inspect.inspect),
    ("check", check.EPILOG, check.check),
    ("report", results.REPORT_EPILOG, results.report),
    ("verify", results.VERIFY_EPILOG, results.verify),
    ("forget", results.FORGET_EPILOG, results.forget),
    ("compare", compare.EPILOG, compare.compare),
    ("demo", demo.EPILOG, demo.demo),
)
for _name, _examples, _command in _COMMANDS:
    add_command(app, _name, _command, epilog=_examples)
app.add_typer(weights.app, name="weights")
app.add_typer(study.app, name="study")
app.add_typer(bench.app, name="bench")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    Parameters
    ----------
    arguments : sequence of str, optional
        Without the name of the program.  Default: those of this process.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in given
    ready_streams()
    try:
        code = app(given, prog_name="tabtap", standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
    except SystemExit as ended:
        if isinstance(ended.__context__, BrokenPipeError):
            return NO_READER  # so rich ends when nobody reads the help it writes
        raise
    # Whatever happens ends in a sentence and a code; --debug shows all of it.
    except Exception as error:  # noqa: BLE001
        return explain(error, debug=debug)
    return int(code or 0)
