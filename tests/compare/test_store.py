import json
import os
import time

import pytest

from tabtap.compare.store import Store
from tabtap.errors import UserInputError

ODD_JSON = {
    "nothing": b"",
    "half": b'{"runner": "fi',
    "a list": b"[]",
    "a number": b"7",
    "null": b"null",
    "another object": b"{}",
    "no UTF-8": b"\xff\xfe",
    "nested too deeply": b"[" * 100_000,
    "a digit too many": b'{"attempt": ' + b"9" * 5000 + b"}",
}
"""Contents that no store of ours has written."""


@pytest.fixture(params=["folder", "memory"])
def store(request, tmp_path):
    if request.param == "folder":
        return Store(str(tmp_path / "records of a run"))
    return Store(f"memory://{tmp_path.name}")


def test_an_empty_store_has_no_keys(store):
    assert store.keys() == set()
    assert list(store.records()) == []


def test_a_record_comes_back_as_it_was_written(store):
    record = {"scores": {"LR": {"accuracy": 0.1 + 0.2}}, "failure": None}

    store.write("b", record)
    store.write("a", {})

    assert store.keys() == {"a", "b"}
    assert store.has("b")
    assert not store.has("c")
    assert list(store.records()) == [{}, record]


def test_a_cell_is_claimed_by_one_living_runner_only(store):
    store.show_life("first")

    attempts = [store.claim("cell", "first"), store.claim("cell", "second")]

    assert attempts == [1, None]
    assert store.claimed("first") == {"cell": 1}
    assert store.claimed("second") == {}


def test_a_finished_cell_is_not_claimed_again(store):
    store.claim("cell", "first")
    store.write("cell", {})

    assert store.claim("cell", "second") is None
    assert store.claimed("first") == {}


def test_attempts_are_counted_whoever_makes_them(store):
    attempts = [
        store.claim("cell", "first"),  # which shows no life, and so is dead
        store.claim("cell", "first"),
        store.claim("cell", "second"),
    ]

    assert attempts == [1, 2, 3]


def test_a_runner_that_left_holds_nothing(store):
    store.show_life("first")
    store.claim("cell", "first")

    store.leave("first")

    assert store.claim("cell", "second") == 2


def test_a_silent_runner_is_taken_for_dead(tmp_path):
    store = Store(str(tmp_path), silence_seconds=0.05)
    store.show_life("first")
    store.claim("cell", "first")

    alive = store.is_alive("first")
    time.sleep(0.1)

    assert alive
    assert not store.is_alive("first")
    assert store.claim("cell", "second") == 2


def age(path, seconds):
    """Let a file look as if it had been written so long ago."""
    then = time.time() - seconds
    os.utime(path, (then, then))


@pytest.mark.parametrize(
    "content",
    [
        *ODD_JSON.values(),
        b'{"runner": 7, "attempt": 1}',
        b'{"runner": "first", "attempt": "x"}',
        b'{"runner": "first", "attempt": 1e999}',
        b'{"runner": "first", "attempt": -1}',
        b'{"runner": "first", "attempt": true}',
    ],
    ids=[*ODD_JSON, "nobody", "a word", "infinite", "below one", "a truth"],
)
def test_a_claim_that_cannot_be_read_is_void_once_it_is_old(tmp_path, content):
    store = Store(str(tmp_path))
    claim = tmp_path / "claims" / "cell.json"
    claim.parent.mkdir()
    claim.write_bytes(content)

    young = store.claim("cell", "second")
    age(claim, 121)

    assert young is None  # perhaps it is being written
    assert store.claim("cell", "second") == 1
    assert store.claimed("second") == {"cell": 1}


def test_a_claim_of_an_unspeakable_runner_is_taken_over(tmp_path):
    store = Store(str(tmp_path))
    for runner in ("x" * 5000, "a\0b", "../records/other"):
        store.claim(f"cell-{len(runner)}", runner)

        assert store.claim(f"cell-{len(runner)}", "second") == 2


