"""A disk that fills up or a ``kill -9`` at any step: no output is half there.

The steps are those by which a run changes a disk, some fifteen: parts of it that are
kept to go on with, the table, the result, the report.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import tabtap

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="forks are Unix's")
HERE = Path(__file__).parent
KILLED = -9
OUTPUTS = {"birds.augmented.csv", "birds.tap", "birds.html"}
GIVEN = {"birds.csv", "judges.py", "out.txt", "said.txt"}
WRITTEN = ("-n", "40", "--save", "birds.tap", "--report", "birds.html")
FEW_STEPS, ALL_STEPS = (5, 12), range(1, 17)


@pytest.fixture(scope="module")
def forked(tmp_path_factory, quick_command, helped):
    """Augment birds in a process of its own that meets a fault; give its exit code."""
    _, environment = quick_command
    process = subprocess.Popen(
        [sys.executable, HERE / "forked_tabtap.py"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment(tmp_path_factory.mktemp("forked")),
        text=True,
    )

    def run(folder, *more, **fault):
        told = ["augment", "birds.csv", *helped, *WRITTEN, *more]
        order = {"folder": str(folder), "arguments": told, "fault": fault}
        process.stdin.write(json.dumps(order) + "\n")
        process.stdin.flush()
        return int(process.stdout.readline())

    yield run
    process.stdin.close()
    process.wait(60)
    process.stdout.close()


@pytest.fixture(scope="module")
def whole(done):
    return (done[0] / "birds.augmented.csv").read_bytes()


def steps(chosen):
    rest = [step for step in ALL_STEPS if step not in chosen]
    slow = [pytest.param(step, marks=pytest.mark.slow) for step in rest]
    return pytest.mark.parametrize("step", [*chosen, *slow])


def names_in(folder):
    there = {path.name for path in folder.iterdir() if path.name != "__pycache__"}
    return there - GIVEN


def check_outputs(folder, whole):
    """See that each output is whole, or not there."""
    there = names_in(folder) & OUTPUTS
    if "birds.augmented.csv" in there:
        assert (folder / "birds.augmented.csv").read_bytes() == whole
    if "birds.tap" in there:
        assert len(tabtap.load(folder / "birds.tap").delivered) == 40
    if "birds.html" in there:
        text = (folder / "birds.html").read_text(encoding="utf-8")
        assert text.rstrip().endswith("</html>")
    return there


def go_on(forked, folder):
    kept = list(folder.glob("birds.augmented.csv.run/progress-*.tap"))
    return forked(folder, "--resume" if kept else "--force")


@steps(FEW_STEPS)
def test_a_run_killed_at_any_step_leaves_whole_files_and_goes_on(
    forked, desk, whole, step
):
    given = (desk / "birds.csv").read_bytes()

    code = forked(desk, kill=step)

    assert code in (KILLED, 0)  # some releases of Python take fewer steps
    assert (desk / "birds.csv").read_bytes() == given
    assert code == KILLED or check_outputs(desk, whole) == OUTPUTS
    assert go_on(forked, desk) == 0
    assert check_outputs(desk, whole) == OUTPUTS


@steps(FEW_STEPS)
def test_a_disk_that_is_full_from_any_step_on_is_a_sentence(forked, desk, whole, step):
    given = (desk / "birds.csv").read_bytes()

    code = forked(desk, refuse=step)

    said = " ".join((desk / "said.txt").read_text(encoding="utf-8").split())
    there = names_in(desk)
    assert (desk / "birds.csv").read_bytes() == given
    assert check_outputs(desk, whole) <= there
    assert there <= {*OUTPUTS, "birds.augmented.csv.run"}
    assert code in (2, 0)
    if code == 2:
        assert "No space left on device" in said
        assert "make room" in said.lower()
        assert "Traceback" not in said


@pytest.mark.parametrize("n_bytes", [2_000, 100_000])
def test_files_that_may_not_grow_are_a_sentence(forked, desk, whole, n_bytes):
    code = forked(desk, limit=n_bytes)

    said = " ".join((desk / "said.txt").read_text(encoding="utf-8").split())
    assert code == 2
    assert "File too large" in said
    assert "Make room" in said
    assert check_outputs(desk, whole) == names_in(desk)


# ---- The commands that show a store.


@pytest.fixture
def shelf(tmp_path):
    """A store of one cell, and outputs of yesterday."""
    cell = {"dataset": "insurance", "n_real": 20, "split": 0, "method": "Copies"}
    record = {
        "cell": {**cell, "settings": {}},
        "scores": {"KNN": {"rmse": 0.5, "mae": 0.4}},
        "failure": None,
    }
    folder = tmp_path / "store" / "records"
    folder.mkdir(parents=True)
    (folder / "a.json").write_text(json.dumps(record), encoding="utf-8")
    for name in ("s.csv", "s.jsonl", "f.svg"):
        (tmp_path / name).write_text("of yesterday", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    "command",
    ["export -o s.csv", "export -o s.jsonl", "figure scarcity -o f.svg"],
)
def test_a_store_is_not_half_written_out(shelf, tabtap_run, command):
    before = {path.name: path.read_bytes() for path in shelf.glob("*.*")}
    told = ["bench", *command.split(), "--store", "store", "--force"]

    def limit():
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))

    answer = tabtap_run(*told, cwd=shelf, preexec_fn=limit)

    assert answer.code == 2
    assert "There is no room to write" in answer.said
    assert {path.name: path.read_bytes() for path in shelf.glob("*.*")} == before


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
@pytest.mark.parametrize("command", ["table main", "table failures"])
def test_a_table_that_finds_no_room_is_a_sentence(shelf, tabtap_run, command):
    told = ["bench", *command.split(), "--store", "store"]

    with Path("/dev/full").open("wb") as full:
        answer = tabtap_run(*told, cwd=shelf, stdout=full, stderr=subprocess.PIPE)

    assert answer.code == 2
    assert "No space left on device" in answer.said


@pytest.mark.parametrize("number", [0, 2], ids=["input", "errors"])
def test_a_stream_that_is_closed_is_not_missed(shelf, tabtap_run, number):
    def close():
        import os

        os.close(number)

    told = ["bench", "table", "main", "--store", "store"]

    answer = tabtap_run(*told, cwd=shelf, preexec_fn=close)

    assert answer.code == 0
    assert "0.500" in answer.out
