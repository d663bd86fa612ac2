"""House rules that no linter checks."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
PYTHON_FILES = [
    path
    for folder in ("src", "tests", "examples", "benchmarks")
    for path in sorted((ROOT / folder).rglob("*.py"))
]
PAGES = sorted(ROOT.glob("*.md")) + sorted((ROOT / "docs").rglob("*.md"))
VAGUE_NAMES = {"utils", "helpers", "common", "manager", "handler", "data"}
MAX_LINES = 300


def place(path):
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", SOURCES, ids=place)
def test_every_module_says_what_it_reads_and_who_reads_it(path):
    header = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""

    assert "Reads from:" in header
    assert "Read by:" in header


@pytest.mark.parametrize("path", PYTHON_FILES, ids=place)
def test_no_file_is_too_long_to_read_at_once(path):
    lines = path.read_text(encoding="utf-8").splitlines()

    assert len(lines) <= MAX_LINES


@pytest.mark.parametrize("path", SOURCES, ids=place)
def test_no_module_is_named_after_nothing(path):
    names = set(path.relative_to(ROOT / "src").with_suffix("").parts)

    assert names.isdisjoint(VAGUE_NAMES)


@pytest.mark.parametrize("path", PYTHON_FILES + PAGES, ids=place)
def test_nothing_names_a_place_on_one_machine(path):
    text = path.read_text(encoding="utf-8")

    found = re.findall(r"(?<![\w.])/(?:home|root|tmp|work|opt|Users)/\w+", text)

    assert found == []
