"""TAP is told which rows belong together."""

import numpy as np
import pytest

from tabtap.datasets import load_penguins
from tabtap.rivals import METHOD_NAMES, MindsGroups, ladder, method_named
from tabtap.stopwatch import Stopwatch
from tabtap.table import read_frame


def test_tap_alone_judges_and_so_minds_groups():
    minding = [n for n in METHOD_NAMES if isinstance(method_named(n), MindsGroups)]

    assert minding == ["TAP"]


def test_its_folds_keep_groups_on_one_side(monkeypatch):
    birds = read_frame(load_penguins().dropna().iloc[::8], target="species")
    groups = np.arange(len(birds)) // 3
    seen = []

    class Stopped(Exception):
        pass

    def stop(_, lineages):
        seen.append(lineages)
        raise Stopped

    monkeypatch.setattr(ladder, "fit_stack", stop)
    method = method_named("TAP")
    with pytest.raises(Stopped):
        method.make_for_groups(birds, 10, np.random.default_rng(0), Stopwatch(), groups)

    (lineages,) = seen
    assert len(np.unique(lineages.fold)) > 1
    for fold in np.unique(lineages.fold):
        inside = groups[lineages.fold == fold]
        assert set(inside).isdisjoint(groups[lineages.fold != fold])
