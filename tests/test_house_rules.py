"""House rules that no linter checks."""

import ast
import re
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
PYTHON_FILES = [
    path
    for folder in ("src", "tests", "examples", "benchmarks", "docs")
    for path in sorted((ROOT / folder).rglob("*.py"))
]
PAGES = sorted(ROOT.glob("*.md")) + sorted((ROOT / "docs").rglob("*.md"))
VAGUE_NAMES = {"utils", "helpers", "common", "manager", "handler", "data"}
MAX_LINES = 700


def load_house_map():
    spec = spec_from_file_location("house_map", ROOT / "docs" / "house_map.py")
    module = module_from_spec(spec)
    sys.modules["house_map"] = module
    spec.loader.exec_module(module)
    return module


house_map = load_house_map()


def place(path):
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", SOURCES, ids=place)
def test_every_module_says_what_it_is_for(path):
    header = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""

    assert header.splitlines()[0].endswith(".")


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


def test_the_map_on_the_page_is_the_import_graph_of_today():
    page = house_map.PAGE.read_text(encoding="utf-8")
    shown = page.partition(house_map.BEGIN)[2].partition(house_map.END)[0]

    assert shown == house_map.the_map(), "Run: python docs/house_map.py"


def test_a_module_that_one_other_of_its_package_reads_is_named(tmp_path):
    package = tmp_path / "toy"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "drawer.py").write_text("")
    (package / "shared.py").write_text("")
    (package / "one.py").write_text("from toy import drawer, shared\n")
    (package / "two.py").write_text("def f():\n    from toy.shared import g\n")

    alone = house_map.single_readers(house_map.import_graph(tmp_path))

    assert alone == {"toy.drawer": "toy.one"}


def test_the_map_names_modules_with_one_reader_as_places_to_look():
    alone = house_map.single_readers(house_map.import_graph())

    # A command, a section of the page and a network rightly have one.
    assert house_map.the_map().count(" alone)") == len(alone)
