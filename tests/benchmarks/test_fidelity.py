import fidelity
import numpy as np
import pytest
from fidelity import divide, fidelity_table, measure

QUICK = {"n_steps": 10, "width": 16}


def test_few_rows_are_divided_in_halves_that_share_none(birds):
    train, held_out = divide(birds, np.random.default_rng(0))

    assert (len(train), len(held_out)) == (172, 172)
    assert set(train.origin).isdisjoint(held_out.origin)


def test_many_rows_are_cut_to_the_most_that_are_used(birds, monkeypatch):
    monkeypatch.setattr(fidelity, "MAX_ROWS", 50)

    train, held_out = divide(birds, np.random.default_rng(0))

    assert (len(train), len(held_out)) == (50, 50)


def test_a_bootstrap_is_all_copies(birds):
    record = measure("birds", birds, "bootstrap", 0, {})

    assert record["exact_copies"] == 1.0
    assert record["near_copies"] == 1.0


def test_independent_columns_lose_the_relations_that_a_bootstrap_keeps(birds):
    independent = measure("birds", birds, "independent columns", 0, {})
    bootstrap = measure("birds", birds, "bootstrap", 0, {})

    assert independent["trend_error"] > 1.5 * bootstrap["trend_error"]


def test_the_backbone_is_measured_with_its_settings(birds):
    record = measure("birds", birds, "backbone", 0, QUICK)

    assert record["config"] == QUICK
    assert 0 < record["shape_error"] < 1
    assert record["seconds"] > 0


def test_a_run_measures_each_method_once(birds, tmp_path, monkeypatch):
    monkeypatch.setattr(fidelity, "load_table", lambda _: (birds, None))
    options = ["--tables", "credit-g", "--seeds", "0", "--config", "n_steps=10"]
    options += ["--out", str(tmp_path / "out.jsonl")]

    first = fidelity.main(options)
    second = fidelity.main(options)

    names = [record["method"] for record in first]
    assert names == ["backbone", "bootstrap", "independent columns"]
    assert second == first


@pytest.mark.parametrize(
    ("shares", "shown"), [([0.25], "25.0"), ([0.2, 0.4], "30.0 ± 10.0")]
)
def test_the_table_averages_over_seeds(shares, shown):
    records = [
        {
            **dict.fromkeys(fidelity.ERRORS, share),
            **{"table": "birds", "method": "bootstrap", "seconds": 1.0, "seed": seed},
        }
        for seed, share in enumerate(shares)
    ]

    cells = fidelity_table(records).splitlines()[-1].strip("| ").split(" | ")

    assert [cell.strip() for cell in cells[2:6]] == [shown] * 4
