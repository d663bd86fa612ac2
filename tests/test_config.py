import dataclasses

import pytest

from tabtap.config import (
    AugmentConfig,
    CommitConfig,
    DiffusionConfig,
    GateConfig,
    PolicyConfig,
    ProposalConfig,
    UtilityConfig,
    changed_preset,
    preset_named,
    with_settings,
)
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


@pytest.mark.parametrize(
    ("section", "setting", "value"),
    [
        (PolicyConfig, "n_layers", 0),
        (PolicyConfig, "width", 1.5),
        (PolicyConfig, "learning_rate", 0.0),
        (PolicyConfig, "max_grad_norm", float("inf")),
        (PolicyConfig, "kl_strength", 0),
        (PolicyConfig, "feedback_quantile", 1.1),
        (PolicyConfig, "feedback_window", 0),
        (PolicyConfig, "exploration", -0.1),
        (PolicyConfig, "explore_share", 1.0),
        (ProposalConfig, "candidates_per_step", True),
        (ProposalConfig, "hard_share", "half"),
        (ProposalConfig, "n_bootstraps", 1),
        (GateConfig, "range_quantiles", (0.99, 0.01)),
        (GateConfig, "range_quantiles", [0.01, 0.99]),
        (GateConfig, "min_probability", float("nan")),
        (GateConfig, "residual_percentile", 101),
        (GateConfig, "min_distance", -1),
        (UtilityConfig, "n_folds", 1),
        (UtilityConfig, "focus_fraction", 1.1),
        (UtilityConfig, "max_committed", -1),
        (CommitConfig, "protocol", "hope"),
        (CommitConfig, "window_length", 0),
        (CommitConfig, "confidence", 1.0),
        (CommitConfig, "confidence", 0.0),
        (CommitConfig, "patience", 0),
        (AugmentConfig, "n_steps", 0),
        (AugmentConfig, "actions_per_batch", 0),
    ],
)
def test_a_setting_of_a_run_out_of_range_is_named_with_its_value(
    section, setting, value
):
    with pytest.raises(UserInputError, match=f"^{setting}=.* is not usable: it must"):
        section(**{setting: value})


def test_steps_that_would_never_be_checked_are_refused_with_the_next_number():
    with pytest.raises(UserInputError, match=r"last 10 steps .* Use 60\."):
        AugmentConfig(n_steps=50, commit=CommitConfig(window_length=20))


# ---- Settings as a mapping.


def test_settings_of_a_mapping_are_changed_together_and_sections_one_by_one():
    given = {"n_steps": 60, "commit": {"window_length": 20, "min_gain": 0.05}}

    changed = with_settings(AugmentConfig(), given)

    commit = CommitConfig(window_length=20, min_gain=0.05)
    assert changed == AugmentConfig(n_steps=60, commit=commit)


def test_a_pair_may_be_a_list_as_toml_has_it():
    changed = with_settings(GateConfig(), {"range_quantiles": [0.1, 0.9]})

    assert changed.range_quantiles == (0.1, 0.9)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"n_step": 8}, "Did you mean 'n_steps'"),
        ({"commit": 20}, "commit=20 is not usable: it must be a table of settings"),
        ({"commit": {"patience": 0}}, "patience=0 is not usable"),
        ({"n_steps": 33}, "be a multiple of window_length=32"),
    ],
    ids=["unknown", "no section", "bad value", "no multiple"],
)
def test_settings_of_a_mapping_are_checked(given, reason):
    with pytest.raises(UserInputError, match=reason):
        with_settings(AugmentConfig(), given)


def test_a_section_may_be_taken_from_another_preset_before_it_is_changed():
    changes = {"diffusion": {"preset": "fast", "width": 64}, "augment": {}}

    changed = changed_preset(preset_named("paper"), changes)

    assert changed.diffusion == DiffusionConfig(n_steps=300, width=64)
    assert changed.augment == AugmentConfig.paper()


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"sizes": {}}, "section='sizes' is not usable"),
        ({"augment": 3}, "augment=3 is not usable: it must be a table"),
        ({"augment": {"preset": "slow"}}, "preset='slow' is not usable"),
    ],
)
def test_changes_that_are_no_sections_are_refused(changes, reason):
    with pytest.raises(UserInputError, match=reason):
        changed_preset(preset_named("default"), changes)
