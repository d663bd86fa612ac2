"""The command line in this process, and the question whether it kept its manners."""

import os
import runpy
import signal
import sys
import unicodedata
from dataclasses import dataclass
from pathlib import Path

import pytest
import typer
from hostile import counting

from tabtap.cli.app import app, main

QUICK = Path(__file__).parents[1] / "cli" / "quick_tabtap.py"


def pytest_configure():
    """Let a run of ``make fuzz`` that is ended from outside tell how far it got."""
    if "TABTAP_FUZZ" in os.environ:
        signal.signal(signal.SIGTERM, signal.default_int_handler)


def pytest_terminal_summary(terminalreporter):
    """Say how many inputs each fuzzing test was given."""
    if "TABTAP_FUZZ" in os.environ and counting.N_GIVEN:
        terminalreporter.section("fuzzed inputs")
        for line in counting.lines():
            terminalreporter.write_line(line)


@dataclass(frozen=True)
class Answer:
    code: int
    out: str
    said: str

    @property
    def sentence(self):
        """What was said, whatever the line breaks."""
        return " ".join(self.said.split())

    def assert_harmless(self):
        """Nothing steers the terminal, and nothing is called a mistake of ours."""
        steering = {sign for sign in self.out + self.said if steers(sign)}
        assert steering == set()
        assert "mistake in tabtap" not in self.sentence
        assert "Traceback" not in self.said
        assert self.code in (0, 2, 3)


def steers(sign):
    """Whether a character is a control or format character, or a strange line end."""
    if sign in "\n\t":
        return False
    return unicodedata.category(sign) in ("Cc", "Cf", "Cs", "Zl", "Zp")


@pytest.fixture(scope="session")
def ready_command():
    """The command made ready once, which takes typer longer than to look at a table."""
    return typer.main.get_command(app)


@pytest.fixture
def tabtap(ready_command, capfd, monkeypatch, tmp_path):
    """Run a command in a folder of its own."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr("tabtap.cli.app.app", ready_command)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setenv("TABTAP_CACHE", str(tmp_path / "cache"))

    def run(*arguments):
        capfd.readouterr()
        code = main([str(argument) for argument in arguments])
        written = capfd.readouterr()
        return Answer(code, written.out, written.err)

    return run


@pytest.fixture
def quick_fast(monkeypatch):
    """Have ``--preset fast`` run in a second, and nothing else be tried."""
    script = runpy.run_path(str(QUICK))
    monkeypatch.setattr("tabtap.config.PRESETS", script["quick_presets"]())
    monkeypatch.setattr("tabtap.api.run.check_own_judge", lambda *_: None)
    monkeypatch.setattr("tabtap.api.run.alternatives", lambda *_: ())


@pytest.fixture
def free_memory(monkeypatch):
    """Say how many bytes of memory are free."""

    def set_free(size):
        monkeypatch.setattr("tabtap.files.opening.available_bytes", lambda: size)

    return set_free
