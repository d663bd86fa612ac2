"""What the page asks of the server, and what it is answered."""

import asyncio
import json
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tabtap.cli.app import main
from tabtap.serve.app import _Desk
from tabtap.serve.jobs import Limits


def test_a_file_is_taken_and_its_columns_are_told(drop):
    answer = drop(b"a,b\n1,2\n", name="visits of 2025.csv")

    found = answer.json()
    assert answer.status_code == 201
    assert (found["name"], found["size"], found["look"]) == (
        "visits of 2025.csv",
        8,
        None,
    )
    assert [column["name"] for column in found["columns"]] == ["a", "b"]


def test_the_table_is_looked_over_by_the_command(client, file, jobs):
    options = {"target": "b", "kinds": {"a": "integer"}, "learner": "forest"}

    found = client.post(f"/files/{file}/look", json=options).json()

    assert found["said"] == ["--target=b", "--kind=a=integer", "--json"]
    assert jobs.upload(file).look["options"] == options


def test_what_was_asked_for_last_is_what_a_second_tab_shows(client, file, jobs, ask):
    client.post(f"/files/{file}/look", json={"target": "a"})

    ask("linear", budget="40")

    assert jobs.upload(file).look["options"] == {
        "target": "b", "learner": "linear", "budget": "40",
    }  # fmt: skip


def test_what_a_run_wrote_is_downloaded_under_the_users_name(
    client, drop, jobs, reaches
):
    file = drop(name="my visits é.csv").json()["id"]
    run = client.post(f"/files/{file}/runs", json={"target": "b"}).json()["id"]
    reaches(jobs, run, "done")

    got = {
        what: client.get(f"/runs/{run}/files/{what}")
        for what in ("table", "report", "result", "datasheet")
    }

    named = {
        what: answer.headers["content-disposition"] for what, answer in got.items()
    }
    assert got["table"].text == "--out of train.csv"
    assert "attachment" in named["table"]
    assert "my%20visits%20%C3%A9.augmented.csv" in named["table"]
    assert named["result"].endswith("my%20visits%20%C3%A9.result.tap")
    assert {answer.headers["content-type"] for answer in got.values()} == {
        "application/octet-stream"
    }


def test_a_name_cannot_add_a_header(client, drop, jobs, reaches):
    file = drop(name='x"\r\nSet-Cookie: a=b;.csv').json()["id"]
    run = client.post(f"/files/{file}/runs", json={"target": "b"}).json()["id"]
    reaches(jobs, run, "done")

    answer = client.get(f"/runs/{run}/files/table")

    assert answer.status_code == 200
    assert "set-cookie" not in answer.headers


def test_the_report_is_shown_where_nothing_of_it_can_run(client, ask, jobs, reaches):
    run = ask()
    reaches(jobs, run, "done")

    answer = client.get(f"/runs/{run}/report")

    rules = [
        rule.strip() for rule in answer.headers["content-security-policy"].split(";")
    ]
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert "sandbox" in rules
    assert "default-src 'none'" in rules
    assert "frame-ancestors 'self'" in rules
    assert not any(rule.startswith("script-src") for rule in rules)


def test_before_a_run_is_over_it_has_nothing_to_give(client, ask, jobs, reaches):
    run = ask("forest")
    reaches(jobs, run, "running")

    answers = [client.get(f"/runs/{run}/{what}") for what in ("report", "files/table")]
    client.post(f"/runs/{run}/stop")

    assert [answer.status_code for answer in answers] == [404, 404]
    assert answers[0].json()["error"] == "This run has written nothing of that kind."


def test_a_run_is_stopped_resumed_and_removed(client, ask, jobs, reaches, on_disk):
    run = ask("forest")
    reaches(jobs, run, "running")

    busy = client.delete(f"/runs/{run}")
    stopped = client.post(f"/runs/{run}/stop")
    reaches(jobs, run, "stopped")
    resumed = client.post(f"/runs/{run}/resume")
    reaches(jobs, run, "done")
    removed = client.delete(f"/runs/{run}")

    codes = [answer.status_code for answer in (busy, stopped, resumed, removed)]
    assert codes == [422, 204, 204, 204]
    assert busy.json()["error"] == "A run of it waits or is at work. Stop it first."
    assert not any(run in path for path in on_disk())
    assert client.delete(f"/runs/{run}").status_code == 404


def test_a_file_is_removed_with_all_that_was_made_of_it(
    client, ask, file, jobs, reaches, on_disk
):
    run = ask()
    reaches(jobs, run, "done")

    answer = client.delete(f"/files/{file}")

    assert answer.status_code == 204
    assert on_disk() == []
    assert jobs.runs == {}
    assert client.get(f"/runs/{run}/files/table").status_code == 404


def test_a_file_with_a_run_at_work_is_not_removed(client, ask, file, jobs, reaches):
    run = ask("forest")
    reaches(jobs, run, "running")

    answer = client.delete(f"/files/{file}")
    client.post(f"/runs/{run}/stop")

    assert answer.status_code == 422
    assert file in jobs.uploads


# ---- What is too much, and what is wrong.


