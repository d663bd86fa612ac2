import warnings

import numpy as np
import pytest
import torch

from tabtap.errors import EvaluatorLimitWarning, UserInputError, WeightsError
from tabtap.evaluate import tabpfn_v1
from tabtap.evaluate.tabpfn_v1 import TabPFNv1


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def small(small_weights):
    return TabPFNv1(weights=small_weights, device="cpu", precision="float32")


@pytest.fixture
def table(build_table, rng):
    """Thirty rows of three classes: two numbers with a hole, and a category."""
    numbers = rng.normal(size=(2, 30))
    numbers[0, 3] = np.nan
    return build_table(np.arange(30) % 3, *numbers, rng.integers(0, 3, 30))


def test_probabilities_are_those_of_the_authors_classifier(
    build_table, reference, tabpfn_v1_weights
):
    # The package's first ensemble member rolls the columns by ten places.
    known = np.roll(reference["wine_train_X"], 10, axis=1)
    asked = np.roll(reference["wine_test_X"], 10, axis=1)
    context = build_table(reference["wine_train_y"], *known.T)
    queries = build_table(np.zeros(len(asked), dtype=int), *asked.T)
    judge = TabPFNv1(weights=tabpfn_v1_weights, device="cpu", precision="float32")

    (found,) = judge.predict([context], [queries])

    expected = reference["wine_package_proba"]
    assert np.abs(found.probabilities - expected).max() < 1e-4


@pytest.mark.parametrize("n_permutations", [1, 4])
def test_folds_asked_together_are_answered_as_alone(
    small_weights, table, n_permutations
):
    judge = TabPFNv1(
        weights=small_weights,
        device="cpu",
        precision="float32",
        n_permutations=n_permutations,
    )
    contexts = [table.take(np.arange(n)) for n in (30, 8, 29, 3)]
    queries = [table.take(np.arange(n)) for n in (4, 30, 1, 0)]

    together = judge.predict(contexts, queries)

    for context, asked, found in zip(contexts, queries, together, strict=True):
        (alone,) = judge.predict([context], [asked])
        assert np.allclose(found.probabilities, alone.probabilities, atol=1e-5)


@pytest.mark.parametrize("n_rows", [1, 3, 17])
def test_a_query_is_answered_the_same_whatever_its_company(small, table, n_rows):
    (everyone,) = small.predict([table], [table])

    (few,) = small.predict([table], [table.take(np.arange(n_rows))])

    gap = np.abs(few.probabilities - everyone.probabilities[:n_rows])
    assert gap.max() < 1e-6


def test_averaging_over_permutations_changes_answers(small, small_weights, table):
    judge = TabPFNv1(weights=small_weights, device="cpu", n_permutations=3)

    (one,), (three,) = (j.predict([table], [table]) for j in (small, judge))

    assert np.abs(one.probabilities - three.probabilities).max() > 1e-3
    assert np.allclose(three.probabilities.sum(axis=1), 1.0)


def test_a_class_that_the_context_lacks_gets_nothing(small, table):
    context = table.take(table.target != 1)

    (found,) = small.predict([context], [table])

    assert (found.probabilities[:, 1] == 0).all()
    assert np.allclose(found.probabilities.sum(axis=1), 1.0)


def test_a_context_of_one_class_is_certain(small, table):
    (found,) = small.predict([table.take(table.target == 2)], [table])

    assert np.array_equal(found.probabilities, np.tile([0.0, 0.0, 1.0], (30, 1)))


def test_limits_are_each_announced_once_and_answered_beyond(small, build_table, rng):
    long = build_table(np.arange(1100) % 2, rng.normal(size=1100))
    wide = build_table(np.arange(44) % 11, *rng.normal(size=(101, 44)))
    contexts = [long, wide, long, wide]

    with pytest.warns(EvaluatorLimitWarning) as told:
        found = small.predict(contexts, [c.take(np.arange(2)) for c in contexts])

    texts = [str(one.message) for one in told]
    assert [text.split(";")[0] for text in texts] == [
        "TabPFN v1 reads at most 1000 context rows",
        "TabPFN v1 reads at most 100 columns, a category counting once per level",
        "TabPFN v1 knows at most 10 classes",
    ]
    assert all(one.filename == __file__ for one in told)
    assert [each.probabilities.shape[1] for each in found] == [2, 11, 2, 11]
    for each in found:
        assert np.allclose(each.probabilities.sum(axis=1), 1.0)


def test_a_table_at_the_limits_is_not_warned_about(small, build_table, rng):
    table = build_table(np.arange(1000) % 10, *rng.normal(size=(100, 1000)))

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (found,) = small.predict([table], [table.take(np.arange(1))])

    assert len(found) == 1


def test_threads_and_gradients_are_left_as_they_were(small, table):
    before = torch.get_num_threads()

    small.predict([table.take(np.arange(5))], [table.take(np.arange(5))])

    assert torch.get_num_threads() == before
    assert torch.is_grad_enabled()


def test_regression_is_refused_with_a_way_out(small, make_table):
    numbers = make_table([1.0, 2.0])

    with pytest.raises(UserInputError, match="predicts class labels"):
        small.predict([numbers], [numbers])


def test_without_weights_the_first_question_says_how_to_get_them(
    table, tmp_path, monkeypatch
):
    monkeypatch.setenv("TABTAP_CACHE", str(tmp_path))
    judge = TabPFNv1(device="cpu")

    with pytest.raises(WeightsError, match=r"fetch_weights\('tabpfn-v1'\)"):
        judge.predict([table], [table])


def test_a_precision_that_the_cpu_cannot_compute_is_refused(
    small_weights, table, monkeypatch
):
    monkeypatch.setattr(tabpfn_v1, "multiplies_bfloat16", lambda: False)
    judge = TabPFNv1(weights=small_weights, device="cpu", precision="bfloat16")

    with pytest.raises(UserInputError, match="precision='bfloat16' is not usable"):
        judge.predict([table], [table])


@pytest.mark.parametrize(
    "setting", [{"n_permutations": 0}, {"precision": "float16"}], ids=str
)
def test_settings_that_cannot_be_are_refused(setting):
    with pytest.raises(UserInputError, match=f"{next(iter(setting))}=.*is not usable"):
        TabPFNv1(**setting)
