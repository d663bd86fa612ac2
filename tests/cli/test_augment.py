import gzip
import json
import shutil
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

import tabtap

WRITERS = {
    "birds.tsv": lambda b, p: b.to_csv(p, sep="\t", index=False),
    "birds.csv.gz": lambda b, p: b.to_csv(p, index=False, compression="gzip"),
    "birds.parquet": lambda b, p: b.to_parquet(p),
    "birds.feather": lambda b, p: b.to_feather(p),
    "birds.xlsx": lambda b, p: b.to_excel(p, index=False),
    "birds.jsonl": lambda b, p: b.to_json(p, orient="records", lines=True),
}
READERS = {
    "birds.tsv": lambda p: pd.read_csv(p, sep="\t"),
    "birds.csv.gz": pd.read_csv,
    "birds.parquet": pd.read_parquet,
    "birds.feather": pd.read_feather,
    "birds.xlsx": pd.read_excel,
    "birds.jsonl": lambda p: pd.read_json(p, lines=True),
}


def test_the_real_rows_come_first_byte_for_byte(done):
    folder, answer = done
    before = (folder / "birds.csv").read_bytes()

    after = (folder / "birds.augmented.csv").read_bytes()

    assert answer.code == 0
    assert after.startswith(before)
    assert len(after.splitlines()) == 1 + 60 + 40


def test_the_answer_as_json_says_what_was_done(done):
    folder, answer = done
    result = tabtap.load(folder / "birds.tap")

    told = json.loads(answer.out)

    assert told["verdict"] == "augment"
    assert told["why"] == result.why
    assert (told["n_real"], told["n_synthetic"], told["seed"]) == (60, 40, 0)
    bound = result.certificates[-1].over_real
    assert (told["gain"], told["bound"]) == (bound.gain, bound.lower)
    assert told["confidence"] == bound.confidence
    assert told["seconds"] > 0
    assert told["files"] == {
        "table": "birds.augmented.csv",
        "result": "birds.tap",
        "report": "birds.html",
        "datasheet": "birds.md",
    }
    assert told["privacy"] == result.privacy.to_json()
    assert all((folder / name).is_file() for name in told["files"].values())


def test_it_says_what_it_understood_what_it_does_and_what_came_of_it(done):
    _, answer = done

    assert "60 rows, 7 columns beside the target." in answer.said
    assert "Target sex: 2 classes (male 35, female 25)." in answer.said
    assert "numbers 2 bill_length_mm, bill_depth_mm" in answer.said
    assert "Window 1: 16 rows let in, gain +0." in answer.said
    assert "Augmented: 40 rows added to your 60." in answer.said
    assert "Table birds.augmented.csv" in answer.said


def test_without_a_terminal_there_are_plain_lines_of_80_characters(done):
    _, answer = done

    assert max(map(len, answer.lines)) <= 80
    assert all(line.isprintable() for line in answer.lines)


def test_a_run_that_ends_well_leaves_only_what_was_asked_for(done):
    folder, _ = done

    left = {path.name for path in folder.iterdir() if path.name != "__pycache__"}

    asked = {"birds.csv", "judges.py", "birds.augmented.csv", "birds.tap", "birds.html"}
    assert left == asked | {"birds.md"}


