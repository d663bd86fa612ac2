import json
import os
import time

import pytest

from tabtap.compare.store import Store
from tabtap.errors import UserInputError


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


def test_a_damaged_record_is_named(tmp_path):
    store = Store(str(tmp_path))
    store.write("cell", {})
    (tmp_path / "records" / "cell.json").write_text("{", encoding="utf-8")

    with pytest.raises(UserInputError, match=r"cell\.json' is damaged"):
        list(store.records())


def test_an_unknown_kind_of_place_is_refused_in_a_sentence():
    store = Store("nowhere://records")

    with pytest.raises(UserInputError, match="'nowhere://records' cannot be used"):
        store.keys()
