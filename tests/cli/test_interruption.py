"""Ctrl-C in a terminal of 80 columns, what is shown until then, and going on later."""

import os
import re
import shutil
import struct
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="pseudo-terminals are Unix's"
)
STEER = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")
FULL_RUN = ("augment", "birds.csv", "-n", "40")


@pytest.fixture(scope="module")
def terminal(tmp_path_factory, quick_command, helped, done):
    """A run that was interrupted in a terminal after its first window."""
    folder = tmp_path_factory.mktemp("terminal")
    for name in ("birds.csv", "judges.py"):
        shutil.copy(done[0] / name, folder)
    command, environment = quick_command
    code, drawn = in_terminal(
        [*command, *FULL_RUN, *helped],
        stop_at="Window 1: 16 rows",
        cwd=folder,
        env=environment(folder, TERM="xterm-256color"),
    )
    return folder, code, drawn


def in_terminal(command, *, stop_at, cwd, env):
    """Run a command in a terminal, press Ctrl-C at some words, return all it drew."""
    import fcntl
    import pty
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    process = subprocess.Popen(
        command, cwd=cwd, env=env, stdin=theirs, stdout=theirs, stderr=theirs,
        start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )  # fmt: skip
    os.close(theirs)
    drawn, pressed = b"", False
    while part := _read(ours):
        drawn += part
        if stop_at.encode() in drawn and not pressed:
            os.write(ours, b"\x03")
            pressed = True
    os.close(ours)
    return process.wait(120), drawn.decode()


def _read(terminal):
    try:
        return os.read(terminal, 65536)
    except OSError:  # the other side is gone
        return b""


def test_progress_is_drawn_over_within_80_columns(terminal):
    _, _, drawn = terminal

    # The command to go on with stays on one line, to be copied.
    shown, _, _ = STEER.sub("\n", drawn).partition("Interrupted")

    lines = [line.strip("\r") for line in shown.split("\n")]
    assert max(map(len, lines)) <= 80
    assert "learning the table" in shown
    assert re.search(r"\d+%, at most \d+ s left", shown)
    assert "generating rows" in shown
    assert re.search(r"step \d+ of 16", shown)
    assert re.search(r"1 let in, 0 refused; 16 of 40 rows; gain \+0\.\d+", shown)
    assert "\x1b[?25l" in drawn  # the cursor is hidden while lines are drawn over
    assert drawn.rindex("\x1b[?25h") > drawn.rindex("\x1b[?25l")


def test_ctrl_c_is_exit_code_130_and_says_how_to_go_on(terminal):
    folder, code, drawn = terminal

    said = " ".join(STEER.sub("", drawn).split())

    assert code == 130
    assert "Interrupted. No table was written" in said
    assert "tabtap augment birds.csv -n 40 -t sex" in said
    assert said.endswith("--resume")
    assert not (folder / "birds.augmented.csv").exists()
    assert list((folder / "birds.augmented.csv.run").glob("progress-*.tap"))


def test_a_resumed_run_gives_the_table_of_one_that_never_stopped(
    terminal, done, quick_run, helped
):
    folder, _, _ = terminal
    whole = (done[0] / "birds.augmented.csv").read_bytes()

    answer = quick_run(*FULL_RUN, *helped, "--resume", cwd=folder)

    assert answer.code == 0
    assert "Going on after 1 window, 16 rows so far." in answer.said
    assert "Window 1:" not in answer.said
    assert (folder / "birds.augmented.csv").read_bytes() == whole
    assert not (folder / "birds.augmented.csv.run").exists()
