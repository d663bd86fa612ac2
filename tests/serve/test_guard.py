"""Who is let in: nobody without the address, and no other page."""

import re
from pathlib import Path

import pytest

import tabtap.serve
from tabtap.errors import UserInputError
from tabtap.serve.app import Keys, listen

HOME = "http://127.0.0.1:8765"
PAGE = Path(tabtap.serve.__file__).parent
ASKED = [
    ("GET", "/"),
    ("GET", "/page.js"),
    ("GET", "/page.css"),
    ("GET", "/events"),
    ("POST", "/files?name=a.csv"),
    ("DELETE", "/files/1"),
    ("POST", "/files/1/look"),
    ("POST", "/files/1/runs"),
    ("POST", "/runs/1/stop"),
    ("POST", "/runs/1/resume"),
    ("DELETE", "/runs/1"),
    ("GET", "/runs/1/report"),
    ("GET", "/runs/1/files/table"),
    ("GET", "/nowhere"),
]


@pytest.mark.parametrize(("method", "path"), ASKED)
def test_nothing_is_answered_without_the_address(stranger, method, path, on_disk):
    answer = stranger.request(method, path, headers={"origin": HOME}, content=b"a,b\n")

    assert answer.status_code == 403
    assert "Open the page by the address" in answer.json()["error"]
    assert on_disk() == []


def test_the_address_opens_the_page_and_the_browser_keeps_a_secret(stranger):
    answer = stranger.get("/?token=the-token")

    kept = answer.headers["set-cookie"]
    assert answer.status_code == 200
    assert "<title>tabtap</title>" in answer.text
    assert "the-token" not in kept
    assert kept.endswith("; HttpOnly; SameSite=Strict; Path=/")
    assert stranger.get("/").status_code == 200


@pytest.mark.parametrize("token", ["", "the-toke", "the-token2", "the-session"])
def test_another_token_opens_nothing(stranger, token):
    answer = stranger.get("/", params={"token": token})

    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


def test_a_token_opens_the_page_alone(stranger):
    assert stranger.get("/page.js?token=the-token").status_code == 403
    assert stranger.post("/?token=the-token").status_code == 403


def test_what_a_browser_is_started_with_opens_the_page_once(stranger, keys):
    once = keys.ticket()

    answers = [stranger.get(f"/?token={once}").status_code for _ in range(2)]
    stranger.cookies.clear()

    assert answers == [200, 200]  # the second by what the browser keeps
    assert stranger.get(f"/?token={once}").status_code == 403


def test_each_server_has_secrets_of_its_own():
    first, second = Keys(), Keys()

    assert len({first.token, first.session, second.token, second.session}) == 4
    assert min(len(first.token), len(first.session)) >= 43  # 256 bits


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8765", "127.0.0.1", "127.0.0.1:80", "[::1]:8765",
     "127.0.0.1:8765.evil.example", ""],
)  # fmt: skip
def test_another_name_for_this_machine_is_refused(client, host):
    plain = client.get("/", headers={"host": host})
    with_token = client.get("/?token=the-token", headers={"host": host})

    assert (plain.status_code, with_token.status_code) == (403, 403)
    assert "its own address" in plain.json()["error"]
    assert "set-cookie" not in with_token.headers


def test_localhost_is_a_name_of_its_own(client):
    answer = client.get("/", headers={"host": "localhost:8765", "origin": ""})

    assert answer.status_code == 403  # an origin that is none
    del client.headers["origin"]
    assert client.get("/", headers={"host": "localhost:8765"}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:9999"},
        {"origin": "https://127.0.0.1:8765"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
    ids=lambda headers: " ".join(headers.values()),
)
@pytest.mark.parametrize(("method", "path"), ASKED)
def test_what_another_page_asks_is_refused(client, method, path, headers, on_disk):
    answer = client.request(method, path, headers=headers, content=b"a,b\n")

    assert answer.status_code == 403
    assert "another page" in answer.json()["error"]
    assert on_disk() == []


@pytest.mark.parametrize(
    ("method", "path"), [each for each in ASKED if each[0] != "GET"]
)
def test_what_changes_something_says_where_it_comes_from(client, method, path):
    del client.headers["origin"]

    assert client.request(method, path).status_code == 403


@pytest.mark.parametrize("path", ["/", "/page.js", "/nowhere", "/runs/1/report"])
def test_every_answer_lets_the_browser_load_nothing_from_elsewhere(client, path):
    headers = client.get(path).headers

    rules = dict(
        rule.strip().split(" ", 1)
        for rule in headers["content-security-policy"].split(";")
    )
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == "'self'"
    assert {source for rule in rules.values() for source in rule.split()} <= {
        "'none'", "'self'", "data:",
    }  # fmt: skip
    assert rules["frame-ancestors"] == "'none'"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cache-control"] == "no-store"
    assert "access-control-allow-origin" not in headers


def test_a_refusal_is_guarded_as_well(stranger):
    headers = stranger.get("/", headers={"host": "evil.example"}).headers

    assert "default-src 'none'" in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"


def test_a_browser_that_is_refused_reads_a_plain_sentence(stranger):
    answer = stranger.get("/", headers={"accept": "text/html,*/*"})

    assert answer.headers["content-type"].startswith("text/plain")
    assert answer.text.startswith("tabtap: Open the page by the address")


@pytest.mark.parametrize("name", ["page.html", "page.css", "page.js"])
def test_the_page_names_no_place_outside_and_runs_no_markup(name):
    text = (PAGE / name).read_text(encoding="utf-8")

    assert re.findall(r"(?:https?:)?//[\w.]+\.\w+", text) == []
    assert re.findall(r"innerHTML|outerHTML|insertAdjacent|eval\(|@import", text) == []
    if name == "page.html":
        assert re.findall(r"<style| style=|\son\w+=|<script(?! src=)", text) == []


@pytest.mark.parametrize(
    "path",
    [
        "/../../../etc/passwd",
        "/..%2f..%2f..%2fetc%2fpasswd",
        "/app.py",
        "/page.html",
        "/files",
        "/files/../../serve.lock",
        "/runs/..%2f..%2fserve.lock/report",
        "/runs/{run}/files/run.json",
        "/runs/{run}/files/..%2frun.json",
        "/runs/{run}/files/..%2f..%2ffile.json",
        "/runs/{run}/files/answer.json",
        "/runs/%00/report",
    ],
)
def test_no_path_of_the_machine_can_be_asked_for(client, ask, jobs, reaches, path):
    run = ask()
    reaches(jobs, run, "done")

    answer = client.get(path.format(run=run))

    assert answer.status_code in (404, 405)
    assert answer.json()["error"].endswith(".")


def test_it_listens_on_this_machine_alone():
    with listen(0) as place:
        assert place.getsockname()[0] == "127.0.0.1"


def test_a_port_that_is_taken_is_told_in_a_sentence():
    with listen(0) as place:
        place.listen()
        port = place.getsockname()[1]

        with pytest.raises(UserInputError, match=f"--port {port} cannot be used"):
            listen(port)


def test_without_a_port_any_that_is_free_will_do():
    with listen(None) as first:
        first.listen()
        with listen(None) as second:
            assert first.getsockname() != second.getsockname()
