import numpy as np
import pytest

from tabtap.config import DiffusionConfig
from tabtap.diffusion import fit_backbone
from tabtap.errors import UserInputError
from tabtap.rivals import ladder
from tabtap.rivals.ladder import TabDiff


@pytest.fixture(scope="module")
def clouds():
    """Give three times as many rows of class 0, around -2, as of class 1, around 2."""
    rng = np.random.default_rng(0)
    label = np.repeat([0, 1], [90, 30])
    return label, 4.0 * label - 2.0 + 0.5 * rng.normal(size=120)


def test_labels_come_with_their_rows_and_as_often_as_they_do(
    clouds, read_columns, make_rows
):
    label, x = clouds
    train = read_columns(x=x, label=np.array(["small", "tall"])[label])

    made = make_rows(TabDiff(n_steps=400), train, 1000)

    tall = made.target == train.target[-1]
    assert tall.mean() == pytest.approx(0.25, abs=0.08)
    assert made.numeric[tall].mean() == pytest.approx(2.0, abs=0.5)
    assert made.numeric[~tall].mean() == pytest.approx(-2.0, abs=0.5)
    assert ((made.numeric[:, 0] > 0) == tall).mean() > 0.95


def test_a_regression_target_is_drawn_with_its_row(read_columns, make_rows):
    x = np.random.default_rng(0).normal(size=150)
    train = read_columns(x=x, y=3.0 * x + 1.0)

    made = make_rows(TabDiff(n_steps=400), train, 500)

    x, y = made.numeric[:, 0], made.target_values
    assert np.corrcoef(x, y)[0, 1] > 0.97
    assert np.polyfit(x, y, 1) == pytest.approx([3.0, 1.0], abs=0.5)


def test_an_unknown_size_is_refused():
    with pytest.raises(UserInputError, match=r"size='huge'.*'paper'"):
        TabDiff(size="huge")


@pytest.mark.parametrize(
    ("settings", "config"),
    [
        ({}, DiffusionConfig()),
        ({"n_steps": 70}, DiffusionConfig(n_steps=70)),
        ({"size": "paper"}, DiffusionConfig.paper()),
    ],
    ids=["default", "fewer steps", "paper"],
)
def test_the_size_decides_the_network(
    clouds, read_columns, make_rows, monkeypatch, settings, config
):
    label, x = clouds
    train = read_columns(x=x, label=np.array(["small", "tall"])[label])
    asked = []

    def fit(table, *, rng, config):
        asked.append(config)
        return fit_backbone(table, rng=rng, config=DiffusionConfig(n_steps=2))

    monkeypatch.setattr(ladder, "fit_backbone", fit)
    make_rows(TabDiff(**settings), train, 5)

    assert asked == [config]
