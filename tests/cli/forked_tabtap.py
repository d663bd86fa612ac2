"""The quick command in many processes that share the seconds that torch takes to load.

Standard input has a line of JSON for each: the folder to work in, the arguments, and
perhaps a fault: ``{"kill": k}`` ends the process instead of its k-th step on a disk,
``{"refuse": k}`` finds no room from that step on, ``{"limit": n}`` lets no file grow
beyond so many bytes.  Each answers with a line: its exit code, negative for a signal.
What it says is in ``said.txt`` and ``out.txt`` of its folder.
"""

import errno
import json
import os
import runpy
import signal
import sys
from pathlib import Path

QUICK = Path(__file__).with_name("quick_tabtap.py")
STEPS = ("fsync", "replace", "link")


def main():
    import torch  # noqa: F401  once for all

    import tabtap.cli.augment  # noqa: F401

    for line in sys.stdin:
        order = json.loads(line)
        child = os.fork()
        if child == 0:
            os._exit(work(**order))
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        sys.stdout.write(f"{code}\n")
        sys.stdout.flush()


def work(folder, arguments, fault):
    os.chdir(folder)
    for number, name in ((1, "out.txt"), (2, "said.txt")):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    sys.argv = ["tabtap", *arguments]
    sys.path.insert(0, folder)
    for kind, size in fault.items():
        limit_files(size) if kind == "limit" else fail_at(kind, size)
    code = runpy.run_path(str(QUICK))["main"]()
    sys.stdout.flush()
    sys.stderr.flush()
    return code


def limit_files(n_bytes):
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, hard))


def fail_at(kind, fatal):
    n_steps = 0

    def failing(step):
        def run(*given, **named):
            nonlocal n_steps
            n_steps += 1
            if n_steps >= fatal and kind == "refuse":
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            if n_steps == fatal:
                os.kill(os.getpid(), signal.SIGKILL)
            return step(*given, **named)

        return run

    for name in STEPS:
        setattr(os, name, failing(getattr(os, name)))


if __name__ == "__main__":
    main()
