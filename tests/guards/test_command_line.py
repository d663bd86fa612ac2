"""What the command says of itself, and how it ends, are as they were recorded.

``python tests/guards/test_command_line.py`` records the help of every command anew.
Frames, line breaks and the marks of types are no part of the comparison.  Releases of
typer put other words beside arguments, so on others than the one of the records only
the options are compared.
"""

import re
from pathlib import Path

import pytest
import typer

from tabtap.cli.app import app, main

HERE = Path(__file__).parent
HELP = HERE / "help"
FILES = HERE / "files"
GOOD, RULES = FILES / "quirks.csv", FILES / "rules.toml"
DONE, BAD_INPUT, NO = 0, 2, 3
TYPER_OF_THE_RECORDS = "0.29."
PLAIN = {"COLUMNS": "80", "TERMINAL_WIDTH": "80", "NO_COLOR": "1", "TERM": "dumb"}


def command_paths(command=None, path=()):
    """Return the words that lead to each command, the program itself first."""
    command = command or typer.main.get_command(app)
    inner = getattr(command, "commands", {})
    deeper = [command_paths(part, (*path, name)) for name, part in inner.items()]
    return [path, *(found for paths in deeper for found in paths)]


def file_of(path):
    return HELP / f"{'-'.join(('tabtap', *path))}.txt"


def words(text):
    """Return the words of a help text, in order, without frames and types."""
    text = re.sub(r"[\u2500-\u257f]", " ", text)
    # Long choices are broken over lines, beside other words; the help names them too.
    text = re.sub(r"<[^<>\s]*>|<\S*\||[^\s|]+(?:\|[^\s|]+)*>", " ", text)
    return [word.strip("{}") for word in text.split() if word != "*"]


def options(text):
    return set(re.findall(r"(?<!\S)--?[a-z][a-z-]*", " ".join(words(text))))


def spelled(arguments):
    return " ".join(Path(word).name for word in arguments) or "nothing"


@pytest.fixture
def told(monkeypatch, capfd):
    """Run a command in this process; return its exit code and both its outputs."""
    for name, value in PLAIN.items():
        monkeypatch.setenv(name, value)

    def run(*arguments):
        code = main([str(argument) for argument in arguments])
        written = capfd.readouterr()
        return code, written.out, written.err

    return run


def test_every_command_has_a_record_and_every_record_a_command():
    recorded = {path.name for path in HELP.glob("*.txt")}

    assert recorded == {file_of(path).name for path in command_paths()}


@pytest.mark.parametrize("path", command_paths(), ids=lambda path: file_of(path).stem)
def test_a_command_says_of_itself_what_was_recorded(told, path):
    recorded = file_of(path).read_text(encoding="utf-8")

    code, out, err = told(*path, "--help")

    assert (code, err) == (DONE, "")
    assert options(out) == options(recorded)
    if typer.__version__.startswith(TYPER_OF_THE_RECORDS):
        assert words(out) == words(recorded)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ([], DONE),
        (["--version"], DONE),
        (["-h"], DONE),
        (["weights"], DONE),
        (["no-such-command"], BAD_INPUT),
        (["weights", "no-such-command"], BAD_INPUT),
        (["inspect", "--no-such-option", "x.csv"], BAD_INPUT),
        (["inspect"], BAD_INPUT),
        (["inspect", "not-there.csv", "--target", "y"], BAD_INPUT),
        (["inspect", GOOD], BAD_INPUT),
        (["inspect", GOOD, "--target", "no such column"], BAD_INPUT),
        (["inspect", GOOD, "--target", "outcome"], DONE),
        (["inspect", GOOD, "--target", "outcome", "--json"], DONE),
        (["augment", "not-there.csv", "--target", "y"], BAD_INPUT),
        (["augment", GOOD, "--target", "outcome", "--preset", "slow"], BAD_INPUT),
        (["check", GOOD, "--rules", RULES], NO),
        (["check", GOOD, "--rules", GOOD], BAD_INPUT),
        (["verify", FILES / "hashed.tap"], DONE),
        (["verify", FILES / "penguins.tap"], NO),  # an older one: not all is known
        (["verify", "not-there.tap"], BAD_INPUT),
        (["verify", GOOD], BAD_INPUT),
        (["report", GOOD], BAD_INPUT),
        (["forget", GOOD, "--row", "0"], BAD_INPUT),
        (["weights", "path", "no-such-weights"], BAD_INPUT),
        (["bench", "table", "main", "--store", "not-there"], BAD_INPUT),
        (["bench", "run", "not-there.toml", "--store", "not-there"], BAD_INPUT),
    ],
    ids=lambda part: spelled(part) if isinstance(part, list) else None,
)
def test_a_command_ends_with_the_code_that_scripts_rely_on(
    told, tmp_path, monkeypatch, arguments, code
):
    monkeypatch.chdir(tmp_path)

    ended, out, err = told(*arguments)

    assert ended == code
    if code == BAD_INPUT:
        assert err.startswith("Error: ")
        assert out == ""
    assert list(tmp_path.iterdir()) == []


if __name__ == "__main__":
    import contextlib
    import io
    import os

    os.environ.update(PLAIN)
    HELP.mkdir(exist_ok=True)
    for path in command_paths():
        with contextlib.redirect_stdout(io.StringIO()) as shown:
            main([*path, "--help"])
        lines = [line.rstrip() for line in shown.getvalue().splitlines()]
        file_of(path).write_text("\n".join(lines).strip("\n") + "\n", encoding="utf-8")
