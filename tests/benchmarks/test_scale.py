import pytest
import scale


@pytest.fixture
def records():
    about = {"seed": 0, "commit": "abc", "date": "2026-01-02", "machine": "a processor"}
    common = {"gigabytes": 0.5, **about}
    return [
        {"what": "inspect", "n_rows": 1000, "seconds": 1.25, **common},
        {"what": "CTGAN", "n_rows": 1000, "seconds": 2.0, **common},
        {"what": "augment", "n_rows": 5000, "seconds": 30.0, "verdict": "no_gain"}
        | {"stop": "every step was taken", **common},
    ]


def test_a_table_has_40_columns_and_a_rare_class():
    frame = scale.rare_class(5000)

    assert frame.shape == (5000, 40)
    assert (frame["label"] == "fraud").sum() == 300


def test_ctgans_time_is_reckoned_for_all_of_its_epochs(records):
    text = scale.page(records, "python benchmarks/scale.py")

    assert "about 300" in text  # 2 seconds for 2 of 300 epochs
    assert "| 1,000 rows" in text
    assert "no_gain" in text


def test_what_is_measured_is_measured_in_a_process_of_its_own():
    found = scale.measure({"what": "read csv", "n_rows": 200, "seed": 0})

    assert found["seconds"] > 0
    assert 0.01 < found["gigabytes"] < 4
