"""The real command in a process of its own, on files of its own."""

import os
import re
import runpy
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from tabtap.datasets import load_penguins

HERE = Path(__file__).parent
REAL = (sys.executable, "-m", "tabtap")
QUICK = (sys.executable, str(HERE / "quick_tabtap.py"))
HELPED = ("--preset", "fast", "--referee", "judges:helpful")


@dataclass(frozen=True)
class Answer:
    code: int
    out: str

    said: str
    """What it said on the error stream, with its line breaks and spaces as one."""

    lines: tuple[str, ...]
    """The same, line by line."""


def environment(cwd, **more):
    inherited = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES")}
    cache = {"TABTAP_CACHE": str(cwd / "cache"), "OMP_NUM_THREADS": "1"}
    return {**inherited, **cache, **more}


def run(command, *arguments, cwd, columns=None, **settings):
    """Run a command to its end, and return what it wrote."""
    more = {} if columns is None else {"COLUMNS": str(columns)}
    done = subprocess.run(
        [*command, *map(str, arguments)],
        cwd=cwd,
        env=environment(cwd, **more),
        capture_output="stdout" not in settings,
        timeout=300,
        **settings,
    )
    said = (done.stderr or b"").decode()
    out = (done.stdout or b"").decode()
    return Answer(done.returncode, out, " ".join(said.split()), tuple(said.split("\n")))


def run_all(commands, *, cwd):
    """Run several commands in one process, and return the answer to each."""
    joined = [part for command in commands for part in (*command, "+")]
    answer = run(QUICK, *joined[:-1], cwd=cwd)
    assert answer.code == 0, answer.said
    ends = re.compile(r"=== (\d+)\n")
    outs = ends.split(answer.out)
    errs = ends.split("\n".join(answer.lines))
    return [
        Answer(int(code), out, " ".join(said.split()), tuple(said.split("\n")))
        for out, code, said in zip(outs[:-1:2], outs[1::2], errs[:-1:2], strict=True)
    ]


def augment(table, *arguments, cwd, **settings):
    """Augment sixty birds in a second; the judge always likes more rows."""
    told = ("augment", table, "-t", "sex", *HELPED, *arguments)
    return run(QUICK, *told, cwd=cwd, **settings)


@pytest.fixture(scope="session")
def tabtap_run():
    return partial(run, REAL)


@pytest.fixture(scope="session")
def quick_run():
    return partial(run, QUICK)


@pytest.fixture(scope="session")
def run_commands():
    return run_all


@pytest.fixture(scope="session")
def quick_augment():
    return augment


@pytest.fixture(scope="session")
def helped():
    """Options of a run that takes a second and always ends with rows."""
    return ("-t", "sex", *HELPED)


@pytest.fixture(scope="session")
def quick_command():
    """The command, to be followed by its arguments, and its environment."""
    return QUICK, environment


@pytest.fixture(scope="session")
def birds():
    chosen = load_penguins().dropna(subset=["sex"]).sample(60, random_state=1)
    return chosen.reset_index(drop=True)


def make_desk(folder, birds):
    """Put a table and a learner into a folder, as a user has them."""
    folder.mkdir(parents=True, exist_ok=True)
    birds.to_csv(folder / "birds.csv", index=False)
    shutil.copy(HERE / "judges.py", folder)
    return folder


@pytest.fixture
def desk(tmp_path, birds):
    return make_desk(tmp_path / "desk", birds)


@pytest.fixture(scope="session")
def done(tmp_path_factory, birds):
    """A folder in which a run has ended well, and what it said."""
    folder = make_desk(tmp_path_factory.mktemp("done"), birds)
    written = ("--save", "birds.tap", "--report", "birds.html", "--json")
    written += ("--datasheet", "birds.md")
    return folder, augment("birds.csv", "-n", "40", *written, cwd=folder)


@pytest.fixture
def quick_fast(monkeypatch):
    """Have ``--preset fast`` run in a second in this process as well."""
    script = runpy.run_path(str(HERE / "quick_tabtap.py"))
    monkeypatch.setattr("tabtap.config.PRESETS", script["quick_presets"]())


@pytest.fixture
def in_process(capfd, monkeypatch):
    """The same command without a process: for answers that come before any work."""
    import sys

    from tabtap.cli.app import main

    monkeypatch.setattr(sys, "path", list(sys.path))

    def call(*arguments, cwd):
        monkeypatch.chdir(cwd)
        monkeypatch.delenv("COLUMNS", raising=False)
        capfd.readouterr()
        code = main([str(argument) for argument in arguments])
        written = capfd.readouterr()
        lines = tuple(written.err.split("\n"))
        return Answer(code, written.out, " ".join(written.err.split()), lines)

    return call
