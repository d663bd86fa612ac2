"""The runner with stand-in work: what it does about failures, deaths and rivals.

Work is defined inside functions: so it travels to workers by value.
"""

import errno
import os
import re
import time
from pathlib import Path

import pytest

from tabtap.compare import runner
from tabtap.compare.runner import MOST_ATTEMPTS, Cluster, attend, run_cells
from tabtap.compare.store import Cell, Store
from tabtap.errors import TapError

TWO = Cluster(jobs=2)


@pytest.fixture
def store(tmp_path):
    return Store(str(tmp_path / "store"))


def cells(n):
    return [Cell(dataset="toy", n_real=20, split=i, method="Real") for i in range(n)]


def counting(folder):
    """Return work that leaves a line for every time a cell is done."""

    def work(cell):
        with (folder / f"{cell.split}.log").open("a") as log:
            log.write("x")
        return {"cell": cell.written(), "scores": {}, "failure": None}

    return work


def times_done(folder):
    return {int(path.stem): len(path.read_text()) for path in folder.glob("*.log")}


class Witness:
    def __init__(self):
        self.started, self.seen = None, []

    def on_start(self, n_cells, n_done, n_jobs):
        self.started = (n_cells, n_done, n_jobs)

    def on_cell(self, finished):
        self.seen.append((finished.cell.split, finished.status))


def test_every_cell_is_done_once_and_told(store, tmp_path):
    witness = Witness()

    summary = run_cells(
        cells(6), counting(tmp_path), store, cluster=TWO, observer=witness
    )

    assert times_done(tmp_path) == dict.fromkeys(range(6), 1)
    assert (summary.n_cells, summary.n_done, summary.n_elsewhere) == (6, 6, 0)
    assert witness.started == (6, 0, 2)
    assert sorted(witness.seen) == [(i, "done") for i in range(6)]


def test_a_second_run_does_only_what_is_left(store, tmp_path):
    run_cells(cells(3), counting(tmp_path), store, cluster=TWO)

    run_cells(cells(5), counting(tmp_path), store, cluster=Cluster(jobs=1))

    assert times_done(tmp_path) == dict.fromkeys(range(5), 1)


def test_a_cell_that_raises_is_tried_again_and_then_recorded(store, tmp_path):
    count = counting(tmp_path)

    def work(cell):
        record = count(cell)
        if cell.split == 1:
            raise ZeroDivisionError("by design")
        return record

    summary = run_cells(cells(3), work, store, cluster=TWO)

    assert summary.n_done == 3
    assert times_done(tmp_path) == {0: 1, 1: MOST_ATTEMPTS, 2: 1}
    failures = [r["failure"] for r in store.records() if r["failure"]]
    assert [failure["reason"] for failure in failures] == [
        "ZeroDivisionError: by design"
    ]
    assert "in work" in failures[0]["traceback"]


def test_a_traceback_names_modules_and_no_folder_of_this_machine(store):
    def work(_cell):
        return Cell(dataset="toy", n_real=20, split=0, method="Real", settings=7).key

    run_cells(cells(1), work, store, cluster=TWO)

    (record,) = store.records()
    named = re.findall('File "(.*)"', record["failure"]["traceback"])
    assert named[0] == "tabtap/compare/runner.py"
    assert named[-1] == "tabtap/compare/store.py"
    assert not any(Path(name).is_absolute() for name in named)


def test_a_worker_that_dies_loses_no_cell(store, tmp_path):
    count = counting(tmp_path)

    def work(cell):
        record = count(cell)
        if cell.split == 2 and (tmp_path / "2.log").read_text() == "x":
            os._exit(1)
        return record

    summary = run_cells(cells(6), work, store, cluster=TWO)

    assert summary.n_done == 6
    assert all(record["failure"] is None for record in store.records())
    assert times_done(tmp_path)[2] == 2