@pytest.fixture(scope="module")
def several(tmp_path_factory, birds, run_commands, helped):
    """A folder in which several tables were augmented, and the answer to each."""
    folder = tmp_path_factory.mktemp("several")
    birds.to_csv(folder / "birds.csv", index=False)
    shutil.copy(Path(__file__).parent / "judges.py", folder)
    noted = birds.assign(note=[f"seen by {i} people" for i in range(60)], spare=None)
    noted.to_csv(folder / "noted.csv", index=False)
    nests = birds.assign(nest=[f"n{i // 3}" for i in range(60)])
    nests.to_csv(folder / "nests.csv", index=False)
    copies = pd.concat([birds, birds.head(12)])
    copies.to_csv(folder / "copies.csv", index=False)
    mice = birds.assign(**{"the mouse": [i // 3 for i in range(60)]})
    mice.to_csv(folder / "mice.csv", index=False)
    schema = 'groups = "nest"\n[columns]\nyear = "integer"\n'
    (folder / "schema.toml").write_text(schema, encoding="utf-8")
    harmful = ("-t", "sex", "--preset", "fast", "--referee", "judges:make_harmful")
    commands = {
        "no gain": ("birds.csv", *harmful, "-o", "out.csv", "--json"),
        "too small": (
            *("birds.csv", *helped, "--min-gain", "0.9"),
            *("-o", "small.csv", "--json"),
        ),
        "mice": ("mice.csv", *helped, "--json"),
        "noted": ("noted.csv", *helped, "--ignore", "note", "--mark", "made"),
        "nests": ("nests.csv", *helped, "--schema", "schema.toml", "--save", "n.tap"),
        "none": ("birds.csv.gz", *helped, "-n", "0", "-o", "same.csv.gz"),
        "copies": ("copies.csv", *helped, "-n", "0", "--json"),
    }
    for name, write in WRITERS.items():
        write(birds, folder / name)
        commands[name] = (name, *helped, "--quiet")
    told = [("augment", *words, *_eight(words)) for words in commands.values()]
    answers = run_commands(told, cwd=folder)
    return folder, dict(zip(commands, answers, strict=True))


def _eight(words):
    return () if "-n" in words else ("-n", "8")


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_comes_back_with_its_rows_and_more(name, several):
    folder, answers = several
    stem, _, ending = name.partition(".")

    bigger = READERS[name](folder / f"{stem}.augmented.{ending}")

    assert answers[name] == replace(answers[name], code=0, out="", said="")
    assert len(bigger) == 68
    assert_frame_equal(bigger.head(60), READERS[name](folder / name))
    assert set(bigger["sex"]) == {"female", "male"}


def test_no_gain_is_exit_code_3_and_the_same_bytes(several):
    folder, answers = several

    assert answers["no gain"].code == 3
    assert "No gain: nothing was added" in answers["no gain"].said
    assert (folder / "out.csv").read_bytes() == (folder / "birds.csv").read_bytes()


def test_a_gain_too_small_is_exit_code_3_and_the_same_bytes(several):
    folder, answers = several

    assert answers["too small"].code == 3
    assert "A gain, too small to matter: nothing was added" in answers["too small"].said
    assert (folder / "small.csv").read_bytes() == (folder / "birds.csv").read_bytes()


def test_the_check_that_decided_is_in_the_json_of_every_verdict(several, done):
    _, answers = several
    added = json.loads(done[1].out)
    small, none = (json.loads(answers[name].out) for name in ("too small", "no gain"))

    assert small["verdict"] == "gain_too_small"
    assert small["gain"] >= small["bound"] > 0
    assert none["verdict"] == "no_gain"
    assert none["gain"] < 0
    assert 0 < none["confidence"] < 1
    for told in (added, small, none):
        assert told["copies_margin"] >= 0
        assert set(told["over_copies"]) == {"gain", "margin"}


def test_a_column_that_looks_like_groups_is_told_with_its_option(several):
    _, answers = several
    told = json.loads(answers["mice"].out)

    assert "No new 'the mouse' was tested." in told["headline"]
    assert "with --groups 'the mouse' it would be." in told["why"]
    assert told["notes"][-1].endswith("of every check: --groups 'the mouse'.")
    assert "of every check: --groups 'the mouse'." in answers["mice"].said
    assert "groups=" not in answers["mice"].said + answers["mice"].out


def test_compressed_text_that_is_not_augmented_is_the_same_text(several):
    folder, answers = several

    written, given = (
        gzip.decompress((folder / name).read_bytes())
        for name in ("same.csv.gz", "birds.csv.gz")
    )

    assert answers["none"].code == 3
    assert written == given


def test_ignored_and_empty_columns_stay_in_the_table(several):
    folder, answers = several
    before = pd.read_csv(folder / "noted.csv")

    bigger = pd.read_csv(folder / "noted.augmented.csv")

    assert (
        "Without a single value, and so not learned: 'spare'" in answers["noted"].said
    )
    assert list(bigger.columns) == [*before.columns, "made"]
    assert bigger["note"].head(60).tolist() == before["note"].tolist()
    assert bigger["note"].tail(8).isna().all()
    assert bigger["spare"].isna().all()
    assert bigger["made"].tolist() == [0] * 60 + [1] * 8


def test_copies_among_the_rows_are_noted(several):
    _, answers = several
    note = (
        "12 rows are exact copies of others; copies stay on one side of every split "
        "and count as one."
    )

    assert f"Note: {note}" in answers["copies"].said
    assert json.loads(answers["copies"].out)["notes"] == [note]


def test_groups_and_a_schema_file_are_heeded(several):
    folder, answers = several

    result = tabtap.load(folder / "n.tap")
    nests = pd.read_csv(folder / "nests.augmented.csv")["nest"].tolist()

    assert "groups 1 nest" in answers["nests"].said
    kinds = {column.name: column.kind.value for column in result.real.schema.features}
    assert kinds["year"] == "integer"
    assert nests == result.groups.tolist()


def test_what_gives_the_target_away_is_told_with_the_option_that_leaves_it_out(
    in_process, desk, birds
):
    odd = birds.assign(code=birds["sex"].map({"male": 1, "female": 2}), same=birds.sex)
    odd.to_csv(desk / "odd.csv", index=False)

    answer = in_process("augment", "odd.csv", "-t", "sex", "-n", "0", cwd=desk)

    assert answer.said.count("leave it out: --ignore code.") == 1
    assert answer.said.count("Keep it from being learned: --ignore same.") == 1
    assert "Drop it" not in answer.said
    assert "kinds=" not in answer.said


@pytest.mark.parametrize("named", [(), ("--learner", "forest")], ids=["no", "one"])
def test_whoever_names_no_learner_hears_which_there_are(in_process, desk, named):
    told = ("augment", "birds.csv", "-t", "sex", "-n", "0", "--json", *named)

    answer = in_process(*told, cwd=desk)

    assert json.loads(answer.out)["advice"] == []
    assert json.loads(answer.out)["learner_named"] == bool(named)
    asks = "No learner was named; --learner NAME asks about the one you will train"
    assert (asks in answer.said) == (not named)


def test_a_report_that_fails_does_not_take_the_table_with_it(
    in_process, desk, monkeypatch
):
    def fail(*given, **named):  # noqa: ARG001
        raise RuntimeError("no ink")

    monkeypatch.setattr("tabtap.report.write_report", fail)
    told = ("augment", "birds.csv", "-t", "sex", "-n", "0", "--report", "r.html")

    answer = in_process(*told, cwd=desk)

    assert answer.code == 1
    assert "Table birds.augmented.csv" in answer.said
    assert "RuntimeError: no ink. Run the same with --debug" in answer.said
    assert "Traceback" not in answer.said
    assert (desk / "birds.augmented.csv").is_file()


def test_debug_shows_where_it_happened(in_process, desk):
    told = ("augment", "birds.csv", "-t", "sexx", "--debug")

    answer = in_process(*told, cwd=desk)

    assert answer.code == 2
    assert "Traceback (most recent call last)" in answer.said
    assert "Did you mean 'sex'?" in answer.said
