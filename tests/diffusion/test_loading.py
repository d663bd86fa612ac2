import numpy as np
import pandas as pd
import pytest

from tabtap.diffusion import (
    DiffusionConfig,
    fit_backbone,
    fit_fold_backbones,
    load_backbone,
    load_stack,
)
from tabtap.errors import UserInputError
from tabtap.table import read_frame, write_frame


def half(table):
    return np.random.default_rng(4).random(table.missing.shape) < 0.5


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"conditioning": "overwrite"},
        {"schedule": "learned", "scale": "quantile"},
        {"size": "paper", "clip_quantiles": (0.01, 0.99)},
    ],
    ids=["default", "overwrite", "learned quantile", "paper"],
)
def test_a_loaded_backbone_draws_the_same_rows(tmp_path, mixed, content, changes):
    settings = {"n_steps": 10, "batch_size": 32, "width": 16, "n_sample_steps": 4}
    config = DiffusionConfig(**settings | changes)
    fitted = fit_backbone(mixed, rng=np.random.default_rng(0), config=config)
    fitted.save(tmp_path / "b")

    loaded = load_backbone(tmp_path / "b")

    for draw in (
        lambda b: b.sample(20, np.random.default_rng(1)),
        lambda b: b.sample(20, np.random.default_rng(1), targets=1, holes=False),
        lambda b: b.inpaint(mixed, half(mixed), np.random.default_rng(2)),
    ):
        assert content(draw(loaded)) == content(draw(fitted))


def test_a_loaded_backbone_redraws_rows_into_the_same_frame(tmp_path, mixed, backbone):
    backbone.save(tmp_path / "b")
    loaded = load_backbone(str(tmp_path / "b"))

    frames = [
        write_frame(b.inpaint(mixed, half(mixed), np.random.default_rng(0)))
        for b in (backbone, loaded)
    ]

    # Identifiers that were kept are still there: they come with the anchors.
    pd.testing.assert_frame_equal(*frames)


def test_a_regression_backbone_draws_the_same_targets(tmp_path, content, quick):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"dose": rng.normal(size=40), "price": rng.normal(size=40)})
    table = read_frame(frame, "price")
    fitted = fit_backbone(table, rng=rng, config=quick)
    fitted.save(tmp_path / "b")

    loaded = load_backbone(tmp_path / "b")

    rows = [b.sample(30, np.random.default_rng(1)) for b in (fitted, loaded)]
    assert content(rows[0]) == content(rows[1])


def test_a_loaded_stack_has_the_same_members(tmp_path, stack, content):
    stack.save(tmp_path / "s")

    loaded = load_stack(tmp_path / "s")

    targets = [np.array([0, 1, 1])] * 3
    before = stack.sample(targets, np.random.default_rng(0))
    after = loaded.sample(targets, np.random.default_rng(0))
    assert [content(rows) for rows in after] == [content(rows) for rows in before]
    assert [rows.unseen_fold[0] for rows in after] == [0, 1, 2]


def test_one_backbone_can_be_loaded_as_a_stack_but_not_the_reverse(
    tmp_path, stack, backbone
):
    backbone.save(tmp_path / "b")
    stack.save(tmp_path / "s")

    assert len(load_stack(tmp_path / "b")) == 1
    with pytest.raises(UserInputError, match=r"holds 3 backbones\. Use load_stack"):
        load_backbone(tmp_path / "s")


def test_the_device_is_chosen_anew(tmp_path, mixed, quick):
    fold = np.arange(len(mixed)) % 2
    rng = np.random.default_rng(0)
    fit_fold_backbones(mixed, fold, rng=rng, config=quick)[0].save(tmp_path / "b")

    assert load_stack(tmp_path / "b").config.device == "auto"
    assert load_stack(tmp_path / "b", device="cpu").weights.device.type == "cpu"
    with pytest.raises(UserInputError, match="device='abacus' is not usable"):
        load_stack(tmp_path / "b", device="abacus")
