"""The records behind the pages: packed, put back, and what the pages are made from."""

import json
import lzma

import answers
import by_mouse
import paper_whole
import published
import pytest
import teacher

from tabtap.compare.store import Store
from tabtap.study.studies import STUDY_NAMES, study_named, study_records, write_page

MOST_BYTES = 5_000_000


@pytest.fixture
def folder(tmp_path):
    found = tmp_path / "results"
    (found / "studies" / "records").mkdir(parents=True)
    (found / "studies" / "rows").mkdir()
    (found / "speed.jsonl").write_text('{"a": 1.5, "b": "ü"}\n{"a": null}\n', "utf-8")
    (found / "studies" / "records" / "k.json").write_text('{"cell": [1]}\n', "utf-8")
    (found / "studies" / "rows" / "k.npz").write_bytes(b"rows")
    return found


def test_records_come_back_as_they_were_and_rows_stay_behind(folder, tmp_path):
    file, back = tmp_path / "all.xz", tmp_path / "back"

    assert published.pack(folder, file) == 3
    assert published.unpack(back, file) == []

    names = ["speed.jsonl", "studies/records/k.json"]
    found = sorted(p.relative_to(back).as_posix() for p in back.rglob("*.json*"))
    assert found == names
    for name in names:
        lines = [
            (side / name).read_text("utf-8").splitlines() for side in (folder, back)
        ]
        assert [json.loads(a) for a in lines[0]] == [json.loads(b) for b in lines[1]]


def test_what_was_measured_since_is_not_overwritten(folder, tmp_path):
    file = tmp_path / "all.xz"
    published.pack(folder, file)
    (folder / "speed.jsonl").write_text('{"a": 2}\n', "utf-8")

    assert published.unpack(folder, file) == ["speed.jsonl"]
    assert (folder / "speed.jsonl").read_text("utf-8") == '{"a": 2}\n'


@pytest.mark.parametrize("name", ["../out.json", "/out.json", "run.py"])
def test_a_name_that_leads_elsewhere_is_refused(name, tmp_path):
    file = tmp_path / "all.xz"
    line = json.dumps({"in": name, "record": {}})
    file.write_bytes(lzma.compress(f"{line}\n".encode()))

    with pytest.raises(ValueError, match="no file of records"):
        published.unpack(tmp_path / "back", file)


# ---- What is published.


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    back = tmp_path_factory.mktemp("records")
    published.unpack(back)
    return back


def test_the_published_records_are_small():
    assert published.FILE.stat().st_size < MOST_BYTES


def test_the_page_on_answers_is_made_from_the_published_records(unpacked, tmp_path):
    page = tmp_path / "answers.md"
    notes = answers.PAGE.with_name("answers_notes.md").read_text("utf-8")
    page.with_name("answers_notes.md").write_text(notes, "utf-8")

    before = unpacked / "answers_before"
    answers.write(unpacked / "answers", page, before if before.is_dir() else None)

    assert page.read_text("utf-8") == answers.PAGE.read_text("utf-8")


def test_the_page_on_teachers_is_made_from_the_published_records(unpacked, tmp_path):
    page = tmp_path / "teacher.md"
    notes = teacher.PAGE.with_name("teacher_notes.md").read_text("utf-8")
    page.with_name("teacher_notes.md").write_text(notes, "utf-8")

    teacher.main(
        ["page", "--out", str(unpacked / "teacher.jsonl"), "--page", str(page)]
    )

    assert page.read_text("utf-8") == teacher.PAGE.read_text("utf-8")


def test_what_came_of_the_papers_method_is_what_the_records_say(unpacked):
    records = list(Store(str(unpacked / "paper-whole")).records())
    text = paper_whole.PAGE.read_text("utf-8")

    assert paper_whole.written(text, records) == text
    assert "| insurance" in text


def test_the_page_on_mice_is_made_from_the_published_records(unpacked, tmp_path):
    page = tmp_path / by_mouse.PAGE.name

    by_mouse.main(unpacked, page)

    assert page.read_text("utf-8") == by_mouse.PAGE.read_text("utf-8")


STUDIES = {
    name: page
    for name in STUDY_NAMES
    if (page := published.FILE.with_name(f"study-{name}.md")).is_file()
}
"""The studies that have a page, and where it is."""


@pytest.mark.parametrize("name", STUDIES)
def test_the_page_of_a_study_is_made_from_the_published_records(
    name, unpacked, tmp_path
):
    made, notes = tmp_path / STUDIES[name].name, f"study-{name}_notes.md"
    if (written := STUDIES[name].with_name(notes)).is_file():
        made.with_name(notes).write_text(written.read_text("utf-8"), "utf-8")
    study, store = study_named(name), Store(str(unpacked / "studies"))

    write_page(study, study_records(study, store), made)

    assert made.read_text("utf-8") == STUDIES[name].read_text("utf-8")
