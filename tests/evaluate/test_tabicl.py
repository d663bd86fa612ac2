"""Real weights cannot be had without a network: an untrained net stands in for them."""

import socket

import numpy as np
import pytest
import torch

from tabtap.errors import UserInputError, WeightsError
from tabtap.evaluate import in_context as module
from tabtap.evaluate.in_context import TabICL


@pytest.fixture(scope="module")
def package():
    return pytest.importorskip("tabicl")


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    """Give the file of a tiny network of the package's own making, by task."""
    make_network = pytest.importorskip("tabicl._model.tabicl").TabICL
    torch.manual_seed(0)
    size = {"embed_dim": 16, "col_num_inds": 4}
    size |= {f"{part}_num_blocks": 1 for part in ("col", "row", "icl")}
    size |= {f"{part}_nhead": 2 for part in ("col", "row", "icl")}
    folder, paths = tmp_path_factory.mktemp("weights"), {}
    for task, n_classes in {"classification": 10, "regression": 0}.items():
        config = {**size, "max_classes": n_classes, "num_quantiles": 99}
        network = make_network(**config)
        for weight in network.parameters():
            torch.nn.init.normal_(weight, std=0.3)
        paths[task] = folder / f"{task}.ckpt"
        content = {"config": config, "state_dict": network.state_dict()}
        torch.save(content, paths[task])
    return paths


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    def refuse(*_):
        raise AssertionError("a network was asked")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.fixture
def labels(build_table):
    """Thirty rows of two numbers and a category, each with holes."""
    rng = np.random.default_rng(0)
    numbers = rng.uniform(-1, 1, size=(2, 30))
    numbers[1, ::4] = np.nan
    return build_table(np.arange(30) % 3, *numbers, np.resize([0, 1, -1, 2], 30))


@pytest.fixture
def numbers(build_table):
    rng = np.random.default_rng(0)
    return build_table(rng.normal(50, 10, size=30), *rng.uniform(-1, 1, size=(2, 30)))


def test_without_the_package_the_way_to_get_it_is_said(monkeypatch, labels):
    monkeypatch.setattr(module, "find_spec", lambda _: None)

    with pytest.raises(WeightsError, match=r"pip install 'tabtap\[tabicl\]'"):
        TabICL().predict([labels], [labels])


@pytest.mark.usefixtures("package")
@pytest.mark.parametrize("kind", ["Classifier", "Regressor"])
def test_without_weights_the_way_to_get_them_is_said_and_no_network_asked(
    monkeypatch, tmp_path, kind
):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    task = "classification" if kind == "Classifier" else "regression"

    told = TabICL().missing_part(task)

    assert told == (
        "its weights are not on this machine. Have the package fetch them once: "
        f"tabicl.TabICL{kind}().fit([[0.0], [1.0]], [0, 1])."
    )


@pytest.mark.usefixtures("package")
def test_a_file_that_is_not_there_is_refused_before_any_network(labels, tmp_path):
    with pytest.raises(WeightsError, match=r"there is no file .*none.ckpt"):
        TabICL(model_path=tmp_path / "none.ckpt").predict([labels], [labels])


def test_labels_are_those_of_the_package_itself(package, checkpoint, build_table):
    rng = np.random.default_rng(0)
    table = build_table(np.arange(32) % 3, *rng.uniform(-1, 1, size=(2, 32)))
    path = checkpoint["classification"]
    own = package.TabICLClassifier(
        n_estimators=1, model_path=path, device="cpu", random_state=0
    )

    (found,) = TabICL(model_path=path, device="cpu").predict([table], [table])

    expected = own.fit(table.numeric, table.target).predict_proba(table.numeric)
    assert np.ptp(expected, axis=0).max() > 1e-3
    assert found.probabilities == pytest.approx(expected, abs=1e-5)


def test_numbers_are_those_of_the_package_itself(package, checkpoint, numbers):
    path = checkpoint["regression"]
    own = package.TabICLRegressor(
        n_estimators=1, model_path=path, device="cpu", random_state=0
    )

    (found,) = TabICL(model_path=path, device="cpu").predict([numbers], [numbers])

    own.fit(numbers.numeric, numbers.target)
    expected = own.predict(numbers.numeric)
    tenths = own.predict(numbers.numeric, output_type="quantiles", alphas=[0.1, 0.9])
    low, high = tenths.T
    assert np.ptp(expected) > 2e-3
    assert found.mean == pytest.approx(expected, abs=1e-4)
    assert (found.variance > 0).all()
    # A distribution with a tenth on either end cannot be narrower than this.
    assert (np.sqrt(found.variance) > 0.9 * np.sqrt(0.1 / 2) * (high - low)).all()


def test_a_query_with_holes_is_answered_the_same_whatever_its_company(
    checkpoint, labels
):
    judge = TabICL(model_path=checkpoint["classification"], device="cpu")

    (everyone,) = judge.predict([labels], [labels.take(np.arange(12))])
    (alone,) = judge.predict([labels], [labels.take(np.array([4]))])

    gap = np.abs(alone.probabilities[0] - everyone.probabilities[4])
    assert gap.max() < 1e-6


def test_a_class_that_the_context_lacks_gets_nothing(checkpoint, labels):
    judge = TabICL(model_path=checkpoint["classification"], device="cpu")

    (found,) = judge.predict([labels.take(labels.target != 1)], [labels])

    assert (found.probabilities[:, 1] == 0).all()
    assert found.probabilities.sum(axis=1) == pytest.approx(1.0)


def test_settings_that_cannot_be_are_refused():
    with pytest.raises(UserInputError, match="n_estimators=0 is not usable"):
        TabICL(n_estimators=0)
