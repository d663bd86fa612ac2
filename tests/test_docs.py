"""The pages keep their word: their code runs, their figures are published ones.

Generators are fewer here and trained for fewer steps than the pages' own settings ask
for, which changes what is printed and nothing of what is called.
"""

import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import replace
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

import tabtap
from tabtap import config
from tabtap.api import PRESETS, Preset
from tabtap.cli.app import main
from tabtap.config import DiffusionConfig, UtilityConfig

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [page for page in sorted(DOCS.rglob("*.md")) if page.parent.name != "results"]
RESULTS = "\n".join(p.read_text(encoding="utf-8") for p in DOCS.glob("results/*.md"))
FEW_FOLDS = UtilityConfig(n_folds=3, n_partitions=1)
QUICK = Preset(
    augment=replace(PRESETS["fast"].augment, utility=FEW_FOLDS),
    diffusion=DiffusionConfig(n_steps=40),
)
DONE, NO_GAIN = 0, 3
COMMAND = f"""#!{sys.executable}
import sys
from dataclasses import replace
from tabtap import config as presets
from tabtap.cli.app import main
from tabtap.config import PRESETS, DiffusionConfig, Preset, UtilityConfig
few_folds = UtilityConfig(n_folds=3, n_partitions=1)
quick = Preset(
    augment=replace(PRESETS["fast"].augment, utility=few_folds),
    diffusion=DiffusionConfig(n_steps=40),
)
presets.PRESETS = {{**PRESETS, "fast": quick}}
sys.exit(main())
"""


def load_page_code():
    spec = spec_from_file_location("page_code", DOCS / "page_code.py")
    module = module_from_spec(spec)
    sys.modules[spec.name] = module  # where its dataclasses look for themselves
    spec.loader.exec_module(module)
    return module


page_code = load_page_code()


def place(path):
    return path.relative_to(DOCS).with_suffix("").as_posix()


def code_of(page):
    blocks = page_code.read_blocks(page.read_text(encoding="utf-8"))
    return [block for block in blocks if block.is_run]


TUTORIAL = DOCS / "tutorial.md"
RUN_PAGES = [page for page in PAGES if code_of(page) and page != TUTORIAL]


@pytest.fixture(scope="module")
def tools(tmp_path_factory):
    """A folder with the command, for shells."""
    program = tmp_path_factory.mktemp("bin") / "tabtap"
    program.write_text(COMMAND, encoding="utf-8")
    program.chmod(0o755)
    return program.parent


@pytest.fixture(scope="module")
def run_in(tools):
    """Run a page in some folder, as a reader would."""

    def shell(command):
        if set(command) & set("|<>"):
            return page_code.run_command(command)
        shown = io.StringIO()
        with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(shown):
            name, *arguments = shlex.split(command)
            code = main(arguments)
        assert name == "tabtap"
        assert code in (DONE, NO_GAIN), shown.getvalue()
        return shown.getvalue()

    def run(page, folder):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(config, "PRESETS", {**PRESETS, "fast": QUICK})
            patch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
            patch.setenv("PYTHONPATH", str(ROOT / "src"))
            patch.chdir(folder)
            return [block for block, _ in page_code.run_page(page, shell)]

    return run


@pytest.fixture(scope="module")
def tutorial(run_in, tmp_path_factory):
    """The folder that a reader of the tutorial has at its end."""
    folder = tmp_path_factory.mktemp("tutorial")
    assert run_in(TUTORIAL, folder) == code_of(TUTORIAL)
    return folder


# Without weights another judge is chosen, aloud.
@pytest.mark.filterwarnings("ignore::tabtap.errors.EvaluatorFallbackWarning")
@pytest.mark.parametrize("page", RUN_PAGES, ids=place)
def test_the_code_of_the_page_runs_after_the_tutorial(page, run_in, tutorial, tmp_path):
    shutil.copytree(tutorial, tmp_path, dirs_exist_ok=True)

    ran = run_in(page, tmp_path)

    assert ran == code_of(page)


def test_the_tutorial_runs_and_keeps_its_result(tutorial):
    kept = tabtap.load(tutorial / "birds.tap")

    assert len(kept.real) == 40
    assert (tutorial / "birds.augmented.csv").is_file()
    assert (tutorial / "birds.html").is_file()


@pytest.mark.slow
def test_the_pages_are_built_without_a_warning(tmp_path):
    pytest.importorskip("sphinx", reason="sphinx is not installed")
    build = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q"]

    done = subprocess.run(
        [*build, str(DOCS), str(tmp_path)], capture_output=True, text=True, check=False
    )

    assert done.stderr == ""
    assert done.returncode == 0
    assert (tmp_path / "reference" / "augment.html").is_file()


def test_what_is_not_run_says_so_in_the_text_above():
    pages = {page: page.read_text(encoding="utf-8") for page in PAGES}

    above = [
        text[: found.start()].rstrip().splitlines()[-1]
        for text in pages.values()
        for found in re.finditer(r"^```(?:python|console) no-run$", text, re.M)
    ]

    assert above
    assert all("does not run it" in line for line in above)


def test_every_output_shown_follows_code_that_is_run():
    for page in PAGES:
        blocks = page_code.read_blocks(page.read_text(encoding="utf-8"))
        for before, shown in zip([None, *blocks], blocks, strict=False):
            if shown.language == "text":
                assert before.is_run, page
                assert shown.code.strip(), page


def test_outputs_are_replaced_by_what_was_printed():
    page = "```python\nprint(1)\n```\n\n```text\nold\n```\n\nEnd.\n"
    (code, _) = page_code.read_blocks(page)

    filled = page_code.with_outputs(page, {code.span: "1\n"})

    assert filled == page.replace("old", "1")


def test_a_block_of_commands_may_break_a_line():
    page = "```console\n$ tabtap a \\\n  --b\nshown\n$ tabtap c\n```\n"
    (block,) = page_code.read_blocks(page)

    found = page_code.commands(block)

    assert [shlex.split(command) for command in found] == [
        ["tabtap", "a", "--b"],
        ["tabtap", "c"],
    ]


@pytest.mark.parametrize("page", sorted(DOCS.glob("explanation/*.md")), ids=place)
def test_every_figure_explained_is_a_published_one(page):
    prose = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.S)

    figures = set(re.findall(r"(?<![\w.])[+-]?\d+\.\d+(?: ± \d+\.\d+)?", prose))

    assert {figure for figure in figures if figure not in RESULTS} == set()


def public_modules():
    directive = r"^\.\. automodule:: (\S+)\n(?!   :no-members:)"
    pages = "\n".join(p.read_text(encoding="utf-8") for p in DOCS.glob("reference/*"))
    return re.findall(directive, pages, re.MULTILINE)


def test_every_package_a_user_calls_is_in_the_reference():
    assert set(public_modules()) >= {
        "tabtap",
        "tabtap.config",
        "tabtap.datasets",
        "tabtap.diffusion",
        "tabtap.errors",
        "tabtap.evaluate",
        "tabtap.fidelity",
        "tabtap.files",
        "tabtap.gates",
        "tabtap.report",
        "tabtap.result",
        "tabtap.table",
    }


def test_every_setting_of_the_augmenter_is_described():
    settings = tabtap.TabularAugmenter._get_param_names()
    described = tabtap.TabularAugmenter.__doc__

    assert [name for name in settings if f"\n    {name} : " not in described] == []
