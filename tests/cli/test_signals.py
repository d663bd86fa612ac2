import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals are Unix's")

SCRIPT = """
import os, signal
from tabtap.cli.terminal import interruptible
try:
    with interruptible():
        os.kill(os.getpid(), signal.{first})
except KeyboardInterrupt:
    print("in order", flush=True)
with interruptible():
    try:
        os.kill(os.getpid(), signal.SIGINT)
    finally:
        os.kill(os.getpid(), signal.{first})
        print("never reached", flush=True)
"""


@pytest.mark.parametrize("first", ["SIGINT", "SIGTERM"])
def test_the_first_signal_ends_in_order_and_the_second_at_once(first):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(first=first)],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip

    assert done.stdout == "in order\n"
    assert done.returncode == 130


CLOSED = """
import os, signal
from tabtap.cli.terminal import interruptible
# Whoever started the tests may have been told not to hang up, too.
signal.signal(signal.SIGHUP, signal.SIG_IGN if {nohup} else signal.SIG_DFL)
try:
    with interruptible():
        try:
            os.kill(os.getpid(), signal.SIGHUP)
            print("goes on", flush=True)
        finally:
            os.kill(os.getpid(), signal.SIGHUP)  # the shell says it again
            print("closed", flush=True)
except KeyboardInterrupt:
    print("in order", flush=True)
"""


@pytest.mark.parametrize(
    ("nohup", "said"),
    [(False, "closed\nin order\n"), (True, "goes on\nclosed\n")],
    ids=["closed", "nohup"],
)
def test_a_terminal_that_is_closed_ends_in_order_though_it_is_told_twice(nohup, said):
    done = subprocess.run(
        [sys.executable, "-c", CLOSED.format(nohup=nohup)],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip

    assert done.stdout == said
    assert done.returncode == 0
