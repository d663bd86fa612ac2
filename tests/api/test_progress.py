"""How people who wait for a run are told: in a notebook, in lines, or not at all."""

import sys
from types import ModuleType, SimpleNamespace

import pytest

from tabtap.api import TabularAugmenter
from tabtap.api.progress import in_notebook, narrator_for
from tabtap.errors import UserInputError


class Frontend:
    """What a notebook shows: one display, drawn over and over."""

    def __init__(self):
        self.drawn, self.n_displays = [], 0

    def display(self, thing, *, display_id):
        assert display_id is True
        self.n_displays += 1
        self.update(thing)
        return self

    def update(self, thing):
        self.drawn.append((repr(thing), thing._repr_html_()))


@pytest.fixture
def ipython(monkeypatch):
    """Be called from IPython; a notebook, if ``kernel`` is given to its shell."""
    shell = SimpleNamespace(kernel="a kernel")
    package, inner = ModuleType("IPython"), ModuleType("IPython.display")
    package.get_ipython = lambda: shell
    front = Frontend()
    inner.display = front.display
    monkeypatch.setitem(sys.modules, "IPython", package)
    monkeypatch.setitem(sys.modules, "IPython.display", inner)
    return SimpleNamespace(shell=shell, front=front)


def fit(tiny, helpful, patients, **settings):
    X, y, _ = patients
    augmenter = TabularAugmenter(
        preset=tiny, evaluator="linear", learner=helpful, budget=8, random_state=0,
        **settings,
    )  # fmt: skip
    augmenter.fit_resample(X, y)


def test_a_notebook_shows_a_run_in_one_display_that_moves(
    tiny, helpful, patients, ipython, capsys
):
    fit(tiny, helpful, patients)

    texts = [text for text, _ in ipython.front.drawn]
    assert ipython.front.n_displays == 1
    assert len(texts) > 5
    assert any("learning the table" in text for text in texts)
    assert any("judging rows, step 4 of at most 12" in text for text in texts)
    assert "the run is over: the budget is reached" in texts[-1]
    assert "Check 1: 8 rows let in; 8 of 8 rows so far" in texts[-1]
    assert '<progress max="1" value="' in ipython.front.drawn[-1][1]
    assert capsys.readouterr() == ("", "")


def test_silence_can_be_asked_for_in_a_notebook(tiny, helpful, patients, ipython):
    fit(tiny, helpful, patients, verbose=0)

    assert ipython.front.drawn == []


def test_elsewhere_nothing_is_said_unless_lines_are_asked_for(
    tiny, helpful, patients, capsys
):
    fit(tiny, helpful, patients)
    silent = capsys.readouterr().err
    fit(tiny, helpful, patients, verbose=1)

    assert silent == ""
    assert "[tabtap] window 1 committed" in capsys.readouterr().err


def test_ipython_in_a_terminal_is_no_notebook(ipython):
    assert in_notebook()

    del ipython.shell.kernel

    assert not in_notebook()
    assert narrator_for("auto").verbose == 0


def test_names_in_a_line_are_no_markup(ipython):
    narrator = narrator_for(1)

    narrator.say("teacher: <b>me</b>")

    assert "&lt;b&gt;me" in ipython.front.drawn[-1][1]


def test_any_other_word_is_refused():
    with pytest.raises(UserInputError, match="verbose='loud'"):
        narrator_for("loud")
