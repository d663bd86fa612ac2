import subprocess
import sys
from io import StringIO
from pathlib import Path

import pandas as pd
import pytest

from tabtap.errors import UserInputError


def test_a_table_goes_through_a_pipe_and_words_beside_it(desk, quick_augment):
    table = (desk / "birds.csv").read_bytes()

    answer = quick_augment("-", "-n", "8", cwd=desk, input=table)

    assert answer.code == 0
    assert answer.out.encode().startswith(table)
    assert len(pd.read_csv(StringIO(answer.out))) == 68
    assert "Standard input: 60 rows" in answer.said
    assert "Table standard output" in answer.said
    assert not list((desk / "cache").rglob("*.tap"))


def test_json_and_the_table_do_not_share_one_output(desk, in_process):
    answer = in_process("augment", "-", "-t", "sex", "--json", cwd=desk)

    assert (answer.code, answer.out) == (2, "")
    assert "--json and the table cannot both go to standard output" in answer.said


def test_a_reader_that_goes_away_is_no_error(desk, quick_command):
    command, environment = quick_command
    process = subprocess.Popen(
        [*command, "inspect", "birds.csv", "-t", "sex"],
        cwd=desk, env=environment(desk), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    process.stdout.close()  # long before it has anything to write
    said = process.stderr.read()
    process.stderr.close()

    assert process.wait(120) == 141
    assert b"Error" not in said
    assert b"Traceback" not in said
    assert b"Exception" not in said


def test_a_reader_of_the_table_that_goes_away_is_no_error(
    in_process, desk, monkeypatch
):
    def fail(*given, **named):  # noqa: ARG001
        raise UserInputError("it could not be written") from BrokenPipeError()

    monkeypatch.setattr("tabtap.files.write_table", fail)

    answer = in_process(
        "augment", "birds.csv", "-t", "sex", "-n", "0", "-o", "-", "-q", cwd=desk
    )

    assert (answer.code, answer.said) == (141, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
@pytest.mark.parametrize(
    "arguments", [["augment", "-n", "0", "--out", "-"], ["inspect", "--json"]]
)
def test_an_output_without_room_is_said(desk, tabtap_run, arguments):
    with Path("/dev/full").open("wb") as full:
        answer = tabtap_run(
            *arguments, "birds.csv", "-t", "sex", cwd=desk,
            stdout=full, stderr=subprocess.PIPE,
        )  # fmt: skip

    assert answer.code == 2
    assert "No space left on device" in answer.said
    assert "Traceback" not in answer.said


@pytest.mark.skipif(sys.platform == "win32", reason="limits of files are Unix's")
def test_a_disk_without_room_leaves_nothing_half_written(desk, tabtap_run):
    import resource

    def small_files():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    before = (desk / "birds.csv").read_bytes()

    answer = tabtap_run(
        "augment", "birds.csv", "-t", "sex", "-n", "0", cwd=desk, preexec_fn=small_files
    )

    assert answer.code == 2
    assert "could not be written: File too large" in answer.said
    assert (desk / "birds.csv").read_bytes() == before
    left = {p.name for p in desk.iterdir() if p.name != "__pycache__"}
    assert left == {"birds.csv", "judges.py"}
