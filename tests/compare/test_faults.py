"""A store on a disk that fills up, and runners that are killed: nothing is lost.

The disk is full for real: files may not grow beyond a limit of the process, or the
store is on a file system of 64 kB, where this user may mount one.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys

import pytest

from tabtap.compare.runner import Cluster, run_cells
from tabtap.compare.store import Cell, Store

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="limits, forks and mounts are Unix's"
)
RECORD = {"scores": {"KNN": {"rmse": 0.5}}, "failure": None}
CELLS = [Cell(dataset="toy", n_real=20, split=i, method="Real") for i in range(3)]


@contextlib.contextmanager
def files_of_at_most(n_bytes):
    """Let no file of this process grow beyond so many bytes."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.fixture
def small_disk(tmp_path):
    """Give a folder on a file system of 64 kB, and the way to fill it."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this user may not mount a file system")

    def fill():
        with (
            contextlib.suppress(OSError),
            (folder / "filler").open("wb", buffering=0) as file,
        ):
            while file.write(b"x" * 512):
                pass

    yield folder, fill
    subprocess.run(["umount", str(folder)], check=True)


def files_in(folder):
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("n_bytes", range(0, 40, 4))
def test_a_claim_without_room_is_no_claim(tmp_path, n_bytes):
    store = Store(str(tmp_path))

    with files_of_at_most(n_bytes), pytest.raises(OSError, match="File too large"):
        store.claim("cell", "first")

    assert files_in(tmp_path) == []
    assert store.claim("cell", "second") == 1


@pytest.mark.parametrize("n_bytes", range(0, 72, 8))
def test_a_record_without_room_is_none_and_leaves_the_claim(tmp_path, n_bytes):
    store = Store(str(tmp_path))
    store.claim("cell", "first")

    with files_of_at_most(n_bytes), pytest.raises(OSError, match="File too large"):
        store.write("cell", RECORD)

    assert store.keys() == set()
    assert files_in(tmp_path) == ["cell.json"]
    assert store.claimed("first") == {"cell": 1}


@pytest.mark.parametrize("step", ["claim", "write", "show_life"])
def test_a_full_disk_refuses_and_an_emptied_one_goes_on(small_disk, step):
    folder, fill = small_disk
    store = Store(str(folder))
    given = {"claim": ("b", "me"), "write": ("a", RECORD), "show_life": ("me",)}
    store.claim("a", "me")
    store.show_life("me")
    fill()

    with pytest.raises(OSError, match="No space left on device"):
        getattr(store, step)(*given[step])
    (folder / "filler").unlink()

    assert files_in(folder) == ["a.json", "me.json"]
    assert store.is_alive("me")
    assert [store.claim(key, "me") for key in "ab"] == [2, 1]
    store.write("a", RECORD)
    assert list(store.records()) == [RECORD]


def test_a_run_that_found_no_room_goes_on_when_there_is_some(tmp_path):
    store = Store(str(tmp_path / "store"))

    def work(cell):
        return {"cell": cell.written(), **RECORD}

    def work_without_room(cell):
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (10, hard))
        return {"cell": cell.written(), **RECORD}

    one = Cluster(jobs=1)
    for _ in range(4):  # once more than a cell may be begun
        with pytest.raises(OSError, match="File too large"):
            run_cells(CELLS, work_without_room, store, cluster=one)
    stop_workers()

    summary = run_cells(CELLS, work, store, cluster=one)

    assert summary.n_done == len(CELLS)
    assert all(record["failure"] is None for record in store.records())


def stop_workers():
    """End the workers, whose files stay limited."""
    from joblib.externals.loky import get_reusable_executor

    get_reusable_executor().shutdown(wait=True)


@pytest.mark.parametrize("fatal", range(1, 9))
def test_a_runner_killed_at_any_step_loses_no_cell(tmp_path, fatal):
    """The steps are those that change a disk: sync, link, replace, remove."""
    store = Store(str(tmp_path))
    child = os.fork()
    if child == 0:
        die_at(fatal)
        store.claim("cell", "first")
        store.write("cell", RECORD)
        os._exit(0)

    _, status = os.waitpid(child, 0)

    assert os.waitstatus_to_exitcode(status) in (0, -signal.SIGKILL)
    if store.claim("cell", "second") is not None:
        store.write("cell", RECORD)
    assert list(store.records()) == [RECORD]
    assert store.claimed("second") == {}
    assert json.loads((tmp_path / "records" / "cell.json").read_bytes()) == RECORD


def die_at(fatal):
    """Have this process killed instead of doing its so-manieth step."""
    steps = []

    def fatally(step):
        def run(*given, **named):
            steps.append(step)
            if len(steps) == fatal:
                os.kill(os.getpid(), signal.SIGKILL)
            return step(*given, **named)

        return run

    os.fsync, os.link, os.replace = map(fatally, (os.fsync, os.link, os.replace))
    os.remove = fatally(os.remove)
