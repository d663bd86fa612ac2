import dataclasses

import pytest

from tabtap.config import DiffusionConfig
from tabtap.errors import UserInputError


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("size", "huge"),
        ("conditioning", "dirty"),
        ("width", 0),
        ("n_steps", 0),
        ("n_sample_steps", 1),
        ("learning_rate", 0.0),
        ("learning_rate", float("nan")),
        ("smoothing", 1.0),
        ("sigma_min", 20.0),
        ("clip_quantiles", (0.9, 0.1)),
        ("churn", -0.1),
        ("category_phase", 0.0),
        ("max_levels", 1),
    ],
)
def test_a_setting_out_of_range_is_named_with_its_value(setting, value):
    with pytest.raises(UserInputError, match=setting):
        DiffusionConfig(**{setting: value})


def test_settings_cannot_be_changed_afterwards():
    config = DiffusionConfig()

    with pytest.raises(dataclasses.FrozenInstanceError):
        config.width = 3


def test_the_paper_s_settings_are_those_of_its_appendix():
    paper = DiffusionConfig.paper()

    assert paper.n_steps == 8000
    assert not paper.early_stopping
    assert paper.learning_rate == 1e-3
    assert paper.batch_size == 4096
    assert paper.ema_decay == 0.997
    assert paper.conditioning == "overwrite"
    assert paper.schedule == "learned"
    assert paper.clip_quantiles == (0.01, 0.99)
