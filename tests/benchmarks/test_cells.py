import argparse

import pytest
from cells import Cell, add_config_option, column_name, config_overrides

from tabtap.errors import UserInputError
from tabtap.rng import stream


@pytest.fixture
def cell():
    return Cell(table="birds", n_real=20, split=1, seed=0)


def test_a_cell_has_a_stream_for_each_purpose_of_its_own(cell):
    same = stream(0, "jitter", "birds", 20, 1).random()

    assert cell.stream("jitter").random() == same
    assert cell.stream("smote").random() != same


def test_real_rows_are_numbered_as_a_users_are(birds, cell):
    found = cell.repetition(birds)

    assert found.real.origin.tolist() == list(range(20))


def test_settings_make_a_column_of_their_own(make_record):
    given = make_record("all redrawn", 0.5, config={"width": 8, "clip": (0.1, 0.9)})
    stored = make_record("all redrawn", 0.5, config={"clip": [0.1, 0.9], "width": 8})

    assert column_name(given) == "all redrawn clip=[0.1, 0.9] width=8"
    assert column_name(stored) == column_name(given)


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
