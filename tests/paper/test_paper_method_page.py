"""The page about preset="paper" says what the preset has, setting by setting."""

import re
from functools import reduce
from pathlib import Path

import pytest

from tabtap.api import PRESETS

PAGE = Path(__file__).parents[2] / "docs" / "results" / "paper-method.md"
LINES = PAGE.read_text(encoding="utf-8").splitlines()

ROW = re.compile(
    r"^\| (?P<setting>[^|]+) \| (?P<cells>.+) \| `(?P<where>[a-z_.]+)` \|$"
)
ROWS = [found.groupdict() for line in LINES if (found := ROW.match(line))]


def shown(value):
    if isinstance(value, tuple):
        return f"[{', '.join(f'{part:g}' for part in value)}]"
    return value if isinstance(value, str) else f"{value:g}" if value < 1e5 else value


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["setting"])
def test_the_page_shows_what_the_preset_has(row):
    value = reduce(getattr, row["where"].split("."), PRESETS["paper"])

    ours = row["cells"].split(" | ")[-1]

    assert ours == shown(value)


def test_every_setting_of_table_4_is_as_printed():
    pairs = [row["cells"].split(" | ") for row in ROWS if " | " in row["cells"]]

    assert len(pairs) == 25
    assert all(printed == ours for printed, ours in pairs)


def test_every_departure_that_was_named_is_on_the_page():
    text = " ".join(LINES)

    for word in ("Horizon", "TabPFN v1", "schedule", "Batch", "reflected", "three ref"):
        assert word in text
