"""The same runner on a cluster of processes on this machine, one of them killed."""

import os
import signal
import threading
import time
import warnings

import pytest

from tabtap.compare.runner import CELL_BYTES, Cluster, run_cells
from tabtap.compare.store import Cell, Store
from tabtap.errors import UserInputError

N_CELLS = 24


def slow_work(folder):
    """Return work that takes a moment, and tells which process began and ended it."""

    def work(cell):
        with (folder / f"{cell.split}.log").open("a") as log:
            log.write(f"{os.getpid()}\n")
        time.sleep(0.15)
        return {"cell": cell.written(), "scores": {}, "failure": None}

    return work


def cells():
    return [
        Cell(dataset="toy", n_real=20, split=i, method="Real") for i in range(N_CELLS)
    ]


def kill_one_when_busy(folder, killed):
    """Kill whichever worker is the first to begin a fourth cell."""
    deadline = time.monotonic() + 60
    while not killed and time.monotonic() < deadline:
        begun = [p.read_text().split() for p in folder.glob("*.log")]
        pids = [int(pid) for lines in begun for pid in lines]
        busy = [pid for pid in set(pids) if pids.count(pid) >= 4]
        if busy:
            os.kill(busy[0], signal.SIGKILL)
            killed.append(busy[0])
        time.sleep(0.01)


def run_with_a_murder(cluster, folder):
    store, killed = Store(str(folder / "store")), []
    killer = threading.Thread(target=kill_one_when_busy, args=(folder, killed))
    killer.start()
    summary = run_cells(cells(), slow_work(folder), store, cluster=cluster)
    killer.join()
    return store, summary, killed


def assert_all_cells_ended_once(store, summary, killed):
    assert len(killed) == 1
    assert summary.n_done == N_CELLS
    records = list(store.records())
    assert sorted(r["cell"]["split"] for r in records) == list(range(N_CELLS))
    assert all(record["failure"] is None for record in records)


def test_local_processes_survive_a_killed_worker(tmp_path):
    store, summary, killed = run_with_a_murder(Cluster(jobs=2), tmp_path)

    assert_all_cells_ended_once(store, summary, killed)


def test_a_dask_cluster_survives_a_killed_worker(tmp_path):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=3,
        threads_per_worker=1,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",  # two of them may run at a time
        silence_logs=50,
    ) as there:
        cluster = Cluster("dask", there.scheduler_address)

        store, summary, killed = run_with_a_murder(cluster, tmp_path)

    assert_all_cells_ended_once(store, summary, killed)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of ray's own making
def test_a_ray_cluster_survives_a_killed_worker(tmp_path):
    ray = pytest.importorskip("ray")
    ray.init(num_cpus=3, include_dashboard=False, _node_ip_address="127.0.0.1")
    try:
        store, summary, killed = run_with_a_murder(Cluster("ray"), tmp_path)
    finally:
        ray.shutdown()

    assert_all_cells_ended_once(store, summary, killed)


def test_an_unknown_backend_is_refused():
    with pytest.raises(UserInputError, match="backend='slurm' is not usable"):
        Cluster("slurm")


def test_a_cluster_whose_package_is_missing_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "ray", None)

    with (
        pytest.raises(UserInputError, match=r'pip install "tabtap\[ray\]"'),
        Cluster("ray").workers(),
    ):
        pass


@pytest.mark.parametrize(
    ("room", "cores", "jobs"),
    [(10 * CELL_BYTES, 4, 4), (2 * CELL_BYTES, 4, 2), (1, 4, 1), (None, 4, 4)],
    ids=["enough", "for two", "for none", "unknown"],
)
def test_so_many_local_workers_as_memory_and_cores_allow(
    monkeypatch, room, cores, jobs
):
    monkeypatch.setattr("tabtap.compare.runner.available_bytes", lambda: room)
    monkeypatch.setattr("os.cpu_count", lambda: cores)

    assert Cluster().n_jobs == jobs
    assert Cluster(jobs=3).n_jobs == 3
    assert Cluster("dask").n_jobs == -1


def test_a_warning_of_a_replaced_worker_does_not_end_the_thread_that_replaces_it():
    raised = []

    def manage():
        try:
            warnings.warn("A worker stopped while some jobs were given", stacklevel=1)
        except UserWarning as error:
            raised.append(error)

    with Cluster("local", jobs=2).workers():
        thread = threading.Thread(target=manage)
        thread.start()
        thread.join()

    assert raised == []
