"""The examples run, and what they print can be read."""

import ast
import json
import runpy
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tabtap import config
from tabtap.api import PRESETS
from tabtap.config import DiffusionConfig
from tabtap.datasets import load_penguins

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))
NOTEBOOK = EXAMPLES[0].with_name("notebook.ipynb")
DEMO = EXAMPLES[0]
FAST = [path for path in EXAMPLES if 'preset="fast"' in path.read_text("utf-8")]
QUICK = {"fast": replace(PRESETS["fast"], diffusion=DiffusionConfig(n_steps=40))}


def printed_by(path, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", [str(path)])
    runpy.run_path(str(path), run_name="__main__")
    return capsys.readouterr().out.splitlines()


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_example_runs_and_fits_the_screen(path, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)

    lines = printed_by(path, capsys, monkeypatch)

    assert len(lines) > 1
    assert max(map(len, lines)) <= 80


# As above, with generators that are trained for a moment only.
@pytest.mark.parametrize("path", FAST, ids=lambda path: path.stem)
def test_the_example_runs_when_training_is_cut_short(
    path, capsys, monkeypatch, tmp_path
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(config, "PRESETS", {**PRESETS, **QUICK})

    lines = printed_by(path, capsys, monkeypatch)

    assert len(lines) > 1
    assert max(map(len, lines)) <= 80


def shown_by(cells):
    """Run the code of some cells in one namespace, and return what they would show.

    What is shown of a cell is its last line, if that is an expression.
    """
    names, shown = {}, []
    for cell in cells:
        parsed = ast.parse("".join(cell["source"]))
        *first, last = parsed.body
        ends = isinstance(last, ast.Expr)
        body = ast.Module(first if ends else parsed.body, [])
        exec(compile(body, "<cell>", "exec"), names)
        value = None
        if ends:
            value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)
        shown.append(value)
    return names, shown


def test_the_notebook_runs_and_shows_what_it_says(monkeypatch, tmp_path):
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(config, "PRESETS", {**PRESETS, **QUICK})

    names, shown = shown_by(cells)

    boxes = [value._repr_html_() for value in shown if hasattr(value, "_repr_html_")]
    assert len(boxes) == 5  # inspection, verdict, figures, groups, loaded result
    assert names["result"].certificates[-1].groups
    assert len(names["scores"]) == 2
    assert (tmp_path / "penguins.tap").is_file()


def test_the_notebook_holds_no_output():
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))

    codes = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]

    assert codes
    assert all(c["outputs"] == [] and c["execution_count"] is None for c in codes)


def test_the_demo_stars_redrawn_cells_and_no_others():
    show = runpy.run_path(str(DEMO))["side_by_side"]
    real = load_penguins().iloc[[3]]  # an unmeasured bird
    redrawn = real.assign(bill_length_mm=41.5, island="Dream")
    regenerate = np.array([[True, True, False, False, False, False, False]])

    text = show(real, redrawn, regenerate)

    before, after = text.splitlines()[-2:]
    assert before.split() == ["real", "Adelie", "Torgersen", *"-----", "2007"]
    assert after.split() == ["redrawn", "Adelie", "Dream*", "41.5*", *"----", "2007"]


def test_the_demo_fits_the_screen_with_every_cell_redrawn():
    show = runpy.run_path(str(DEMO))["side_by_side"]
    birds = load_penguins()

    text = show(birds, birds, np.ones((344, 7), dtype=bool))

    assert max(map(len, text.splitlines())) <= 80
