from dataclasses import dataclass

import pytest
import scale


@pytest.fixture
def records():
    about = {"seed": 0, "commit": "abc", "date": "2026-01-02", "machine": "a processor"}
    common = {"gigabytes": 0.5, **about}
    return [
        {"what": "inspect", "n_rows": 1000, "seconds": 1.25, **common},
        {"what": "CTGAN", "n_rows": 1000, "seconds": 2.0, "all_epochs": 300.0} | common,
        {"what": "augment", "n_rows": 5000, "seconds": 30.0, "verdict": "no_gain"}
        | {"stop": "every step was taken", **common},
    ]


def test_a_table_has_40_columns_and_a_rare_class():
    frame = scale.rare_class(5000)

    assert frame.shape == (5000, 40)
    assert (frame["label"] == "fraud").sum() == 300


def test_the_page_tells_time_and_verdict_for_each_number_of_rows(records):
    text = scale.page(records, "python benchmarks/scale.py")

    # What all epochs of CTGAN take, not what was measured.
    assert "about 300 (0.300 a row)" in text
    assert "| 1,000 rows" in text
    assert "no_gain" in text


def test_what_is_measured_is_measured_in_a_process_of_its_own():
    found = scale.measure({"what": "read csv", "n_rows": 200, "seed": 0})

    assert found["seconds"] > 0
    assert 0.01 < found["gigabytes"] < 4


@dataclass
class Steady:
    """A CTGAN that takes 3 seconds, and 2 more for each epoch."""

    n_epochs: int

    def make(self, _table, _n, _rng, watch):
        watch.cpu_seconds["fit"] = 3.0 + 2.0 * self.n_epochs


def test_ctgans_time_is_reckoned_from_what_an_epoch_takes(tmp_path, monkeypatch):
    path = tmp_path / "table.parquet"
    scale.rare_class(500).to_parquet(path)
    monkeypatch.setattr("tabtap.rivals.ctgan.Ctgan", Steady)

    found = scale.ctgan(path)

    assert found == {"all_epochs": 3.0 + 2.0 * 300}
