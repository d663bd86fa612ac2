"""Warnings of a run reach people as notes, with the options that answer them."""

import io
import warnings

import pytest
from rich.console import Console

from tabtap.cli import compare
from tabtap.cli.terminal import Screen, tell_rest, told_warnings
from tabtap.errors import EvaluatorFallbackWarning, UserInputError

OPTIONS = "On the command line --kind COLUMN=KIND says what a column is"


@pytest.fixture
def shop(desk, birds):
    """A table with percentages and times as text, and the target a second time.

    One of the percentages is none, so that nobody can read them all as numbers.
    """
    frame = birds.assign(
        rate=[*(f"{i}.5%" for i in range(59)), "unclear"],
        opened=[f"{8 + i // 30}:{i % 30 + 10} am" for i in range(60)],
        gender=birds["sex"],
    )
    frame.to_csv(desk / "shop.csv", index=False)
    return desk


def test_what_is_lost_or_too_good_is_noted_once(in_process, shop):
    told = ("augment", "shop.csv", "-t", "sex", "-n", "0")

    answer = in_process(*told, cwd=shop)

    assert answer.said.count("'rate' holds percentages as text, such as '0.5%'") == 1
    assert answer.said.count("'opened' holds times as text, such as '8:10 am'") == 1
    assert "(--missing rate=TEXT)" in answer.said
    assert "pd." not in answer.said
    assert answer.said.count("Note: Column 'gender' equals the target in every") == 1
    assert answer.said.count(OPTIONS) == 1
    assert "Warning" not in answer.said


def test_the_options_silence_the_notes(in_process, shop):
    told = ("augment", "shop.csv", "-t", "sex", "-n", "0", "--kind", "rate=category")

    answer = in_process(*told, "--ignore", "opened", "--ignore", "gender", cwd=shop)

    assert "holds" not in answer.said
    assert "gender" not in answer.said.replace("opened, gender", "")
    assert OPTIONS not in answer.said


def test_inspect_remarks_on_a_lost_column(in_process, shop):
    plain = in_process("inspect", "shop.csv", "-t", "sex", cwd=shop)
    named = in_process("inspect", "shop.csv", "-t", "sex", "--ignore", "rate", cwd=shop)

    shown = " ".join(plain.out.split())
    assert "- rate: holds percentages as text, such as '0.5%', so it is not" in shown
    assert "(--ignore rate)" in shown
    assert "rate: holds" not in named.out
    assert "rate: names rows rather than describing them" in named.out


def test_compare_notes_a_lost_column_before_it_begins(in_process, shop, monkeypatch):
    def begin(*_):
        raise UserInputError("The contest would begin here.")

    monkeypatch.setattr(compare, "_compete", begin)
    told = ("compare", "shop.csv", "-t", "sex", "--kind", "opened=category")

    answer = in_process(*told, cwd=shop)

    assert answer.said.endswith("Error: The contest would begin here.")
    assert "Note: Column 'rate' holds percentages as text" in answer.said
    assert "opened" not in answer.said


def test_a_note_that_a_warning_has_told_is_not_told_again():
    stream = io.StringIO()
    screen = Screen(Console(file=stream, width=80))

    with told_warnings(screen) as told:
        warnings.warn("A lesser evaluator.", EvaluatorFallbackWarning, stacklevel=1)
    tell_rest(screen, ["A lesser evaluator.", "Two copies."], told)

    assert stream.getvalue() == "Note: A lesser evaluator.\nNote: Two copies.\n"