def in_parts(size):
    for _ in range(size // 1000):
        yield b"a" * 1000


@pytest.mark.parametrize(
    "content",
    [b"a" * 5000, in_parts(5000)],
    ids=["told beforehand", "found on the way"],
)
def test_a_file_that_is_too_large_is_refused_and_leaves_nothing(
    client, jobs, on_disk, content
):
    jobs.limits = Limits(n_bytes=2_500)

    answer = client.post("/files?name=a.csv", content=content)

    assert answer.status_code == 413
    assert "The file is larger than" in answer.json()["error"]
    assert on_disk() == []


def test_one_file_too_many_is_refused(drop, jobs, on_disk):
    jobs.limits = Limits(n_files=1)
    drop()
    before = on_disk()

    answer = drop()

    assert answer.status_code == 413
    assert "Remove one first" in answer.json()["error"]
    assert on_disk() == before


@pytest.mark.parametrize(
    ("content", "name", "said"),
    [
        (b"", "a.csv", "The file is empty."),
        (b"nothing", "a.csv", "'a.csv' has one column only, which is no table."),
        (b"a,b", "a.pkl", "A pickle can run code"),
        (b"a,b", "", "has no extension"),
    ],
)
def test_a_bad_file_is_a_sentence_and_leaves_nothing(
    drop, on_disk, content, name, said
):
    answer = drop(content, name=name)

    assert answer.status_code == 422
    assert said in answer.json()["error"]
    assert on_disk() == []


@pytest.mark.parametrize(
    ("body", "code", "said"),
    [
        (b"{", 422, "not what the page sends"),
        (b"[]", 422, "not what the page sends"),
        (b"\xff", 422, "not what the page sends"),
        (b"[" * 100_000, 422, "not what the page sends"),
        (b" " * 1_000_001, 413, "too long"),
        (b"{}", 422, "Choose the column to be predicted first."),
        (b'{"target": "b", "learner": "os:system"}', 422, "'os:system' is not known"),
    ],
    ids=["half", "a list", "no text", "deep", "long", "no target", "a module"],
)
def test_what_the_page_would_not_send_is_refused(client, file, jobs, body, code, said):
    answer = client.post(f"/files/{file}/runs", content=body)

    assert answer.status_code == code
    assert said in answer.json()["error"]
    assert jobs.runs == {}


@pytest.mark.parametrize("path", ["/files/0/look", "/files/0/runs", "/runs/0/stop"])
def test_what_is_gone_is_told_so(client, path):
    answer = client.post(path, json={"target": "b"})

    assert answer.status_code == 404
    assert "any more" in answer.json()["error"]


def test_a_mistake_of_ours_is_a_sentence_without_its_inside(client, file, monkeypatch):
    def fail(*given):
        del given
        raise RuntimeError("secret place")

    monkeypatch.setattr("tabtap.serve.jobs.Jobs.look_over", fail)
    answer = client.post(f"/files/{file}/look", json={"target": "b"})

    assert answer.status_code == 500
    assert answer.json()["error"].startswith("This is a mistake in tabtap")
    assert "secret" not in answer.text


def test_a_full_disk_is_a_sentence(client, monkeypatch):
    def full(*given):
        del given
        raise OSError(28, "No space left on device", "secret place")

    monkeypatch.setattr("tabtap.serve.jobs.Jobs.new_place", full)
    answer = client.post("/files?name=a.csv", content=b"a,b")

    assert answer.json()["error"] == (
        "The system refused to keep it: No space left on device."
    )


# ---- What is told without being asked.


def heard(desk, n_lines, meanwhile=None):
    """Return the first lines of a stream, some of them after something has happened."""

    async def is_gone():
        return False

    async def listen():
        lines = []
        async for line in desk._told(is_gone):
            lines.append(line)
            if len(lines) == n_lines[0] and meanwhile:
                await asyncio.to_thread(meanwhile)
            if len(lines) == n_lines[-1]:
                break
        return lines

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, listen()).result(timeout=60)


def told(line):
    event, _, content = line.strip().partition("\n")
    return event.removeprefix("event: "), json.loads(content.removeprefix("data: "))


def test_a_page_is_told_all_there_is_and_then_what_changes(client, ask, jobs, reaches):
    run = ask()
    reaches(jobs, run, "done")
    (file,) = jobs.uploads

    lines = heard(_Desk(jobs), [4, 6], lambda: client.delete(f"/files/{file}"))

    events = [told(line) for line in lines[1:]]
    assert [name for name, _ in events] == ["file", "run", "ready", "gone", "gone"]
    assert (events[0][1]["id"], events[1][1]["id"]) == (file, run)
    assert events[1][1]["answer"]["advice"] == ["Do."]
    assert {event["id"] for _, event in events[3:]} == {file, run}


def test_two_tabs_are_told_the_same(ask, jobs, reaches):
    reaches(jobs, ask(), "done")
    desk = _Desk(jobs)

    assert heard(desk, [4]) == heard(desk, [4])


def test_a_stream_ends_with_the_server(client, jobs):
    threading.Timer(0.5, jobs.is_closing.set).start()

    answer = client.get("/events")

    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.text.startswith("retry: 1000\n\nevent: ready\n")


def test_a_page_that_is_open_too_often_is_told_so(client, monkeypatch):
    monkeypatch.setattr("tabtap.serve.app._MOST_STREAMS", 0)

    answer = client.get("/events")

    assert answer.status_code == 413
    assert "Close some of its tabs" in answer.json()["error"]


# ---- The command.


@pytest.mark.parametrize("package", ["starlette", "uvicorn"])
def test_without_the_extra_the_command_says_how_to_get_it(
    monkeypatch, capfd, package, tmp_path
):
    monkeypatch.setenv("TABTAP_CACHE", str(tmp_path))
    monkeypatch.setitem(sys.modules, package, None)

    code = main(["serve", "--no-browser"])

    said = " ".join(capfd.readouterr().err.split())
    assert code == 2
    assert said.startswith(f"Error: The page needs {package}, which is not installed.")
    assert 'pip install "tabtap[serve]"' in said
    assert list(tmp_path.iterdir()) == []
