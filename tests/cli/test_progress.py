import json
import subprocess
import sys
from dataclasses import dataclass
from io import StringIO

import pytest

from tabtap.api.progress import RunPlan
from tabtap.cli.progress import Progress, gain_words
from tabtap.cli.terminal import Screen, console_on
from tabtap.domain import Bound


@dataclass
class Step:
    step: int


@dataclass
class Certificate:
    window: int
    n_rows: int
    over_real: Bound
    committed: bool
    over_incumbent: Bound | None = None


@dataclass
class Window:
    certificate: Certificate
    n_committed: int
    budget: int
    seconds_left: float


@dataclass
class Training:
    step: int
    n_steps: int
    seconds_left: float


PLAN = RunPlan(n_steps=40, window_length=4, budget=100, n_windows=0, n_committed=0)
GAIN = Bound(0.05, 0.02, 0.8)


@pytest.fixture
def progress():
    return Progress(Screen(console_on(StringIO())), clock=lambda: 100.0)


def spoken(progress):
    return progress.screen.console.file.getvalue()


def test_stages_follow_each_other(progress):
    stages = [progress.stage]
    progress.on_training(Training(20, 80, 9.0))
    stages.append((progress.share, progress.seconds_left()))
    progress.on_plan(PLAN)
    progress.on_step(Step(2))
    stages.append(progress.stage)
    progress.on_step(Step(3))
    stages.append(progress.stage)
    progress.on_window(Window(Certificate(0, 30, GAIN, committed=True), 30, 100, 7.0))
    stages.append(progress.stage)

    assert stages == [
        "learning the table",
        (0.25, 9.0),
        "generating rows",
        "judging them",
        "generating rows",
    ]


def test_windows_are_counted_and_told_in_a_line_each(progress):
    loss = Bound(-0.01, 0.02, 0.8)
    progress.on_plan(PLAN)
    progress.on_window(Window(Certificate(0, 30, GAIN, committed=True), 30, 100, 7.0))
    progress.on_window(Window(Certificate(1, 28, loss, committed=False), 30, 100, 5.0))

    assert (progress.n_committed, progress.n_refused, progress.n_rows) == (1, 1, 30)
    assert progress.gain is GAIN
    assert progress.share == 0.3
    lines = spoken(progress).splitlines()
    assert lines[0].startswith("Window 1: 30 rows let in, gain +0.050, at least +0.030")
    assert lines[1].startswith("Window 2: 28 rows refused, gain -0.010, not shown; ")


def test_a_run_that_is_taken_up_says_so(progress):
    plan = RunPlan(n_steps=40, window_length=4, budget=50, n_windows=2, n_committed=20)

    progress.on_plan(plan)

    assert progress.n_steps == 8
    assert "Going on after 2 windows, 20 rows so far." in spoken(progress)


@pytest.mark.parametrize(
    ("bound", "words"),
    [
        (None, "no gain shown yet"),
        (Bound(float("nan"), 0.1, 0.8), "gain not measurable"),
        (Bound(0.1, float("inf"), 0.8), "gain +0.100, how sure cannot be told"),
    ],
)
def test_a_gain_that_cannot_be_told_is_not_shown_as_a_number(bound, words):
    assert gain_words(bound) == words


# ---- What a program reads that has started the run.


@pytest.fixture
def feed(tmp_path, monkeypatch):
    monkeypatch.setenv("TABTAP_PROGRESS", str(tmp_path / "progress.json"))
    return tmp_path / "progress.json"


def fed():
    return Progress(Screen(console_on(StringIO())), clock=lambda: 100.0)


def test_without_being_asked_nothing_is_fed(progress):
    assert progress.feed is None


def test_a_program_reads_stages_windows_and_the_time_left(feed):
    progress = fed()
    progress.on_training(Training(20, 80, 9.0))
    training = json.loads(feed.read_text())
    progress.on_plan(PLAN)
    progress.on_step(Step(3))
    judging = json.loads(feed.read_text())
    progress.on_window(Window(Certificate(0, 16, GAIN, committed=True), 16, 100, 30.0))
    window = json.loads(feed.read_text())

    assert (training["stage"], training["share"]) == ("learning the table", 0.25)
    assert (training["seconds_left"], training["budget"]) == (9.0, None)
    assert (judging["stage"], judging["line"]) == ("judging them", "step 4 of 40")
    assert window["said"] == [
        "Window 1: 16 rows let in, gain +0.050, at least +0.030; 16 of 100 rows so far."
    ]
    assert (window["n_rows"], window["budget"], window["seconds_left"]) == (16, 100, 30)


def test_it_is_fed_a_few_times_a_second_and_no_more(feed):
    progress = fed()
    progress.on_plan(PLAN)
    before = feed.read_text()

    progress.on_step(Step(0))

    assert feed.read_text() == before


def test_a_feed_that_cannot_be_written_does_not_end_the_run(monkeypatch, tmp_path):
    monkeypatch.setenv("TABTAP_PROGRESS", str(tmp_path / "gone" / "progress.json"))
    progress = fed()

    progress.on_plan(PLAN)

    assert progress.stage == "generating rows"


WATCHED = """
import time
from io import StringIO
from tabtap.cli.progress import Progress
from tabtap.cli.terminal import Screen, console_on, interruptible
progress = Progress(Screen(console_on(StringIO())))
try:
    with interruptible(), progress.watched():
        print("at work", flush=True)
        time.sleep({seconds})
    print("over", flush=True)
    time.sleep(0.5)
    print("written", flush=True)
except KeyboardInterrupt:
    print("in order", flush=True)
"""


@pytest.mark.usefixtures("feed")
@pytest.mark.parametrize(
    ("seconds", "heard"),
    [(60, ["at work", "in order"]), (0, ["at work", "over", "written"])],
    ids=["at work", "over"],
)
def test_a_run_ends_in_order_when_nobody_listens_any_more(seconds, heard):
    child = subprocess.Popen(
        [sys.executable, "-c", WATCHED.format(seconds=seconds)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    first = [child.stdout.readline().strip() for _ in heard[:-1]]
    out, _ = child.communicate(timeout=50)  # which closes its input

    assert [*first, out.strip()] == heard
    assert child.returncode == 0
