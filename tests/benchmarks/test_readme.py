"""The README of the benchmarks names what is there, and the Makefile runs it."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "benchmarks"
README = (FOLDER / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.py")), ids=lambda f: f.name)
def test_every_file_is_in_the_readme(file):
    assert f"`{file.name}`" in README


def test_what_the_readme_and_the_makefile_name_is_there():
    named = set(re.findall(r"`(\w+\.py)`", README))
    made = re.findall(r"benchmarks/([\w/.]+\.\w+)", (ROOT / "Makefile").read_text())

    assert [name for name in {*named, *made} if not (FOLDER / name).is_file()] == []
