import numpy as np
import pandas as pd
import pytest

from tabtap.diffusion import DiffusionConfig, fit_backbone, fit_fold_backbones
from tabtap.table import read_frame


@pytest.fixture(scope="session")
def mixed():
    """Give 48 rows with a column of every kind, holes, and a one-hot group."""
    rng = np.random.default_rng(0)
    n_rows = 48
    fault = rng.integers(0, 3, n_rows)
    days = pd.to_timedelta(rng.integers(0, 300, n_rows), unit="D")
    frame = pd.DataFrame(
        {
            "patient_id": [f"p{k:03d}" for k in rng.permutation(n_rows)],
            "dose": rng.normal(size=n_rows).round(2),
            "pulse": pd.array(rng.integers(50, 99, n_rows), dtype="Int64"),
            "colour": rng.choice(["red", "green", "blue"], n_rows).astype(object),
            "fault a": (fault == 0).astype(int),
            "fault b": (fault == 1).astype(int),
            "seen": (pd.Timestamp("2024-01-01") + days).tz_localize("Europe/Berlin"),
            "site": "Ulm",
            "label": np.resize(["ill", "well"], n_rows),
        }
    )
    frame.loc[rng.random(n_rows) < 0.2, "pulse"] = pd.NA
    frame.loc[rng.random(n_rows) < 0.2, "colour"] = None
    return read_frame(frame, "label")


@pytest.fixture(scope="session")
def quick():
    """Give settings that train in a fraction of a second."""
    return DiffusionConfig(
        n_steps=20, batch_size=32, width=32, depth=2, n_sample_steps=6, device="cpu"
    )


@pytest.fixture(scope="session")
def backbone(mixed, quick):
    return fit_backbone(mixed, rng=np.random.default_rng(0), config=quick)


@pytest.fixture(scope="session")
def stack(mixed, quick):
    """Give three members; member k has not seen fold k."""
    fold = np.arange(len(mixed)) % 3
    return fit_fold_backbones(mixed, fold, rng=np.random.default_rng(0), config=quick)


@pytest.fixture(scope="session")
def content():
    """Return everything of a table but its schema, as bytes."""

    def read(table):
        rest = table.missing, table.target, table.origin, table.unseen_fold
        return [(a.dtype.str, a.shape, a.tobytes()) for a in (*table.cells, *rest)]

    return read
