import main_table
import pytest
from main_table import loss_table, page

from tabtap.compare.store import Cell, Store, Terms


@pytest.fixture
def records():
    """Two methods on one split, as a runner writes them."""
    return [
        {
            "cell": Cell(
                dataset="credit-g",
                n_real=20,
                split=0,
                method=method,
                terms=Terms(seed=3),
            ).written(),
            "scores": {"LR": {"accuracy": accuracy, "macro_f1": 0.5}},
            "n_rows": 500,
            "failure": None,
            "costs": {
                "cpu_seconds": {"method": 3600.0, "score": 0.0},
                "seconds": {"method": 1800.0, "score": 1800.0},
                "peak_bytes": {"method": 1},
            },
            "versions": {"tabtap": "1.2.3"},
            "finished": f"2026-01-0{day}T00:00:00Z",
        }
        for day, method, accuracy in ((1, "Real", 0.625), (2, "TAP", 0.75))
    ]


def test_the_page_shows_what_was_measured_and_how(records):
    text = page(records, "abc")

    assert "+12.5" in text  # the gain over real rows
    assert "68.1 ± 2.8" in text  # TAP in table 1 of the paper
    assert "+6.9" in text
    assert "None of 2 cells failed." in text
    assert "2 cells, seeds [3]" in text
    assert (
        "2.0 hours of workers, between 2026-01-01T00:00:00Z and 2026-01-02T00:00:00Z"
    ) in text
    assert "tabtap 1.2.3, commit abc; " in text


def test_losses_are_counted_over_both_kinds_of_table(records):
    worse = {**records[1], "cell": {**records[1]["cell"], "split": 1}}
    worse["scores"] = {"LR": {"accuracy": 0.5, "macro_f1": 0.5}}
    real = {**records[0], "cell": {**records[0]["cell"], "split": 1}}

    assert loss_table([*records, real, worse]).rows == (("TAP", "1 of 2"),)


def test_a_cell_without_scores_is_counted_and_does_not_stop_the_page(records):
    dead = {
        **records[1],
        "cell": {**records[1]["cell"], "method": "CTGAN"},
        "scores": {},
        "failure": {"reason": "died", "traceback": ""},
    }
    del dead["costs"]

    text = page([*records, dead], "abc")

    assert "died" in text
    assert "2.0 hours of workers" in text


def test_page_and_figure_stand_beside_each_other(tmp_path, records, monkeypatch):
    store = Store(str(tmp_path / "store"))
    for record in records:
        store.write(record["cell"]["method"], record)
    notes = tmp_path / "notes.md"
    notes.write_text("## What it means\n\nIt helps.\n", encoding="utf-8")
    monkeypatch.setattr(main_table, "NOTES", notes)
    out = tmp_path / "page.md"

    main_table.main(["--store", store.address, "--out", str(out), "--commit", "def"])

    text = out.read_text(encoding="utf-8")
    assert "It helps.\n\n## Where this comes from" in text
    assert "commit def" in text
    assert out.with_suffix(".svg").read_text(encoding="utf-8").startswith("<?xml")
