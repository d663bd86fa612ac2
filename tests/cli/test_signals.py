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
