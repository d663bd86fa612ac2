"""An option is written once, and typer and the command both get it from there."""

import sys
from dataclasses import dataclass
from typing import Annotated

import pytest
import typer

from tabtap.cli.options import learner_of, option, take_options
from tabtap.cli.terminal import add_command
from tabtap.errors import UserInputError


@dataclass(frozen=True, kw_only=True)
class Base:
    word: Annotated[str, typer.Argument()]
    loud: Annotated[bool, option("--loud -l", "In capitals.")] = False
    times: Annotated[int, option("--times N", "How often.", min=1)] = 1


@dataclass(frozen=True, kw_only=True)
class Said(Base):
    end: Annotated[str, option("--end TEXT", "What comes last.")]
    inner: str = "nobody asks for this"


def run(command, *arguments):
    app = typer.Typer()
    add_command(app, "say", command)
    return app(list(arguments), standalone_mode=False)


def test_an_option_is_read_as_its_help_shows_it():
    described = option("--out -o FILE", "Where.", rich_help_panel="Files")

    names = (described.default, *described.param_decls)  # as Annotated keeps them
    assert names == ("--out", "-o")
    assert (described.metavar, described.help) == ("FILE", "Where.")
    assert described.rich_help_panel == "Files"


def test_an_option_without_a_value_is_a_flag():
    assert option("--force -f", "Overwrite.").metavar is None


def test_a_command_takes_its_options_as_one_value():
    taken = []

    @take_options(Said)
    def say(said: Said) -> int:
        taken.append(said)
        return 7

    code = run(say, "--times", "3", "hello", "--end", "!", "-l")

    assert code == 7
    assert taken == [Said(word="hello", loud=True, times=3, end="!")]


@pytest.mark.parametrize("word", ["--times", "--inner"])
def test_a_command_may_leave_options_out(word):
    @take_options(Said, without=("times",))
    def say(said: Said) -> int:
        return said.times

    assert run(say, "hello", "--end", "!") == 1
    with pytest.raises(Exception, match=f"No such option: {word}"):
        run(say, "hello", "--end", "!", word, "2")


def test_every_command_has_debug_and_need_not_take_it():
    def plain(word: Annotated[str, typer.Argument()]) -> int:
        return len(word)

    def curious(*, debug: Annotated[bool, option("--debug", "More.")] = False) -> int:
        return int(debug)

    assert run(plain, "four", "--debug") == 4
    assert run(curious, "--debug") == 1


def test_a_folder_of_files_does_not_stand_in_for_packages(tmp_path, monkeypatch):
    (tmp_path / "wave.py").write_text("raise AssertionError('the wrong one')\n")
    (tmp_path / "own_learner.py").write_text(
        "from sklearn.linear_model import LogisticRegression as learner\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "wave", raising=False)

    with pytest.raises(UserInputError, match="wave has no 'learner'"):
        learner_of("--learner", "wave:learner")

    made = learner_of("--learner", "own_learner:learner")
    assert hasattr(made, "predict")
    assert sys.path[-1] == str(tmp_path)


def test_a_module_that_ends_the_process_is_said(tmp_path, monkeypatch):
    (tmp_path / "script_that_exits.py").write_text("import sys\nsys.exit(0)\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))

    with pytest.raises(UserInputError, match="gives SystemExit"):
        learner_of("--learner", "script_that_exits:learner")
