import errno
import hashlib
import io
import os
import tarfile
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import pytest
import torch

from tabtap.errors import UserInputError, WeightsError
from tabtap.evaluate.weights import (
    CHECKPOINTS,
    Checkpoint,
    cache_folder,
    fetch_weights,
    list_weights,
    load_weights,
    weights_path,
    weights_settings,
)

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

    def make(checkpoint_bytes):
        checkpoint = Checkpoint(
            name="tiny",
            package="tiny",
            version="1.0",
            backend="hatchling.build",
            member="models/tiny.ckpt",
            sha256=hashlib.sha256(checkpoint_bytes).hexdigest(),
            n_bytes=len(checkpoint_bytes),
            archive_bytes=2_000_000,
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
    return register(saved(({"module.layer.weight": TENSOR}, None, {"n_layers": 1})))


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
    shelf = register(saved({"state_dict": {"weight": TENSOR}, "config": {"size": 3}}))

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


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"sha256": 1}'])
def test_a_record_that_cannot_be_read_counts_as_changed(shelf, text):
    path = fetch_weights("tiny", download=shelf)
    path.with_name("about.json").write_text(text, encoding="utf-8")

    with pytest.raises(WeightsError, match="have changed since"):
        load_weights("tiny")
    with pytest.raises(WeightsError, match="have changed since"):
        weights_settings("tiny")


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
