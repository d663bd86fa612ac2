"""The page of complaints keeps its word: every answer has a test, and it is there."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "explanation" / "complaints.md"
ROWS = re.findall(r"^\| (\d+) \|(.*)\|$", PAGE.read_text(encoding="utf-8"), re.M)
NAMED = re.compile(r"`(tests/[\w/]+\.py)` `(test_\w+)`")
MODULES = sorted((ROOT / "src").rglob("*.py"))


def imports_of(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_there_are_twenty():
    assert [int(number) for number, _ in ROWS] == list(range(1, 21))


@pytest.mark.parametrize(("number", "row"), ROWS, ids=[number for number, _ in ROWS])
def test_every_answer_is_held_by_tests_that_are_there(number, row):
    named = NAMED.findall(row)

    assert named, f"complaint {number} names no test"
    for file, test in named:
        text = (ROOT / file).read_text(encoding="utf-8")
        assert re.search(rf"def {test}\(", text), f"{file} has no {test}"


def test_nothing_private_of_scikit_learn_is_imported():
    private = {
        f"{path.name}: {name}"
        for path in MODULES
        for name in imports_of(path)
        if re.match(r"(sklearn|imblearn)\b.*\._", name)
    }

    assert private == set()
