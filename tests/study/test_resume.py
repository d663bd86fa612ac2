"""A study that is killed and resumed, or run on a cluster, has the same records."""

import os
import shutil
import signal

import pytest

from tabtap.compare.runner import Cluster, run_cells
from tabtap.compare.store import Store
from tabtap.study.studies import measure_cell


def work_on(folder, store, dies_at=None):
    """Return the work of a worker, which is killed once when it comes to a cell."""
    mark = folder.parent / "died"

    def work(cell):
        os.environ["TABTAP_DATA"] = str(folder)
        if cell.key == dies_at and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return measure_cell(cell, store)

    return work


def cells_of(tiny_cells):
    """Give four cells of the ablation, on one table."""
    return tiny_cells("ablation", tables=("insurance",))[:4]


def told(store):
    """Return what records say, but for times."""
    apart = ("costs", "finished")
    return {
        key: {name: value for name, value in record.items() if name not in apart}
        for key, record in zip(sorted(store.keys()), store.records(), strict=True)
    }


def test_a_killed_and_resumed_study_has_the_records_of_one_that_was_left_alone(
    tmp_path, insurance_folder, tiny_cells
):
    cells = cells_of(tiny_cells)
    whole, broken = Store(str(tmp_path / "whole")), Store(str(tmp_path / "broken"))
    run_cells(cells, work_on(insurance_folder, whole), whole, cluster=Cluster(jobs=1))
    # One cell is done, and one was in hand when its runner was killed.
    shutil.copytree(tmp_path / "whole", tmp_path / "broken")
    for file in (tmp_path / "broken").glob("r*/*"):
        if file.stem != cells[0].key:
            file.unlink()
    broken.claim(cells[1].key, "a runner that is no more")

    work = work_on(insurance_folder, broken, dies_at=cells[2].key)
    summary = run_cells(cells, work, broken, cluster=Cluster(jobs=1))

    assert (tmp_path / "died").exists()
    assert summary.n_done == len(cells)
    assert told(broken) == told(whole)


def test_a_dask_cluster_gives_the_records_of_this_process(
    tmp_path, insurance_folder, tiny_cells, monkeypatch
):
    distributed = pytest.importorskip("distributed")
    cells = cells_of(tiny_cells)[:2]
    monkeypatch.setenv("TABTAP_DATA", str(insurance_folder))
    here, there = Store(str(tmp_path / "here")), Store(str(tmp_path / "there"))
    for cell in cells:
        here.write(cell.key, measure_cell(cell, here))

    with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",  # two of them may run at a time
        silence_logs=50,
    ) as cluster:
        run_cells(
            cells,
            work_on(insurance_folder, there),
            there,
            cluster=Cluster("dask", cluster.scheduler_address),
        )

    assert told(there) == told(here)
