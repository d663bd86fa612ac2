"""``tabtap serve``: a page on this machine to drop a file on."""

from __future__ import annotations

import threading
import webbrowser
from contextlib import suppress
from typing import Annotated

from tabtap.cli.options import option
from tabtap.cli.terminal import YES, Screen, interruptible
from tabtap.errors import require
from tabtap.wording import counted

EPILOG = """Examples:
$ tabtap serve
$ tabtap serve --port 9000 --no-browser

Exit codes: 0 ended by Ctrl-C or with its terminal, 2 bad input."""

_EXTRA = {"extra": "serve", "purpose": "The page"}


def serve(
    *,
    port: Annotated[
        int | None,
        option(
            "--port N",
            "Where the page is; 8765 by default, or any that is free.",
            min=0,
            max=65_535,
        ),
    ] = None,
    no_browser: Annotated[
        bool, option("--no-browser", "Only print the address of the page.")
    ] = False,
) -> int:
    """Open a page to drop a table on: look it over, add rows, read the answer.

    The page is on this machine alone, for whoever has its address; nothing leaves the
    machine. Runs wait for each other, can be stopped and resumed, and give what tabtap
    augment gives. When it ends, files and results are deleted; runs that are not over
    are kept for a week.
    """
    for module in ("starlette", "uvicorn"):
        require(module, **_EXTRA)
    from tabtap.serve.app import listen
    from tabtap.serve.app import serve as serve_page
    from tabtap.serve.jobs import Jobs, usual_folder

    screen = Screen.standard()
    place = listen(port)

    def opened(address: str, once: str) -> None:
        screen.say(f"The page is at\n    {address}\nCtrl-C ends it.")
        if not no_browser:
            threading.Thread(target=webbrowser.open, args=[once], daemon=True).start()

    with place, interruptible():
        jobs = Jobs(usual_folder())
        try:
            serve_page(jobs, place, opened)
        except KeyboardInterrupt:
            with suppress(OSError):  # a terminal that is gone must not keep runs open
                screen.say("Ending ...")
        finally:
            n_kept = jobs.close()
    kept = f"{counted(n_kept, 'unfinished run')} kept for a week" if n_kept else ""
    with suppress(OSError):
        screen.say(
            f"Ended; files and results are deleted{', ' + kept if kept else ''}."
        )
    return YES
