"""What the command line makes of a table, and of the words of Python about it."""

import shlex

import pytest

from tabtap.api.choices import remark_sentence
from tabtap.cli.reading import own_words
from tabtap.inspection import Remark

NAMES = ["patient", "the patient", "it's", '"x"', 'it\'s "x"', r"a\b", "5 $x", 7]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("option", ["groups", "ignore"])
def test_the_setting_of_a_remark_becomes_the_option_as_a_shell_reads_it(option, name):
    remark = Remark(topic="leak", column=name, text="looks odd", setting=option)

    said = own_words(remark_sentence(remark))

    words = shlex.split(said[said.index("--") :].removesuffix("."))
    assert words == [f"--{option}", str(name)]
    assert said.startswith(f"Column {name!r} looks odd")
    assert "Drop" not in said


@pytest.mark.parametrize(
    ("python", "own"),
    [
        (
            "nothing is said of a new 'site'; with groups='site' it would be.",
            "nothing is said of a new 'site'; with --groups site it would be.",
        ),
        (
            "Drop it, or keep it from being learned: kinds={'sex 2': 'identifier'}.",
            "Keep it from being learned: --ignore 'sex 2'.",
        ),
        ("preset='paper' takes an hour.", "--preset paper takes an hour."),
        ("boosting with min_samples_leaf=5", "boosting with min_samples_leaf=5"),
        ("no column of subgroups='x'", "no column of subgroups='x'"),
    ],
)
def test_settings_of_python_become_options_and_all_else_stays(python, own):
    assert own_words(python) == own
