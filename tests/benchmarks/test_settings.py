import argparse

import pytest
from settings import add_config_option, config_overrides

from tabtap.errors import UserInputError


def parse(*arguments):
    parser = argparse.ArgumentParser()
    add_config_option(parser)
    return parser.parse_args(arguments).config


def test_settings_are_read_as_what_they_are():
    pairs = parse(
        *("--config", "width=128"),
        *("--config", "smoothing=None"),
        *("--config", "clip_quantiles=(0.01, 0.99)"),
        *("--config", "schedule=learned"),
    )

    assert config_overrides(pairs) == {
        "width": 128,
        "smoothing": None,
        "clip_quantiles": (0.01, 0.99),
        "schedule": "learned",
    }


def test_an_unknown_setting_is_refused_with_the_known_ones(capsys):
    with pytest.raises(SystemExit):
        parse("--config", "widht=128")

    message = capsys.readouterr().err
    assert "'widht'" in message
    assert "width" in message


def test_an_impossible_value_is_refused_before_anything_runs():
    with pytest.raises(UserInputError, match="width=0"):
        config_overrides(parse("--config", "width=0"))
