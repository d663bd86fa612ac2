"""Those that need the package or the weights say so where they are skipped."""

import json
import socket

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from tabtap.errors import UserInputError, WeightsError
from tabtap.evaluate import in_context, weights
from tabtap.evaluate.in_context import VERSIONS, TabPFNPackage, missing_part


@pytest.fixture(scope="module")
def tabpfn():
    return pytest.importorskip("tabpfn")


@pytest.fixture(scope="module")
def small_classifier(tmp_path_factory):
    """A network of the package's own making, tiny and untrained, as a file."""
    architectures = pytest.importorskip("tabpfn.architectures").ARCHITECTURES
    torch.manual_seed(0)
    config = {"max_num_classes": 10, "num_buckets": 100, "emsize": 24}
    config |= {"nlayers": 2, "nhead": 2, "features_per_group": 2}
    kind = architectures["tabpfn_v2"]
    network = kind.get_architecture(kind.parse_config(config)[0])
    for weight in network.parameters():
        torch.nn.init.normal_(weight, std=0.3)
    path = tmp_path_factory.mktemp("weights") / "tabpfn-v2-classifier.safetensors"
    tensors = {name: t.contiguous() for name, t in network.state_dict().items()}
    save_file(tensors, path, metadata={"config": json.dumps(config)})
    return path


@pytest.fixture
def v2_regressor():
    pytest.importorskip("tabpfn")
    if weights.weights_path("tabpfn-v2-regressor") is None:
        pytest.skip("fetch_weights('tabpfn-v2-regressor') has not been called")
    return TabPFNPackage("v2", device="cpu")


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    def refuse(*_):
        raise AssertionError("a network was asked")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.fixture
def nothing_fetched(monkeypatch, tmp_path):
    monkeypatch.setenv("TABTAP_CACHE", str(tmp_path))
    if in_context.find_spec("tabpfn") is not None:
        from tabpfn.settings import settings

        monkeypatch.setattr(settings.tabpfn, "model_cache_dir", tmp_path / "package")


@pytest.fixture
def numbers(build_table):
    rng = np.random.default_rng(0)
    features = rng.normal(size=(3, 40))
    return build_table(50.0 + 10.0 * features[0] + rng.normal(size=40), *features)


@pytest.fixture
def labels(build_table):
    rng = np.random.default_rng(0)
    return build_table(np.arange(30) % 3, *rng.uniform(-1, 1, size=(2, 30)))


@pytest.mark.usefixtures("nothing_fetched")
def test_without_the_package_the_way_to_get_it_is_said(monkeypatch, numbers):
    monkeypatch.setattr(in_context, "find_spec", lambda _: None)

    assert missing_part("v2.5", "regression").endswith("'tabtap[tabpfn]'.")
    with pytest.raises(WeightsError, match=r"'tabtap\[tabpfn\]'.*fetch_weights"):
        TabPFNPackage("v2").predict([numbers], [numbers])


@pytest.mark.usefixtures("tabpfn", "nothing_fetched")
def test_the_open_regressor_asks_for_a_fetch(numbers):
    with pytest.raises(WeightsError, match=r"fetch_weights\('tabpfn-v2-regressor'\)"):
        TabPFNPackage("v2").predict([numbers], [numbers])


@pytest.mark.usefixtures("tabpfn", "nothing_fetched")
@pytest.mark.parametrize("version", VERSIONS)
def test_weights_that_are_not_here_are_never_looked_for_elsewhere(version, labels):
    with pytest.raises(WeightsError, match="is not on this machine") as caught:
        TabPFNPackage(version).predict([labels], [labels])

    assert f"ModelVersion({version!r})" in str(caught.value)
    assert ("login" in str(caught.value)) == (version != "v2")


@pytest.mark.usefixtures("tabpfn", "nothing_fetched")
def test_a_file_in_the_packages_folder_is_found(tmp_path):
    before = missing_part("v2", "classification")
    place = tmp_path / "package" / before.split("'")[1].rpartition("/")[2]
    place.parent.mkdir()
    place.touch()

    assert missing_part("v2", "classification") is None


def test_numbers_are_those_of_the_package_itself(
    tabpfn, v2_regressor, numbers, tmp_path
):
    path = tmp_path / "tabpfn-v2-regressor.safetensors"
    config = json.dumps(weights.weights_settings("tabpfn-v2-regressor"))
    tensors = weights.load_weights("tabpfn-v2-regressor")
    save_file(tensors, path, metadata={"config": config})
    own = tabpfn.TabPFNRegressor(model_path=path, n_estimators=1, device="cpu")
    known, asked = numbers.take(np.arange(30)), numbers.take(np.arange(30, 40))

    (found,) = v2_regressor.predict([known], [asked])

    own.fit(known.numeric, known.target)
    expected = own.predict(asked.numeric)
    low, high = own.predict(
        asked.numeric, output_type="quantiles", quantiles=[0.16, 0.84]
    )
    # The package standardises with float32 borders; the spread is near normal here.
    assert found.mean == pytest.approx(expected, rel=1e-3)
    assert np.sqrt(found.variance) == pytest.approx((high - low) / 2, rel=0.5)


def test_weights_are_read_once_for_all_contexts_and_calls(
    v2_regressor, numbers, monkeypatch
):
    read = []
    load = in_context.load_weights
    monkeypatch.setattr(
        in_context, "load_weights", lambda name: read.append(name) or load(name)
    )
    few = numbers.take(np.arange(12))

    v2_regressor.predict([few, few], [few, few])
    v2_regressor.predict([few], [few])

    assert read == ["tabpfn-v2-regressor"]


def test_labels_are_answered_from_a_file_of_ones_own(tabpfn, small_classifier, labels):
    judge = TabPFNPackage("v2", model_path=small_classifier, device="cpu")
    own = tabpfn.TabPFNClassifier(
        model_path=small_classifier, n_estimators=1, device="cpu"
    )

    (found,) = judge.predict([labels], [labels])

    expected = own.fit(labels.numeric, labels.target).predict_proba(labels.numeric)
    assert np.ptp(expected, axis=0).max() > 0.01
    assert found.probabilities == pytest.approx(expected, abs=1e-4)


def test_a_class_that_the_context_lacks_gets_nothing(small_classifier, labels):
    judge = TabPFNPackage("v2", model_path=small_classifier, device="cpu")

    (found,) = judge.predict([labels.take(labels.target != 1)], [labels])

    assert (found.probabilities[:, 1] == 0).all()
    assert found.probabilities.sum(axis=1) == pytest.approx(1.0)


def test_more_classes_than_the_network_knows_are_refused(small_classifier, build_table):
    many = build_table(np.arange(24) % 12, np.arange(24.0))

    with pytest.raises(UserInputError, match="Choose another evaluator"):
        TabPFNPackage(model_path=small_classifier, device="cpu").predict([many], [many])


@pytest.mark.usefixtures("tabpfn")
def test_a_file_that_is_not_there_is_refused_before_any_network(labels, tmp_path):
    judge = TabPFNPackage(model_path=tmp_path / "none.ckpt")

    with pytest.raises(WeightsError, match=r"There is no file .*none.ckpt"):
        judge.predict([labels], [labels])


@pytest.mark.parametrize("setting", [{"version": "v9"}, {"n_estimators": 0}], ids=str)
def test_settings_that_cannot_be_are_refused(setting):
    with pytest.raises(UserInputError, match=f"{next(iter(setting))}=.*is not usable"):
        TabPFNPackage(**setting)
