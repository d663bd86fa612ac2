import noise
import numpy as np
import pytest


def test_the_label_has_nothing_to_do_with_the_features():
    frame = noise.noise(20_000, seed=0)

    is_a = frame["y"] == "a"
    assert is_a.mean() == pytest.approx(0.5, abs=0.02)
    for name in ("x0", "x1", "x2", "x3"):
        column = frame[name]
        assert column[is_a].mean() == pytest.approx(column[~is_a].mean(), abs=0.05)
    reds = frame.groupby("y")["c"].apply(lambda part: (part == "red").mean())
    assert np.ptp(reds) < 0.03


def test_promises_are_counted_for_each_size(monkeypatch, capsys):
    monkeypatch.setattr(noise, "is_promised", lambda n_rows, seed: seed < n_rows // 10)

    noise.main(["--rows", "20", "40", "--tables", "6"])

    assert capsys.readouterr().out.splitlines() == [
        "20 rows: a gain promised on 2 of 6",
        "40 rows: a gain promised on 4 of 6",
    ]
