import json

from records import append_records, markdown_table, read_records, stamp


def test_records_come_back_in_the_order_they_were_added(tmp_path):
    file = tmp_path / "new" / "records.jsonl"

    append_records(file, [{"a": 1}])
    append_records(file, [{"a": 2.5}, {"b": "é"}])

    assert read_records(file) == [{"a": 1}, {"a": 2.5}, {"b": "é"}]


def test_a_file_that_is_not_there_has_no_records(tmp_path):
    assert read_records(tmp_path / "none.jsonl") == []


def test_a_line_cut_off_by_a_stopped_run_is_dropped(tmp_path):
    file = tmp_path / "records.jsonl"
    file.write_text('{"a": 1}\n{"a": 2, "b', encoding="utf-8")

    before = read_records(file)
    append_records(file, [{"a": 3}])

    assert before == [{"a": 1}]
    assert read_records(file) == [{"a": 1}, {"a": 3}]


def test_the_stamp_can_be_written_and_says_when_where_and_with_what():
    found = json.loads(json.dumps(stamp()))

    assert set(found) == {"commit", "date", "machine"}
    assert "torch" in found["machine"]


def test_a_table_lines_up():
    text = markdown_table(["name", "x"], [["a", "1.0"], ["longer", "10.0"]])

    assert text.splitlines() == [
        "| name   |    x |",
        "| ------ | ---: |",
        "| a      |  1.0 |",
        "| longer | 10.0 |",
    ]
