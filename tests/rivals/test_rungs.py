import numpy as np
import pytest

from tabtap.api.run import lineages_of
from tabtap.config import DiffusionConfig
from tabtap.datasets import load_penguins
from tabtap.diffusion import fit_backbone
from tabtap.errors import UserInputError
from tabtap.evaluate.judging import FoldUtility
from tabtap.rivals.ladder import (
    LadderRung,
    draw_hard_inpainting,
    draw_one_shot,
    draw_random_inpainting,
    paper_preset,
    request_for,
)
from tabtap.table import read_frame

QUICK = DiffusionConfig(n_steps=20, n_sample_steps=6, width=32, depth=2, device="cpu")


@pytest.fixture(scope="module")
def birds():
    every = read_frame(load_penguins(), target="species")
    few = every.take(np.arange(0, len(every), 6))
    return read_frame(load_penguins().iloc[few.origin], target="species")


@pytest.fixture(scope="module")
def backbone(birds):
    return fit_backbone(birds, rng=np.random.default_rng(0), config=QUICK)


def kept_cells(rows, real):
    """Tell for each cell whether it is the one of the row it descends from."""
    anchors = real.take(rows.origin)
    pairs = zip(rows.cells, anchors.cells, strict=True)
    same = np.stack([new == old for new, old in pairs], axis=1)
    return same & (rows.missing == anchors.missing)


def test_one_shot_rows_are_drawn_for_every_class_evenly(birds, backbone):
    rows = draw_one_shot(backbone, birds, 30, np.random.default_rng(0))

    assert np.bincount(rows.target).tolist() == [10, 10, 10]
    assert set(rows.origin) == {-1}


def test_random_inpainting_keeps_the_label_and_some_of_a_real_row(birds, backbone):
    rows = draw_random_inpainting(backbone, birds, 80, np.random.default_rng(0))

    kept = kept_cells(rows, birds).mean(axis=1)
    assert (rows.target == birds.target[rows.origin]).all()
    assert 0.25 < kept.mean() < 0.75
    assert kept.std() > 0.1  # the share is random too


def test_hard_inpainting_changes_little_of_the_harder_rows(birds, backbone):
    request = request_for(birds, paper_preset(), seed=0)
    judge, settings = request.evaluator.evaluator, request.config.utility
    utility = FoldUtility(birds, lineages_of(request), judge, settings)
    hardness = utility.baseline(birds.empty()).hardness

    rows = draw_hard_inpainting(backbone, request, 40, np.random.default_rng(0))

    assert 0 < len(rows) <= 40
    assert (rows.target == birds.target[rows.origin]).all()
    assert kept_cells(rows, birds).mean() > 0.6
    assert hardness[rows.origin].mean() > hardness.mean()


@pytest.mark.parametrize("rung", ["one shot", "random inpainting", "hard inpainting"])
def test_a_rung_is_a_method_with_its_own_name(birds, make_rows, rung):
    method = LadderRung(rung=rung, diffusion=QUICK)

    rows = make_rows(method, birds, 20)

    assert method.name.lower() == rung
    assert 0 < len(rows) <= 20


def test_an_unknown_rung_is_refused():
    with pytest.raises(UserInputError, match=r"rung='top'.*'one shot'"):
        LadderRung(rung="top")
