"""A server without a network, whose commands answer at once."""

import sys
import time
import warnings
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="the extra serve is not installed")
pytest.importorskip("uvicorn", reason="the extra serve is not installed")

with warnings.catch_warnings():
    # New releases would rather have httpx2; they work with httpx as well.
    warnings.simplefilter("ignore")
    from starlette.testclient import TestClient

from tabtap.serve import jobs as jobs_module
from tabtap.serve.app import Keys, make_app
from tabtap.serve.jobs import Jobs, Limits

STAND_IN = (sys.executable, str(Path(__file__).with_name("stand_in_tabtap.py")))
PORT = 8765
HOME = f"http://127.0.0.1:{PORT}"
PATIENCE_SECONDS = 60


@pytest.fixture(autouse=True)
def stand_in_peek(request, monkeypatch):
    if "real_peek" not in request.fixturenames:
        monkeypatch.setattr(jobs_module, "PEEK", (*STAND_IN, "peek"))


@pytest.fixture
def real_peek():
    """Asks for the true reading of files."""


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "served"


@pytest.fixture
def make_jobs(folder):
    made = []

    def make(limits=None, **given):
        told = {"command": STAND_IN, **given}
        jobs = Jobs(folder, limits=limits or Limits(), **told)
        made.append(jobs)
        return jobs

    yield make
    for jobs in made:
        jobs.close()


@pytest.fixture
def jobs(make_jobs):
    jobs = make_jobs()
    jobs.start()
    return jobs


@pytest.fixture
def keys():
    return Keys(token="the-token", session="the-session")


@pytest.fixture
def stranger(jobs, keys):
    """Somebody who was not given the address."""
    app = make_app(jobs, keys, PORT)
    return TestClient(app, base_url=HOME, raise_server_exceptions=False)


@pytest.fixture
def client(stranger):
    """The page of somebody who was."""
    stranger.get("/?token=the-token")
    stranger.headers["origin"] = HOME
    return stranger


@pytest.fixture
def drop(client):
    def drop(content=b"a,b\n1,2\n", name="visits.csv"):
        return client.post("/files", params={"name": name}, content=content)

    return drop


@pytest.fixture
def file(drop):
    return drop().json()["id"]


@pytest.fixture
def ask(client, file):
    def ask(learner="linear", **more):
        options = {"target": "b", "learner": learner, **more}
        return client.post(f"/files/{file}/runs", json=options).json()["id"]

    return ask


@pytest.fixture
def reaches():
    """Wait until a run is in a state, and return the run."""

    def reaches(jobs, run_id, *states):
        for _ in range(PATIENCE_SECONDS * 50):
            with jobs._changed:  # what is told is also on the disk
                run = jobs.runs[run_id]
                if run.state in states:
                    return run
            time.sleep(0.02)
        raise AssertionError(f"{run.state}, not {states}: {run.sentence}")

    return reaches


@pytest.fixture
def on_disk(folder):
    """Return the files there are, but for the lock."""

    def on_disk():
        found = [path.relative_to(folder) for path in folder.rglob("*")]
        return sorted(str(path) for path in found if path.name != "serve.lock")

    return on_disk
