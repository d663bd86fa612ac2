import json

import pytest
from records import append_records, hand_out, keep_all, read_records, stamp


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


@pytest.mark.parametrize("jobs", [1, 2])
def test_work_is_done_for_every_task(jobs):
    found = hand_out(divmod, [(7, 2), (9, 4)], jobs=jobs)

    assert sorted(found) == [(2, 1), (3, 1)]


def test_a_single_job_is_done_as_it_is_asked_for():
    begun = []

    first = next(hand_out(lambda task: begun.append(task) or task, [(1,), (2,)]))

    assert (first, begun) == (1, [1])


def test_what_is_known_is_marked_and_written_before_the_next_is_measured(tmp_path):
    file = tmp_path / "records.jsonl"

    found = keep_all(([{"a": number}] for number in range(3)), file, {"commit": "abc"})
    first = next(found)

    assert first == read_records(file) == [{"a": 0, "commit": "abc"}]
    assert len([*found]) == 2
    assert [record["a"] for record in read_records(file)] == [0, 1, 2]


def test_without_a_file_records_are_passed_on_only():
    assert list(keep_all([[{"a": 1}]], None, {"b": "c"})) == [[{"a": 1, "b": "c"}]]
