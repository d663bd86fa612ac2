import json

import backbone
import pytest
from backbone import LIMITS, least_seconds, made_up_table, measure, scaled, speed_table

from tabtap.config import DiffusionConfig


@pytest.fixture
def record():
    return {
        "default": dict.fromkeys(LIMITS, 0.5),
        "paper": dict.fromkeys(LIMITS, 3000.0),
        "timed_steps": 40,
        "memory": {"peak_gb": 1.25, "seconds": 90.0, "n_steps": 4000},
    }


def test_the_least_of_all_repeats_counts(monkeypatch):
    clock = iter([0.0, 5.0, 10.0, 12.0, 20.0, 23.0])
    monkeypatch.setattr(backbone.time, "process_time", lambda: next(clock))

    assert least_seconds(lambda: None, repeats=3) == 2.0


def test_every_task_is_timed():
    table = made_up_table(16, n_numbers=2, n_categories=1, n_classes=2)

    seconds = measure(table, DiffusionConfig(n_steps=3, width=8), repeats=1)

    assert list(seconds) == list(LIMITS)
    assert all(value > 0 for value in seconds.values())


def test_only_fitting_grows_with_the_steps():
    seconds = scaled(dict.fromkeys(LIMITS, 2.0), 200)

    assert list(seconds.values()) == [400.0, 400.0, 2.0, 2.0]


def test_the_table_fits_the_screen_and_shows_limits_ratio_and_memory(record):
    lines = speed_table(record).splitlines()

    assert max(map(len, lines)) <= 80
    assert lines[1].split()[-4:] == ["0.500", "10.0", "3000.00*", "6000"]
    assert lines[4].split()[-4:] == ["0.500", "1.0", "3000.00", "6000"]
    assert lines[5] == "* 40 of 8,000 steps timed, and multiplied."
    assert lines[-1].startswith("1.25 GB (limit 3 GB)")


def test_memory_that_cannot_be_known_is_said_to_be_unknown(record):
    record["memory"]["peak_gb"] = None

    assert "not measured" in speed_table(record).splitlines()[-1]


def test_the_process_for_memory_prints_what_it_took(capsys):
    backbone.main(["--memory-alone", "--rows", "60", "--quick"])

    found = json.loads(capsys.readouterr().out)
    assert found["n_steps"] == backbone.MEMORY_QUICK_STEPS
    assert found["peak_gb"] is None or 0.01 < found["peak_gb"] < 100
