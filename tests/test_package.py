"""What the package promises as a whole: light import, one version, licence, layers."""

import re
import subprocess
import sys
from importlib import metadata, resources
from pathlib import Path

import pytest

import tabtap

ROOT = Path(__file__).parents[1]
LIGHT_MODULES = ["tabtap", "tabtap.errors", "tabtap.rng", "tabtap.datasets"]
LIGHT_MODULES += ["tabtap.table", "tabtap.stages", "tabtap.evaluate"]


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("module", LIGHT_MODULES)
def test_importing_what_needs_no_network_does_not_load_torch(module):
    code = f"import sys, {module}; print('torch' in sys.modules)"

    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert answer.stdout.strip() == "False"


def test_installed_version_is_the_one_in_the_source():
    assert metadata.version("tabtap") == tabtap.__version__


def test_citation_and_changelog_name_this_version():
    assert f"\nversion: {tabtap.__version__}\n" in read("CITATION.cff")
    assert f"\n## {tabtap.__version__}" in read("CHANGELOG.md")


def test_licence_is_apache_and_says_so_in_the_metadata():
    about = metadata.metadata("tabtap")

    assert about["License-Expression"] == "Apache-2.0"
    assert set(about.get_all("License-File")) == {"LICENSE", "NOTICE"}
    assert read("LICENSE").split()[:4] == ["Apache", "License", "Version", "2.0,"]


def test_type_checkers_are_told_that_the_package_is_typed():
    assert resources.files("tabtap").joinpath("py.typed").is_file()


def test_ruff_is_the_same_version_for_make_and_for_pre_commit():
    wanted = re.search(r'"ruff==([\d.]+)"', read("pyproject.toml")).group(1)
    hook = r"ruff-pre-commit\s+rev: v([\d.]+)"

    assert re.search(hook, read(".pre-commit-config.yaml")).group(1) == wanted


def test_versions_name_every_dependency_and_no_folder(capsys):
    tabtap.show_versions()

    shown = capsys.readouterr().out
    names = [line.partition(":")[0] for line in shown.splitlines()]
    assert names[:4] == ["tabtap", "python", "system", "encodings"]
    assert {"numpy", "pandas", "torch", "typer"} <= set(names)
    assert "pytest" not in names
    assert str(Path.home()) not in shown


def test_every_dependency_has_a_floor_for_make_oldest_to_pin():
    wanted = {
        re.match(r"[\w.-]+", line).group()
        for line in metadata.requires("tabtap")
        if not line.startswith(("tabtap[", "ruff"))
    }
    pattern = r'^[^#\n]*"([a-z0-9-]+)>=([0-9.]+)[",;]'

    pinned = dict(re.findall(pattern, read("pyproject.toml"), re.M))

    assert wanted <= set(pinned)
    assert pattern.replace(r"[^#\n]", "[^#]") in read("Makefile")


def test_the_matrix_tries_every_python_that_is_promised():
    promised = re.findall(r"Python :: (3\.\d+)", read("pyproject.toml"))
    matrix = re.search(r"python: \[(.*)\]", read(".github/workflows/tests.yml"))

    assert re.findall(r"[\d.]+", matrix.group(1)) == promised


def test_ci_is_executable_and_runs_what_a_developer_runs():
    script = ROOT / ".ci" / "run"

    assert script.stat().st_mode & 0o111
    assert "make test" in script.read_text(encoding="utf-8")


def test_people_and_editors_are_shown_only_what_is_there_to_be_called():
    public = {name for name in dir(tabtap) if not name.startswith("_")}

    wanted = {"TabularAugmenter", "augment", "inspect", "load", "show_versions"}
    assert public == wanted
    assert all(getattr(tabtap, name) is not None for name in dir(tabtap))
