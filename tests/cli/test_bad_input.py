"""Whatever is wrong with the input: one paragraph, exit code 2, and nothing lost."""

import os
import struct
from pathlib import Path

import pytest

AUGMENT = ["--target", "sex", "--out", "out.csv"]


def spoil(desk, name):
    """Write a table that cannot be used, and return its content."""
    text = (desk / "birds.csv").read_text(encoding="utf-8")
    header, *rows = text.splitlines()
    contents = {
        "empty.csv": b"",
        "header.csv": header.encode() + b"\n",
        "binary.csv": b"\x89PNG\r\n\x1a\n" + struct.pack("60I", *range(60)),
        "broken.csv": "\n".join([header, *rows[:20], "a,b", *rows[20:]]).encode(),
        "mixed.csv": "\n".join(
            [header, *rows[:30], *(row.replace(",", ";") for row in rows[30:])]
        ).encode(),
        "text.parquet": text.encode(),
        "quote.csv": (text + 'Adelie,"Dream,1,2,3,4,male,2007\n').encode(),
        "twice.csv": text.replace("island", "species", 1).encode(),
        "few.csv": "\n".join([header, *rows[:5]]).encode(),
        "one_class.csv": text.replace("female", "male").encode(),
        "unknown.xyz": text.encode(),
    }
    (desk / name).write_bytes(contents[name])
    return contents[name]


SPOILT = {
    "empty.csv": "is empty",
    "header.csv": "no row",
    "binary.csv": "PNG",
    "broken.csv": "line 22",
    "mixed.csv": "line 32",
    "text.parquet": "text.parquet",
    "quote.csv": "quote",
    "twice.csv": "species",
    "few.csv": "has 5 rows, fewer than the floor of 12",
    "one_class.csv": "has one class only, 'male'",
    "unknown.xyz": "'.xyz'",
}


@pytest.fixture(scope="module")
def spoilt(tmp_path_factory, birds, run_commands):
    """A folder of tables that cannot be used, and the answer to each."""
    folder = tmp_path_factory.mktemp("spoilt")
    birds.to_csv(folder / "birds.csv", index=False)
    before = {name: spoil(folder, name) for name in SPOILT}
    commands = [("augment", name, *AUGMENT) for name in SPOILT]
    answers = dict(zip(SPOILT, run_commands(commands, cwd=folder), strict=True))
    return folder, before, answers


@pytest.mark.parametrize("name", SPOILT)
def test_a_table_that_cannot_be_used(spoilt, name):
    folder, before, answers = spoilt

    refused(answers[name], folder, SPOILT[name])
    assert (folder / name).read_bytes() == before[name]


def refused(answer, desk, said):
    assert (answer.code, answer.out) == (2, "")
    assert said in answer.said
    assert answer.said.startswith("Error: ")
    assert "Traceback" not in answer.said
    paragraphs = "\n".join(answer.lines).strip().split("\n\n")
    assert len(paragraphs) == 1
    assert not (desk / "out.csv").exists()
    assert not (desk / "out.csv.run").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["bird.csv", *AUGMENT], "birds.csv"),
        (["birds.csv", "--target", "Sexe"], "Did you mean 'sex'?"),
        (["birds.csv"], "Name it: --target COL. There are: species, island"),
        (["birds.csv", *AUGMENT, "--groups", "iland"], "Did you mean 'island'?"),
        (["birds.csv", *AUGMENT, "--ignore", "yaer"], "Did you mean 'year'?"),
        (["birds.csv", *AUGMENT, "--kind", "year"], "such as age=integer"),
        (["birds.csv", *AUGMENT, "--kind", "year=colour"], "'colour' is unknown"),
        (["birds.csv", *AUGMENT, "--budget", "many"], "--budget 'many'"),
        (["birds.csv", *AUGMENT, "--time-budget", "soon"], "Write 90s, 5m or 1h30m"),
        (["birds.csv", *AUGMENT, "--mixture", "male"], "--mixture 'male'"),
        (["birds.csv", *AUGMENT, "--rules", "none.toml"], "none.toml"),
        (["birds.csv", *AUGMENT, "--schema", "none.toml"], "none.toml"),
        (["birds.csv", *AUGMENT, "--referee", "nowhere:me"], "No module named"),
        (["birds.csv", *AUGMENT, "--referee", "judges:me"], "has no 'me'"),
        (["birds.csv", *AUGMENT, "--referee", "judges:NoLearner"], "no predict"),
        (["birds.csv", "-t", "sex", "--out", "birds.csv"], "is the file that is read"),
        (["birds.csv", "-t", "sex", "--out", "judges.py"], "exists already"),
        (["birds.csv", "-t", "sex", "--out", "no/out.csv"], "there is no folder 'no'"),
        (["birds.csv", *AUGMENT, "--report", "judges.py"], "--report 'judges.py'"),
        (["birds.csv", *AUGMENT, "--save", "out.csv"], "both name 'out.csv'"),
    ],
    ids=lambda part: " ".join(part[-2:]) if isinstance(part, list) else "",
)
def test_a_setting_that_cannot_be_used(in_process, desk, arguments, said):
    refused(in_process("augment", *arguments, cwd=desk), desk, said)


@pytest.mark.parametrize("setting", ["--referee", "--evaluator"])
def test_a_judge_that_is_not_known_is_told_before_anything_is_learned(
    in_process, desk, setting
):
    answer = in_process("augment", "birds.csv", *AUGMENT, setting, "lightgm", cwd=desk)

    assert answer.code == 2
    assert "Try 'lightgbm'." in answer.said


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="permissions are Unix's")
@pytest.mark.skipif(
    hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may write anywhere"
)
def test_a_folder_that_is_not_writable_is_told_first(in_process, desk):
    locked = desk / "locked"
    locked.mkdir(mode=0o500)

    answer = in_process(
        "augment", "birds.csv", "-t", "sex", "-o", "locked/out.csv", cwd=desk
    )

    refused(answer, desk, "locked")


def test_a_file_larger_than_memory_is_not_read(in_process, desk):
    with Path(desk / "huge.csv").open("wb") as file:
        file.write(b"a,sex\n1,2\n")
        file.truncate(2**42)  # holes take no room on the disk

    answer = in_process("augment", "huge.csv", *AUGMENT, cwd=desk)

    refused(answer, desk, "memory")


@pytest.mark.parametrize("train", [".", ""])
def test_a_folder_is_bad_input_and_not_our_mistake(in_process, tmp_path, train):
    answer = in_process("augment", train, "-t", "a", cwd=tmp_path)

    assert answer.code == 2
    assert "folder" in answer.said or "no file" in answer.said
