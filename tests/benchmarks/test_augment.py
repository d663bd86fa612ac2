import augment
import pytest
from augment import quickest, small_frame, speed_page, speed_table, timed_run

from tabtap.datasets import load_penguins
from tabtap.study.sources import SourceTable


@pytest.fixture
def penguins(birds, monkeypatch):
    frame = load_penguins()
    source = SourceTable("penguins", frame, "species", "classification", ())
    monkeypatch.setattr(augment, "load_source", lambda _: source)
    monkeypatch.setattr(augment, "load_table", lambda _: (birds, None))
    return frame


def test_the_frame_holds_the_real_rows_of_a_repetition(penguins):
    frame, target = small_frame("MiceProtein", seed=0)

    assert target == "species"
    assert len(frame) == 50
    assert frame.equals(penguins.loc[frame.index])


@pytest.mark.usefixtures("penguins")
def test_a_run_reports_its_seconds_and_what_came_of_it():
    found = timed_run("MiceProtein", "fast", budget=0, seed=0)

    assert found["n_added"] == 0
    assert found["verdict"] == "no_gain"
    assert found["cpu_seconds"] >= 0


def test_the_quickest_of_the_repeats_counts():
    assert quickest([{"cpu_seconds": 3.0}, {"cpu_seconds": 2.0}])["cpu_seconds"] == 2.0


def test_the_last_measurement_stands_beside_its_limit():
    run = {"table": "MiceProtein", "preset": "fast", "n_added": 500, "repeats": 2}
    run |= {"budget": 500, "commit": "abc"}
    stages = {"backbones": 9.0, "referee": 3.26}
    records = [
        run | {"cpu_seconds": 40.0, "stages": stages},
        run | {"cpu_seconds": 20.0, "stages": stages},
    ]

    line = speed_table(records).splitlines()[-1]

    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells[:6] == ["MiceProtein", "fast", "20.0", "30", "500", "2"]
    assert cells[6] == "backbones 9.0, referee 3.3"
    assert "- commit: abc" in speed_page(records)
    assert "50 real rows to 500 more" in speed_page(records)
