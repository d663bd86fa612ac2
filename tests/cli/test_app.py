import re
import subprocess
import sys
from pathlib import Path

import pytest

import tabtap

ROOT = Path(__file__).parents[2]
COMMANDS = ["augment", "inspect", "check", "report", "verify", "forget", "demo"]
COMMANDS += ["weights"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("app")


def test_help_names_every_command_and_shows_examples(tabtap_run, folder):
    answer = tabtap_run("--help", cwd=folder, columns=80)

    assert answer.code == 0
    for command in COMMANDS:
        assert re.search(rf"^. {command} ", answer.out, re.MULTILINE)
    assert "$ tabtap augment train.csv --target outcome" in answer.out
    assert "Exit codes: 0" in answer.out


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command_fits_80_columns_and_has_examples(
    tabtap_run, command, folder
):
    answer = tabtap_run(command, "--help", cwd=folder, columns=80)

    assert answer.code == 0
    assert max(map(len, answer.out.splitlines())) <= 80
    assert f"$ tabtap {command}" in answer.out
    assert "Exit codes: 0" in answer.out
    assert "<bool>" not in answer.out


@pytest.mark.parametrize("words", [[], ["weights"]], ids=["tabtap", "weights"])
def test_a_name_alone_shows_its_help(tabtap_run, folder, words):
    answer = tabtap_run(*words, cwd=folder)

    assert (answer.code, answer.said) == (0, "")
    assert "Examples:" in answer.out


def test_the_shell_can_complete_commands_and_options(tabtap_run, folder, monkeypatch):
    monkeypatch.setenv("_TABTAP_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "tabtap augment train.csv --preset ")
    monkeypatch.setenv("COMP_CWORD", "4")

    answer = tabtap_run(cwd=folder)

    assert answer.out.split() == ["default", "fast", "paper"]


def test_version_is_that_of_the_package(tabtap_run, folder):
    answer = tabtap_run("--version", cwd=folder)

    assert (answer.code, answer.out) == (0, f"tabtap {tabtap.__version__}\n")


def test_the_installed_command_is_this_one():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")

    assert 'tabtap = "tabtap.cli.app:main"' in text


def test_help_loads_nothing_heavy():
    code = (
        "import sys; from tabtap.cli.app import main; main(['augment', '--help']); "
        "heavy = {'torch', 'sklearn', 'pandas', 'numpy', 'matplotlib'}; "
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert done.stderr.strip() == "[]"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["augmnt"], "No such command 'augmnt'"),
        (["augment", "a.csv", "--budgt", "3"], "No such option: --budgt"),
        (["augment"], "Missing argument 'TRAIN'"),
        (["augment", "a.csv", "--seed", "x"], "--seed"),
        (["augment", "a.csv", "--preset", "slow"], "--preset"),
        (["weights", "frobnicate"], "frobnicate"),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, list) else "",
)
def test_a_mistake_in_the_command_is_one_sentence_and_exit_code_2(
    tabtap_run, arguments, said, folder
):
    answer = tabtap_run(*arguments, cwd=folder)

    assert answer.code == 2
    assert answer.out == ""
    assert answer.said.startswith("Error: ")
    assert said in answer.said
    assert "--help" in answer.said
