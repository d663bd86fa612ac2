"""Whatever stands in a table: nothing steers a terminal, and nothing runs in a page."""

import csv
import json
import re
import sys
from html.parser import HTMLParser

import pytest
from hostile.payloads import NUL, ONE_LINE, TEXTS

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

N_ROWS = 24
RULES = '[[rule]]\nname = "{}"\ntext = "dose > 3"\n'


def rows_with(text, place):
    """Return rows with a text at one place, and the name of their target."""
    names = {"dose": "dose", "kind": "kind", "sick": "sick"}
    if place == "name":
        names["kind"] = text
    if place == "name of the target":
        names["sick"] = text
    rows = []
    for i in range(N_ROWS):
        kind, sick = f"k{i % 3}", ("no", "yes")[i % 2]
        if place == "cell" and i % 3 == 0:
            kind = text
        if place == "label" and i % 2 == 0:
            sick = text
        if place == "among numbers" and i == 5:
            rows.append({"dose": text, names["kind"]: kind, names["sick"]: sick})
            continue
        rows.append({"dose": i + 0.5, names["kind"]: kind, names["sick"]: sick})
    return rows, names["sick"]


def write_json(path, rows):
    path.write_text(json.dumps(rows), encoding="utf-8")


def write_csv(path, rows):
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0], quoting=csv.QUOTE_ALL)
        writer.writeheader()
        writer.writerows(rows)


PLACES = ("cell", "name", "label", "name of the target", "among numbers")
WRITERS = {"table.json": write_json, "table.csv": write_csv}


SCENES = [(place, "table.json") for place in PLACES] + [
    ("cell", "table.csv"), ("name", "table.csv")
]  # fmt: skip


@pytest.mark.parametrize(("place", "file"), SCENES)
@pytest.mark.parametrize("payload", TEXTS)
def test_inspect_shows_any_text_harmlessly(tabtap, tmp_path, payload, place, file):
    rows, target = rows_with(TEXTS[payload], place)
    WRITERS[file](tmp_path / file, rows)

    answer = tabtap("inspect", file, "--target", target.strip())

    answer.assert_harmless()
    assert len(answer.out) < 20_000
    if place in ("cell", "name", "label"):
        assert answer.code == 0, answer.said


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("payload", TEXTS)
def test_what_inspect_writes_for_programs_can_be_read_again(
    tabtap, tmp_path, payload, place
):
    rows, target = rows_with(TEXTS[payload], place)
    write_json(tmp_path / "table.json", rows)

    answer = tabtap(
        "inspect", "table.json", "-t", target, "--json", "--out", "schema.toml"
    )

    answer.assert_harmless()
    if answer.code == 0:
        assert json.loads(answer.out)["target"] == target
        schema = (tmp_path / "schema.toml").read_text(encoding="utf-8")
        assert all(sign.isprintable() or sign == "\n" for sign in schema)
        said = tomllib.loads(schema)
        assert said["target"] == target
        assert set(said["columns"]) == set(rows[0]) - {target}


@pytest.mark.parametrize("place", ["cell", "name", "label"])
@pytest.mark.parametrize("payload", TEXTS)
def test_check_says_which_rows_break_a_rule_of_any_name(
    tabtap, tmp_path, payload, place
):
    rows, _ = rows_with(TEXTS[payload], place)
    write_csv(tmp_path / "table.csv", rows)
    name = "".join(f"\\U{ord(sign):08x}" for sign in TEXTS[payload])
    (tmp_path / "rules.toml").write_text(RULES.format(name), encoding="utf-8")

    answer = tabtap("check", "table.csv", "--rules", "rules.toml")

    answer.assert_harmless()
    assert answer.code == 3, answer.said  # the first three doses are small
    assert "3 rows break it: 0 (line " in answer.out


COMMANDS = ["inspect", "check", "augment", "compare"]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("payload", TEXTS)
def test_an_option_that_names_no_column_is_said_harmlessly(
    tabtap, tmp_path, payload, command
):
    rows, _ = rows_with("harmless", "cell")
    write_csv(tmp_path / "table.csv", rows)
    (tmp_path / "rules.toml").write_text(RULES.format("r"), encoding="utf-8")
    more = ("--rules", "rules.toml") if command == "check" else ()

    answer = tabtap(command, "table.csv", "--target=" + TEXTS[payload], *more)

    answer.assert_harmless()
    assert answer.code == 2


