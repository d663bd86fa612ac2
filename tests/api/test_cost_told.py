"""What the paper's own settings cost is said before a run begins."""

import warnings

import pytest

from tabtap.api import PRESETS, TabularAugmenter
from tabtap.api.choices import warn_of_cost
from tabtap.datasets import load_penguins
from tabtap.errors import LongRunWarning


def test_the_paper_s_preset_is_said_to_take_an_hour():
    with pytest.warns(LongRunWarning, match=r"8,000 steps, .* 200 actions: half an"):
        warn_of_cost(PRESETS["paper"])


@pytest.mark.parametrize("name", ["default", "fast"])
def test_nothing_is_said_of_the_others(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_cost(PRESETS[name])


def test_a_run_says_so_before_it_begins_and_keeps_it_as_a_note(monkeypatch):
    def no_run(_request, options):
        raise KeyboardInterrupt(*options.notes)

    monkeypatch.setattr("tabtap.api.augmenter.run", no_run)
    birds = load_penguins().dropna().iloc[::8]
    augmenter = TabularAugmenter(preset="paper", evaluator="linear", random_state=0)

    with (
        pytest.warns(LongRunWarning, match="checkpoint="),
        pytest.raises(KeyboardInterrupt) as stopped,
    ):
        augmenter.fit_table(birds, "species")

    assert any("half an hour" in note for note in stopped.value.args)