def test_a_cell_that_kills_every_worker_is_recorded_as_failed(store, tmp_path):
    count = counting(tmp_path)

    def work(cell):
        record = count(cell)
        if cell.split == 0:
            os._exit(1)
        return record

    summary = run_cells(cells(4), work, store, cluster=TWO)

    assert summary.n_done == 4
    failed = [record for record in store.records() if record["failure"]]
    assert [record["cell"]["split"] for record in failed] == [0]
    assert "died 3 times" in failed[0]["failure"]["reason"]


class Trap:
    """Cannot be read by a worker."""

    def __reduce__(self):
        return os._exit, (1,)


def test_workers_that_die_before_they_begin_end_the_run(store):
    trap = Trap()

    def work(_cell):
        raise AssertionError(trap)

    with pytest.raises(TapError, match="ended 3 times before they began a cell"):
        run_cells(cells(2), work, store, cluster=TWO)

    assert store.keys() == set()


def test_what_another_living_runner_holds_is_left_to_it(store, tmp_path):
    held = cells(3)[1]
    store.show_life("other")
    store.claim(held.key, "other")

    summary = run_cells(cells(3), counting(tmp_path), store, cluster=TWO)

    assert (summary.n_done, summary.n_elsewhere) == (2, 1)
    assert times_done(tmp_path) == {0: 1, 2: 1}


def test_what_a_dead_runner_left_is_taken_up(store, tmp_path):
    store.claim(cells(3)[1].key, "dead")

    summary = run_cells(cells(3), counting(tmp_path), store, cluster=TWO)

    assert summary.n_done == 3
    assert times_done(tmp_path) == dict.fromkeys(range(3), 1)


def test_a_runner_leaves_no_trace_of_itself(store, tmp_path):
    run_cells(cells(2), counting(tmp_path), store, cluster=TWO)

    left = [path for path in (tmp_path / "store").rglob("*") if path.is_file()]
    assert {path.parent.name for path in left} == {"records"}


def test_two_runners_of_one_process_have_two_names(store, monkeypatch):
    names = []
    monkeypatch.setattr(Store, "show_life", lambda _, runner: names.append(runner))

    for _ in range(2):
        run_cells([], None, store, cluster=TWO)

    assert len(set(names)) == 2


def test_a_cell_whose_record_finds_no_room_was_never_begun(store, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    (cell,) = cells(1)
    record = {"failure": None}
    for _ in range(MOST_ATTEMPTS + 1):
        with monkeypatch.context() as full:
            full.setattr(Store, "write", refuse)
            with pytest.raises(OSError, match="No space left"):
                attend(cell, lambda _: record, store, "me")

    assert attend(cell, lambda _: record, store, "me").status == "done"


def test_a_run_that_was_stopped_does_not_count_against_its_cells(
    store, tmp_path, monkeypatch
):
    def stop(batch, _work, store, runner, *_):
        store.claim(batch[0].key, runner)
        raise KeyboardInterrupt

    for _ in range(MOST_ATTEMPTS + 1):
        with monkeypatch.context() as patch:
            patch.setattr(runner, "_round", stop)
            with pytest.raises(KeyboardInterrupt):
                run_cells(cells(1), counting(tmp_path), store, cluster=TWO)

    run_cells(cells(1), counting(tmp_path), store, cluster=TWO)

    assert [record["failure"] for record in store.records()] == [None]


def test_a_heart_beats_on_after_a_beat_that_found_no_room(tmp_path, monkeypatch):
    beats = []

    def show_life(*_):
        beats.append(time.perf_counter())
        if len(beats) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Store, "show_life", show_life)
    quick = Store(str(tmp_path), silence_seconds=0.02)
    patience = time.perf_counter() + 5

    with runner._alive(quick, "me"):
        while len(beats) < 4 and time.perf_counter() < patience:
            time.sleep(0.005)

    assert len(beats) >= 4


def test_the_stages_of_a_cell_are_told_with_it(store):
    def work(cell):
        costs = {"cpu_seconds": {"fit": 2.0}}
        return {"cell": cell.written(), "failure": None, "costs": costs}

    finished = attend(cells(1)[0], work, store, "me")

    assert finished.status == "done"
    assert finished.costs == {"fit": 2.0}
    assert 0.0 <= finished.seconds < time.perf_counter()
