"""The page in Chromium, with the true command behind it: from a drop to a download."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tabtap.datasets import load_penguins

HERE = Path(__file__).parent
SECONDS = 120
"""How long anything may take on a machine that has other work to do."""

PAIRS = ("h1", ".about", ".hint", ".field label", ".grid thead th", ".grid td", ".mark")
PAIRS += (
    ".verdict h4",
    ".sentence",
    ".windows li",
    "button.main",
    ".button",
    "footer p",
)
DROP = """
([zone, name, text]) => {
  const held = new DataTransfer();
  held.items.add(new File([text], name));
  for (const kind of ["dragenter", "dragover", "drop"]) {
    zone.dispatchEvent(
      new DragEvent(kind, { dataTransfer: held, bubbles: true, cancelable: true }));
  }
}
"""


class Server:
    """``tabtap serve`` in a process of its own."""

    def __init__(self, folder):
        command = [sys.executable, str(HERE / "paced_serve.py"), str(folder), "0"]
        self.folder = folder
        self.process = subprocess.Popen(
            command,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        self.address = next(
            found[0]
            for line in self.process.stderr
            if (found := re.search(r"http://\S+", line))
        )

    def end(self, number=signal.SIGINT):
        self.process.send_signal(number)
        said = self.process.stderr.read()
        self.process.stderr.close()
        return self.process.wait(timeout=SECONDS), " ".join(said.split())


@pytest.fixture
def start(tmp_path):
    servers = []

    def start(folder=None):
        servers.append(Server(folder or tmp_path / "served"))
        return servers[-1]

    yield start
    for server in servers:
        if server.process.poll() is None:
            server.end(signal.SIGTERM)


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A server that several tests share, for what changes nothing in others."""
    server = Server(tmp_path_factory.mktemp("served"))
    yield server
    server.end()


@pytest.fixture
def birds():
    """Sixty penguins as the text of a file."""
    chosen = load_penguins().dropna(subset=["sex"]).sample(60, random_state=1)
    return chosen.to_csv(index=False)


@pytest.fixture
def open_page(browser):
    contexts = []

    def open_(address, context=None, **given):
        if context is None:
            context = browser.new_context(accept_downloads=True, **given)
            contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(1000 * SECONDS)
        page.heard, page.asked = [], []
        page.on("console", lambda message: page.heard.append(message.text))
        page.on("pageerror", lambda error: page.heard.append(str(error)))
        page.on("request", lambda request: page.asked.append(request.url))
        page.goto(address)
        return page

    yield open_
    for context in contexts:
        context.close()


def drop(page, name, text):
    zone = page.query_selector("#drop")
    page.evaluate(DROP, [zone, name, text])


def describe(page, target="sex"):
    """Choose the target, and wait until the table is looked over."""
    page.select_option("#field-target", target)
    page.wait_for_selector("td[data-label]", state="attached")
    page.wait_for_selector(".busy.hint", state="detached")


def ask(page, learner):
    page.select_option("#field-learner", learner)
    page.select_option("#field-preset", "fast")
    page.fill("#field-budget", "40")
    page.click("[data-key=start]")


def state_of(page, place=0):
    return page.query_selector_all(".run .mark")[place].inner_text()


def downloads(page, folder):
    got = {}
    for what in ("table", "report", "result", "datasheet"):
        with page.expect_download() as waited:
            page.click(f'.run a[href$="/files/{what}"]')
        path = folder / waited.value.suggested_filename
        waited.value.save_as(path)
        got[what] = path
    return got


def test_bad_files_are_told_and_the_page_goes_on(start, open_page, tmp_path):
    server = start()
    page = open_page(server.address)

    said = []
    for name, text, words in (
        ("a.exe", "x", "'a.exe' has the extension '.exe'"),
        ("a.csv", "", "The file is empty."),
        ("b.parquet", "no parquet", "b.parquet"),
    ):
        drop(page, name, text)
        page.wait_for_selector(f'#problem:has-text("{words}")')
        said.append(page.inner_text("#problem"))
    page.wait_for_selector("#busy", state="hidden")
    code, last = server.end()

    assert str(tmp_path) not in " ".join(said)
    assert page.is_hidden("#file")
    assert code == 0
    assert last == "Ctrl-C ends it. Ending ... Ended; files and results are deleted."
    assert [path.name for path in server.folder.iterdir()] == ["serve.lock"]


def test_a_page_whose_terminal_is_closed_ends_in_order(start, open_page, birds):
    server = start()
    page = open_page(server.address)
    drop(page, "birds.csv", birds)
    page.wait_for_selector("#field-target")

    code, _ = server.end(signal.SIGHUP)

    assert code == 0
    assert [path.name for path in server.folder.iterdir()] == ["serve.lock"]


@pytest.mark.slow
def test_from_the_drop_to_the_download(start, open_page, birds, tmp_path, quick_table):
    server = start()
    page = open_page(server.address, viewport={"width": 1400, "height": 900})

    drop(page, "my birds.csv", birds)
    page.wait_for_selector("#field-target")
    describe(page)
    columns = page.inner_text(".grid")
    remark = page.inner_text(".fine")
    ask(page, "forest")
    page.wait_for_selector(".verdict")
    got = downloads(page, tmp_path)
    page.click(".run summary")
    page.frame_locator("iframe").locator("#verdict-title").wait_for()
    report = page.frame_locator("iframe").locator("#verdict-title").inner_text()
    kept = json.loads(next(server.folder.rglob("answer.json")).read_text())

    assert page.url == server.address.partition("?")[0]  # the token is gone from it
    assert "33.1 to 55.9" in columns
    assert remark == "Nothing stands out."
    assert page.inner_text(".verdict h4") == kept["headline"]
    assert page.inner_text(".verdict .sentence") == kept["why"]
    assert report.startswith("Add these 40 rows")
    assert {what: path.name for what, path in got.items()} == {
        "table": "my birds.augmented.csv",
        "report": "my birds.report.html",
        "result": "my birds.result.tap",
        "datasheet": "my birds.datasheet.md",
    }
    assert got["table"].read_bytes() == quick_table(birds)
    home = page.url
    assert {url.startswith(home) for url in page.asked} == {True}
    assert page.heard == []