@pytest.mark.parametrize("payload", ONE_LINE)
def test_a_file_may_have_any_name(tabtap, tmp_path, payload):
    rows, target = rows_with("harmless", "cell")
    name = f"{ONE_LINE[payload]}.csv"
    write_csv(tmp_path / name, rows)

    schema = f"{name}.toml"
    answer = tabtap("inspect", f"./{name}", "-t", target, f"--out={schema}", "--json")
    missing = tabtap("inspect", f"./{name}.csv", "-t", target)

    answer.assert_harmless()
    missing.assert_harmless()
    assert (answer.code, missing.code) == (0, 2)
    assert json.loads(answer.out)["schema_file"] == schema
    assert (tmp_path / schema).exists()


@pytest.mark.parametrize("place", PLACES)
def test_a_nul_in_json_is_text_like_any_other(tabtap, tmp_path, place):
    rows, target = rows_with(NUL, place)
    write_json(tmp_path / "table.json", rows)

    answer = tabtap("inspect", "table.json", f"--target={target}")

    answer.assert_harmless()


# ---- Commands that learn take their seconds: all texts at once.


class Page(HTMLParser):
    """The parts of a page that a browser would run."""

    def __init__(self):
        super().__init__()
        self.active, self.inside = [], []

    def handle_starttag(self, tag, attributes):
        self.inside.append(tag)
        self.active += [
            (tag, name, value)
            for name, value in attributes
            if name.startswith("on")
            or str(value).strip().lower().startswith("javascript:")
        ]

    def handle_data(self, text):
        if self.inside and self.inside[-1] in ("script", "style") and "alert(" in text:
            self.active.append((self.inside[-1], text))

    def handle_endtag(self, tag):
        while self.inside and self.inside.pop() != tag:
            pass


def active_parts(path):
    """Return what in a page would run that was not put there by us."""
    text = path.read_text(encoding="utf-8")
    page = Page()
    page.feed(text)
    tags = re.findall(r"<(?:img|script|svg)[^>]*alert\(", text)
    return page.active + tags


def write_all(path):
    """Write a table that has every text in a cell, and some as names and labels."""
    texts = [text for text in TEXTS.values() if len(text) < 1_000]
    odd_names = ["\x1b[31mred", "<img src=x onerror=alert(1)>"]
    rows = [
        {
            "dose": i % 17 + 0.5,
            odd_names[0]: texts[i % len(texts)],
            odd_names[1]: texts[i % 7],
            "sick": ("</script><script>alert(1)</script>", "\x1b]0;owned\x07")[i % 2],
        }
        for i in range(3 * len(texts))  # so often it is a category, not free text
    ]
    write_json(path, rows)


def test_augment_and_its_page_are_harmless(tabtap, tmp_path, quick_fast):  # noqa: ARG001
    write_all(tmp_path / "table.json")
    before = (tmp_path / "table.json").read_bytes()

    answer = tabtap(
        "augment", "table.json", "-t", "sick", "--preset", "fast", "-n", "8",
        "--learner", "linear", "--report", "page.html", "--save", "run.tap",
    )  # fmt: skip

    answer.assert_harmless()
    assert answer.code in (0, 3)
    assert active_parts(tmp_path / "page.html") == []
    assert (tmp_path / "table.json").read_bytes() == before
    again = tabtap("verify", "run.tap")
    again.assert_harmless()


def test_compare_and_its_page_are_harmless(tabtap, tmp_path):
    write_all(tmp_path / "table.json")

    answer = tabtap(
        "compare", "table.json", "-t", "sick", "--methods", "Copies", "--repeats", "2",
        "--learner", "linear", "--budget", "8", "--jobs", "1", "--report", "page.html",
    )  # fmt: skip

    answer.assert_harmless()
    assert answer.code in (0, 3)
    assert active_parts(tmp_path / "page.html") == []