@pytest.mark.parametrize(
    "content",
    [
        *ODD_JSON.values(),
        b'{"at": "noon", "host": "there", "pid": 1}',
        b'{"at": NaN, "host": "there", "pid": 1}',
        b'{"at": 1e999, "host": "there", "pid": 1}',
    ],
    ids=[*ODD_JSON, "a word", "no number", "for ever"],
)
def test_a_sign_of_life_that_cannot_be_read_is_none(tmp_path, content):
    store = Store(str(tmp_path))
    store.show_life("first")
    (tmp_path / "runners" / "first.json").write_bytes(content)

    assert not store.is_alive("first")


@pytest.mark.parametrize("pid", ["0", "-1", "true", '"1"', "9" * 30, "null"])
def test_no_odd_process_is_asked_whether_it_lives(tmp_path, pid):
    store = Store(str(tmp_path))
    store.show_life("first")
    path = tmp_path / "runners" / "first.json"
    life = path.read_text(encoding="utf-8").replace(str(os.getpid()), pid)
    path.write_text(life, encoding="utf-8")

    assert not store.is_alive("first")


def test_a_clock_that_was_put_back_keeps_nobody_alive(tmp_path, monkeypatch):
    store = Store(str(tmp_path))
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 3600)
    store.show_life("first")
    store.claim("cell", "first")
    claim = tmp_path / "claims" / "other.json"
    claim.touch()
    age(claim, -3600)

    monkeypatch.setattr(time, "time", lambda: now)

    assert not store.is_alive("first")
    assert store.claim("cell", "second") == 2
    assert store.claim("other", "second") == 1


def test_a_cell_that_was_given_up_was_never_begun(store):
    store.claim("cell", "first")

    store.give_up("cell")

    assert store.claim("cell", "second") == 1


def test_a_claim_needs_no_disk_on_which_files_have_two_names(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError

    monkeypatch.setattr(os, "link", refuse)
    store = Store(str(tmp_path))
    store.show_life("first")

    attempts = [store.claim("cell", "first"), store.claim("cell", "second")]

    assert attempts == [1, None]
    assert [path.name for path in (tmp_path / "claims").iterdir()] == ["cell.json"]


def test_what_is_written_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", synced.append)
    store = Store(str(tmp_path))

    store.claim("cell", "first")
    store.write("cell", {})

    assert len(synced) == 2


@pytest.mark.skipif(os.name != "posix", reason="other systems cannot be asked")
def test_a_runner_whose_process_ended_is_dead_at_once(tmp_path):
    store = Store(str(tmp_path))
    child = os.fork()
    if child == 0:
        store.show_life("first")
        os._exit(0)

    os.waitpid(child, 0)

    assert (tmp_path / "runners" / "first.json").is_file()
    assert not store.is_alive("first")


def test_a_record_is_never_half_there(tmp_path):
    store = Store(str(tmp_path))
    store.write("cell", {"n": 1})

    with pytest.raises(ValueError, match="JSON"):
        store.write("cell", {"n": float("nan")})

    assert json.loads((tmp_path / "records" / "cell.json").read_text()) == {"n": 1}
    assert [path.name for path in (tmp_path / "records").iterdir()] == ["cell.json"]


@pytest.mark.parametrize("content", ODD_JSON.values(), ids=ODD_JSON)
def test_a_damaged_record_is_named(tmp_path, content):
    store = Store(str(tmp_path))
    store.write("cell", {})
    (tmp_path / "records" / "cell.json").write_bytes(content)

    with pytest.raises(UserInputError, match=r"cell\.json' is damaged: it"):
        list(store.records(lambda record: "cell" in record))


def test_an_unknown_kind_of_place_is_refused_in_a_sentence():
    store = Store("nowhere://records")

    with pytest.raises(UserInputError, match="'nowhere://records' cannot be used"):
        store.keys()