@pytest.fixture
def quick_table(tmp_path):
    """Return the table that the command line makes of the same rows and options."""

    def quick_table(text):
        desk = tmp_path / "desk"
        desk.mkdir()
        (desk / "train.csv").write_text(text, encoding="utf-8")
        told = ["augment", "train.csv", "--target=sex", "--learner=forest"]
        told += ["--preset=fast", "--budget=40", "--quiet"]
        subprocess.run(
            [sys.executable, str(HERE / "paced_tabtap.py"), *told], cwd=desk, check=True
        )
        return (desk / "train.augmented.csv").read_bytes()

    return quick_table


@pytest.mark.slow
def test_a_reload_a_second_tab_and_a_killed_server_find_the_run(
    start, open_page, birds, tmp_path, quick_table
):
    server = start()
    page = open_page(server.address)
    drop(page, "birds.csv", birds)
    page.wait_for_selector("#field-target")
    describe(page)
    ask(page, "xgboost")
    ask(page, "forest")
    page.wait_for_selector(".windows li")

    second = open_page(page.url, page.context)
    second.wait_for_selector(".windows li")
    beside = [state_of(second, place) for place in (0, 1)]
    page.reload()
    page.wait_for_selector(".windows li")
    again = [state_of(page, place) for place in (0, 1)]
    chosen = page.input_value("#field-target"), page.input_value("#field-learner")
    page.click("[data-key^=Stop] >> nth=0")  # of the one that waits
    second.wait_for_selector(".run:first-child [data-key^=Resume]")
    server.end(signal.SIGKILL)

    other = start(server.folder)
    page = open_page(other.address)
    page.wait_for_selector(".run >> nth=1")
    found = [state_of(page, place) for place in (0, 1)]
    why = page.inner_text(".run >> nth=1")
    page.click(".run >> nth=1 >> [data-key^=Resume]")
    page.wait_for_selector(".verdict")
    with page.expect_download() as waited:
        page.click('.run a[href$="/files/table"]')
    waited.value.save_as(tmp_path / "resumed.csv")

    assert beside == again == ["waits", "at work"]
    assert chosen == ("sex", "forest")
    assert found == ["stopped", "stopped"]
    assert "The server ended before this run did. Resume it to go on." in why
    assert (tmp_path / "resumed.csv").read_bytes() == quick_table(birds)
    code, last = other.end()
    assert code == 0
    assert last.endswith(
        "files and results are deleted, 1 unfinished run kept for a week."
    )


@pytest.mark.slow
def test_a_run_is_stopped_by_its_button_and_goes_on(start, open_page, birds):
    server = start()
    page = open_page(server.address)
    drop(page, "birds.csv", birds)
    page.wait_for_selector("#field-target")
    describe(page)
    ask(page, "xgboost")
    page.wait_for_selector(".windows li:has-text('Window 1')")  # before it, no going on

    page.click("[data-key^=Stop]")
    page.wait_for_selector("[data-key^=Resume]")
    stopped = state_of(page)
    page.click("[data-key^=Resume]")
    page.wait_for_selector("text=Going on after")
    page.wait_for_selector(".verdict")

    assert stopped == "stopped"
    assert state_of(page) == "done"
    assert "Augmented: 40 rows added to your 60." in page.inner_text(".verdict")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1400])
def test_the_page_fits_and_its_words_stand_out(
    served, open_page, birds, scheme, width, contrast
):
    page = open_page(
        served.address,
        viewport={"width": width, "height": 900},
        color_scheme=scheme,
    )
    drop(page, "birds.csv", birds)
    page.wait_for_selector(".grid")
    wide = page.evaluate("document.documentElement.scrollWidth")

    ratios = {
        selector: min(page.evaluate(contrast, selector), default=None)
        for selector in PAIRS
    }
    seen = {selector: ratio for selector, ratio in ratios.items() if ratio}

    assert wide <= width
    assert len(seen) >= 7
    assert {s: round(ratio, 2) for s, ratio in seen.items() if ratio < 4.5} == {}


def test_the_keyboard_reaches_everything_and_all_of_it_has_a_name(
    served, open_page, birds
):
    page = open_page(served.address, viewport={"width": 1000, "height": 900})
    page.keyboard.press("Tab")
    first = page.evaluate("document.activeElement.className")
    drop(page, "birds.csv", birds)
    page.wait_for_selector("#field-target:focus")

    focused = page.evaluate("document.activeElement.id")
    names = page.evaluate(
        """() => [...document.querySelectorAll("input, select, button, iframe")]
          .filter(e => e.checkVisibility())
          .map(e => e.getAttribute("aria-label") || e.textContent.trim()
            && e.tagName === "BUTTON" && e.textContent
            || e.labels && e.labels[0] && e.labels[0].textContent)"""
    )
    reached = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.dataset.key || ''"))

    assert first == "skip"
    assert focused == "field-target"
    assert len(names) > 15
    assert all(names)
    assert {"target", "groups", "kind-species", "cells-species"} <= reached
    assert page.get_attribute("#live", "aria-live") == "polite"
    assert "Choose the column to be predicted" in page.inner_text("#live")
